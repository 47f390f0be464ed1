"""gateway.commands.running: actions get their flags, and are told whose another flag is."""

from __future__ import annotations

import argparse

import pytest

from gateway.commands import running as actions
from gateway.commands.running import Actions, Command, run_action

USAGE = 2


def _ran(monkeypatch: pytest.MonkeyPatch, **flags: object) -> tuple[int, list[object]]:
    """What a command line comes to, and the actions that were done."""
    done: list[object] = []

    def run_client(command: Command, options: argparse.Namespace) -> int:
        done.append((command, options.action))
        return 0

    monkeypatch.setattr(actions, "run_client", run_client)
    return run_action(ACTIONS, argparse.Namespace(**flags)), done


async def _one(*_: object) -> int:
    return 0


async def _other(*_: object) -> int:
    return 0


ACTIONS: Actions = {"one": (_one, "topic as_name"), "other": (_other, "topic force")}


@pytest.mark.parametrize(("action", "command"), [("one", _one), ("other", _other)])
def test_an_action_with_its_flags(
    monkeypatch: pytest.MonkeyPatch, action: str, command: Command
) -> None:
    """What every command has goes with all of them, and what was not given with any."""
    always = {"json": True, "timeout": 3.0, "bootstrap_server": "b:1", "command_config": "c"}
    not_given = {"as_name": None, "force": False}
    said = _ran(monkeypatch, action=action, topic="x", command="c", run=1, **always, **not_given)
    assert said == (0, [(command, action)])


@pytest.mark.parametrize(
    ("action", "flag", "text"),
    [
        ("one", "force", "--force does not go with --one but with --other"),
        ("other", "as_name", "--as does not go with --other but with --one"),
    ],
)
def test_another_actions_flag(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    action: str,
    flag: str,
    text: str,
) -> None:
    assert _ran(monkeypatch, action=action, **{flag: "x"}) == (USAGE, [])
    assert capsys.readouterr().err == f"kafka-gateway: {text}\n"
