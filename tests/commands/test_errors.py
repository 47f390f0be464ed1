"""gateway.commands.errors: how an error is shown."""

from __future__ import annotations

import argparse
import io
from pathlib import Path

import pytest

from gateway.commands.errors import Colour, painted, print_error, with_address


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_the_next_step_has_its_own_line(capsys: pytest.CaptureFixture[str]) -> None:
    print_error("'x' does not exist; see a; make it\nno step here")
    assert capsys.readouterr().err == (
        "kafka-gateway: 'x' does not exist; see a\n  make it\nkafka-gateway: no step here\n"
    )


def test_colours_are_for_terminals_that_want_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """NO_COLOR counts if it is set and not empty, whatever its value (no-color.org)."""
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    assert painted("x", Colour.RED, Terminal()) == "\x1b[31mx\x1b[0m"
    assert painted("x", Colour.RED, io.StringIO()) == "x"
    monkeypatch.setenv("TERM", "dumb")
    assert painted("x", Colour.RED, Terminal()) == "x"
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("NO_COLOR", "1")
    assert painted("x", Colour.RED, Terminal()) == "x"


def test_an_operators_hint_can_be_copied() -> None:
    options = argparse.Namespace(config=Path("my gateway.yaml"))
    hint = "raise it: kafka-gateway catalog upgrade --format 5"
    assert with_address(hint, options) == (
        "raise it: kafka-gateway catalog upgrade --config 'my gateway.yaml' --format 5"
    )
