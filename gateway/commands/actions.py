"""Commands that do one thing a call (``--create``, ``--list``): what does it, with which flags."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import Final, TypeAlias

from gateway.commands.failure import UsageError
from gateway.commands.running import Command, run_client
from gateway.commands.told import say_error

Actions: TypeAlias = Mapping[str, tuple[Command, str]]
"""Each action to what does it, and to the flags that go with it, by their names in ``argparse``."""

_ALWAYS: Final = frozenset(
    {"action", "bootstrap_server", "command", "command_config", "json", "run", "timeout"}
)
_SPELLED: Final = {"as_name": "--as"}
"""``as`` is a word of Python's own."""


def run_action(actions: Actions, options: argparse.Namespace) -> int:
    """Do what ``options.action`` says; returns the exit status."""
    try:
        _check_flags(actions, options)
    except UsageError as error:
        say_error(str(error))
        return error.status
    command, _ = actions[options.action]
    return run_client(command, options)


def _check_flags(actions: Actions, options: argparse.Namespace) -> None:
    """Raises UsageError for a flag that the action would not look at."""
    allowed = {*_ALWAYS, *actions[options.action][1].split()}
    for name, value in vars(options).items():
        if name not in allowed and value not in (None, False):
            flag = _SPELLED.get(name, "--" + name.replace("_", "-"))
            where = " or ".join(
                f"--{a}" for a, (_, known) in actions.items() if name in known.split()
            )
            raise UsageError(f"{flag} does not go with --{options.action} but with {where}")
