"""Running a command that is a client of the gateway: connection, errors, exit status."""

from __future__ import annotations

import argparse
import asyncio
import math
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Final, TypeAlias

from gateway.commands.admin import Admin
from gateway.commands.client import DEFAULT_TIMEOUT, GatewayClient
from gateway.commands.client_properties import ClientSecurity
from gateway.commands.failure import CommandError, UsageError
from gateway.commands.told import addressed, say_error
from gateway.config.models import Address, parse_address

Command = Callable[[Admin, argparse.Namespace], Awaitable[int]]


def add_client_arguments(parser: argparse.ArgumentParser) -> None:
    """The flags of every command that is a client."""
    parser.add_argument(
        "--bootstrap-server",
        type=_servers,
        required=True,
        metavar="HOST:PORT",
        help="address of a listener of the gateway; several, joined by commas, are tried in turn",
    )
    parser.add_argument(
        "--timeout",
        type=_seconds,
        default=DEFAULT_TIMEOUT,
        metavar="S",
        help=f"how many seconds each request is tried (default: {DEFAULT_TIMEOUT:g})",
    )
    parser.add_argument(
        "--command-config",
        type=Path,
        metavar="FILE",
        help="how to log in: a properties file, as Kafka's own tools take it",
    )
    parser.add_argument("--json", action="store_true", help="print JSON")


def run_client(command: Command, options: argparse.Namespace) -> int:
    """The exit status of a command; what is wrong goes to standard error."""
    return run(lambda: _with_admin(command, options))


def run(command: Callable[[], Awaitable[int]]) -> int:
    """The exit status of anything that may raise CommandError."""

    async def awaited() -> int:
        return await command()

    try:
        return asyncio.run(awaited())
    except CommandError as error:
        say_error(str(error))
        return error.status


async def _with_admin(command: Command, options: argparse.Namespace) -> int:
    security = ClientSecurity(options.command_config)
    client = GatewayClient(options.bootstrap_server, timeout=options.timeout, security=security)
    try:
        return await command(Admin(client), options)
    except CommandError as error:
        say_error(addressed(str(error), options.bootstrap_server, options.command_config))
        return error.status
    finally:
        client.close()


def _servers(text: str) -> tuple[Address, ...]:
    try:
        return tuple(parse_address(part.strip()) for part in text.split(","))
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = math.nan
    if not 0 < seconds <= 86_400:
        raise argparse.ArgumentTypeError(f"'{text}' is not a number of seconds above 0")
    return seconds


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
