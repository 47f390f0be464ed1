"""kafka-gateway completion: its effect in the shells. bash runs it, because it is on every
machine."""

from __future__ import annotations

import argparse
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

from gateway import cli
from gateway.commands.parser import Parser
from tests.commands.running import command

ASK = """
source "$1"
shift
COMP_WORDS=("$@")
COMP_CWORD=$(($# - 1))
_kafka_gateway
echo "${COMPREPLY[*]}"
"""


@pytest.fixture
def script(tmp_path: Path) -> Path:
    path = tmp_path / "completion"
    path.write_text(printed("bash"))
    return path


@cache
def printed(shell: str) -> str:
    """The script for a shell: the same each time, with all commands loaded."""
    line = [sys.executable, "-m", "gateway", "completion", shell]
    return subprocess.run(line, capture_output=True, text=True, check=True, timeout=240).stdout


@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("kafka-gateway ch", "check"),
        ("kafka-gateway catalog ex", "export"),
        ("kafka-gateway catalog export --na", "--namespaces"),
        ("kafka-gateway topics --create --name", "--namespace"),
        ("kafka-gateway serve --config gateway.yaml --log-l", "--log-level"),
        ("kafka-gateway serve --log-level ", "debug info warning error"),
        ("kafka-gateway completion f", "fish"),
        # No word of the command's: bash goes on with the names of files.
        ("kafka-gateway check gate", ""),
        ("kafka-gateway serve --config ", ""),
    ],
)
def test_bash_completes(line: str, offered: str, script: Path) -> None:
    words = line.split(" ")
    run = subprocess.run(
        ["bash", "-c", ASK, "bash", script, *words], capture_output=True, text=True, check=True
    )
    assert (run.stdout.strip(), run.stderr) == (offered, "")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
async def test_every_command_and_flag_is_known(shell: str) -> None:
    said = await command("completion", shell)
    assert said.status == 0
    for path, flags in levels(cli.parser()).items():
        name = path.rpartition(" ")[2]
        assert name in said.out
        for flag in flags:
            assert (f"-l {flag[2:]} " if shell == "fish" else flag) in said.out, (path, flag)


def levels(parser: Parser, path: str = "") -> dict[str, list[str]]:
    """The flags of each command, by the words before them."""
    found = {path: [flag for one in parser.filled()._actions for flag in one.option_strings[-1:]]}
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for name, one in action.choices.items():
                found |= levels(one, f"{path} {name}".strip())
    return found


async def test_a_shell_that_is_not_known() -> None:
    said = await command("completion", "tcsh")
    assert said.status == 2
    assert "bash" in said.err
