"""gateway.commands.actions: actions get their flags, and a flag of another action is rejected."""

from __future__ import annotations

import argparse
import json

import pytest

from gateway.commands import actions
from gateway.commands.actions import Action, Command, fill_client_parser
from gateway.commands.admin import Admin
from gateway.commands.errors import UsageError
from gateway.commands.flags import Flag
from gateway.commands.output import Output

ADDRESS = ("--bootstrap-server", "127.0.0.1:1", "--timeout", "3", "--json")


async def _one(admin: Admin, options: argparse.Namespace) -> Output:
    return Output({"did": "one"}, notes=["see: kafka-gateway topics --list"])


async def _other(admin: Admin, options: argparse.Namespace) -> Output:
    return Output({"did": "other"}, failed=True)


COMMAND = Command(
    "x",
    "description",
    (),
    (
        Flag("--topic", "T", "t"),
        Flag("--as", "N", "n", {"dest": "as_name"}),
        Flag("--force", "", "f"),
    ),
    (Action("one", "", _one, "topic as_name"), Action("other", "", _other, "topic force")),
)


def run(*words: str) -> int:
    """The exit status of a command line."""
    parser = argparse.ArgumentParser()
    fill_client_parser(parser, COMMAND)
    options = parser.parse_args([*ADDRESS, *words])
    status: int = options.run(options)
    return status


@pytest.mark.parametrize(("action", "status"), [("one", 0), ("other", 1)])
def test_an_action_with_its_flags(
    capsys: pytest.CaptureFixture[str], action: str, status: int
) -> None:
    """Flags of every command go with all actions."""
    assert run(f"--{action}", "--topic", "t") == status
    said = capsys.readouterr()
    assert said.out == f'{{\n  "did": "{action}"\n}}\n'
    hint = "kafka-gateway: see: kafka-gateway topics --bootstrap-server 127.0.0.1:1 --list\n"
    assert said.err == (hint if action == "one" else "")


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["--one", "--force"], "--force does not go with --one but with --other"),
        (["--other", "--as", "n"], "--as does not go with --other but with --one"),
    ],
)
def test_a_flag_of_another_action(
    capsys: pytest.CaptureFixture[str], words: list[str], text: str
) -> None:
    assert run(*words) == 2
    said = capsys.readouterr()
    assert said.err == f"kafka-gateway: {text}\n"
    assert json.loads(said.out) == {"ok": False, "problems": [text]}


def test_flags_that_are_rejected() -> None:
    options = argparse.Namespace(no_wait=True, as_name="n", topic=None)
    actions.reject_flags(options, "topic", "is wrong")
    for name, flag in (("no_wait", "--no-wait"), ("as_name", "--as")):
        with pytest.raises(UsageError, match=f"^{flag} is wrong$"):
            actions.reject_flags(options, f"topic {name}", "is wrong")
