"""kafka-gateway page-password: a line by which the page then knows its user."""

from __future__ import annotations

import getpass
import io
from collections.abc import Iterator
from pathlib import Path

import pytest

from gateway import exit_codes
from gateway.cli import main
from gateway.page.passwords import read_passwords


def test_from_standard_input(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("correct horse\r\n"))
    assert main(["page-password", "alice"]) == exit_codes.OK
    file = tmp_path / "passwords"
    file.write_text(capsys.readouterr().out)
    assert read_passwords(file)["alice"].matches("correct horse")


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(("again", "status"), [("correct horse", 0), ("correct house", 1)])
def test_at_a_terminal_it_is_asked_for_twice(
    again: str, status: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    typed: Iterator[str] = iter(["correct horse", again])
    monkeypatch.setattr("sys.stdin", Terminal())
    monkeypatch.setattr(getpass, "getpass", lambda *_, **__: next(typed))
    assert main(["page-password", "alice"]) == status
    printed = capsys.readouterr()
    assert printed.out.startswith("alice:scrypt:") is (status == 0)
    assert ("the two passwords differ\n  try again" in printed.err) is (status == 1)


@pytest.mark.parametrize(
    ("user", "password", "status", "told"),
    [
        ("a:b", "correct horse", 2, "'a:b' is no user name"),
        ("alice", "short", 1, "has 5 characters; choose one of 8 or more"),
        ("alice", "", 1, "has 0 characters"),
    ],
)
def test_mistakes(
    user: str,
    password: str,
    status: int,
    told: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(password))
    assert main(["page-password", user]) == status
    printed = capsys.readouterr()
    assert told in printed.err.replace("\n  ", "; ")
    assert not printed.out
