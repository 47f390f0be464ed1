"""``kafka-gateway version``: its output for this source tree, and the text that docs/cli.md
shows."""

from __future__ import annotations

import re
import sys

import pytest

from gateway import version
from gateway.hot_path import MODULES
from tests.commands.cli_page import steps
from tests.commands.running import command
from tests.docs import markdown

PYTHON = sys.version.split()[0]


def locked(name: str) -> str:
    """The version of a package in the lock file, which this environment is made from."""
    (found,) = re.findall(rf"^{name}==(\S+)", markdown.read("requirements/runtime.txt"), re.M)
    return str(found)


async def test_as_text() -> None:
    said = await command("version")
    assert (said.status, said.err) == (0, "")
    assert said.lines == [
        f"version  {version()}",
        f"form     pure (0 of {len(MODULES)} modules of the hot path)",
        f"Python   {PYTHON}",
        f"uvloop   {locked('uvloop')}",
        f"kio      {locked('kio')}",
    ]


async def test_as_json() -> None:
    said = await command("version", "--json")
    assert (said.status, said.err) == (0, "")
    assert said.json == {
        "version": version(),
        "form": "pure",
        "compiled_modules": 0,
        "hot_path_modules": len(MODULES),
        "python": PYTHON,
        "uvloop": locked("uvloop"),
        "kio": locked("kio"),
    }


async def test_what_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gateway.commands.version._LIBRARIES", ("no-lib",))
    assert (await command("version")).lines[-1] == "no-lib   not installed"
    assert (await command("version", "--json")).json["no-lib"] is None


def test_what_the_page_shows() -> None:
    """It shows the compiled form; tests/devkit/test_installed.py checks that form."""
    (step,) = steps("version")
    assert [re.sub(r"^Python .*", "Python", line) for line in step.output.splitlines()] == [
        f"version  {version()}",
        f"form     compiled ({len(MODULES)} of {len(MODULES)} modules of the hot path)",
        "Python",
        f"uvloop   {locked('uvloop')}",
        f"kio      {locked('kio')}",
    ]
