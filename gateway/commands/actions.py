"""Subcommands that are clients of a gateway: their actions, connection and exit status."""

from __future__ import annotations

import argparse
import asyncio
import math
from collections.abc import Awaitable, Callable, Sequence
from typing import Final, NamedTuple, TypeAlias

from gateway import exit_codes
from gateway.commands.admin import Admin
from gateway.commands.client import DEFAULT_TIMEOUT, GatewayClient
from gateway.commands.client_properties import ClientSecurity
from gateway.commands.errors import (
    CommandError,
    UsageError,
    print_error,
    print_failure,
    with_address,
)
from gateway.commands.flags import CLIENT_STATUS, Flag, add_flags
from gateway.commands.output import Output, print_json
from gateway.config.addresses import Address, parse_address
from gateway.files import input_path

Run: TypeAlias = Callable[[Admin, argparse.Namespace], Awaitable[Output]]


class Action(NamedTuple):
    """The action that the switch ``--name`` selects; ``flags`` are the flags that go with the
    action: their names in ``argparse``, separated by spaces."""

    name: str
    help: str
    run: Run
    flags: str


class Command(NamedTuple):
    """A subcommand that is a client of the gateway. ``examples`` follow the address; if there are
    no ``actions``, the subcommand calls ``run``."""

    name: str
    description: str
    examples: Sequence[str]
    flags: Sequence[Flag]
    actions: Sequence[Action] = ()
    run: Run | None = None


def servers_of(text: str) -> tuple[Address, ...]:
    """The addresses of ``--bootstrap-server``. Raises ArgumentTypeError."""
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


_ADDRESS_HELP: Final = (
    "address of a listener of the gateway; several, joined by commas, are tried in turn"
)
_TIMEOUT_HELP: Final = "how many seconds each request is tried (default: %(default)g)"
_CLIENT_FLAGS: Final = (
    Flag("--bootstrap-server", "HOST:PORT", _ADDRESS_HELP, {"type": servers_of, "required": True}),
    Flag("--timeout", "S", _TIMEOUT_HELP, {"type": _seconds, "default": DEFAULT_TIMEOUT}),
    Flag(
        "--command-config",
        "FILE",
        "a properties file with the login, as for Kafka's tools",
        {"type": input_path},
    ),
    Flag("--json", "", "print JSON"),
)
_ALWAYS: Final = frozenset(
    {"action", "bootstrap_server", "command", "command_config", "json", "parser", "run", "timeout"}
)


def fill_client_parser(parser: argparse.ArgumentParser, command: Command) -> None:
    """Fill the parser of a subcommand; its options' ``run`` returns the exit status."""
    start = f"  kafka-gateway {command.name} --bootstrap-server localhost:9192 "
    examples = "".join(f"{start}{example}\n" for example in command.examples)
    parser.description = command.description
    parser.epilog = f"examples:\n{examples}{CLIENT_STATUS}"
    parser.allow_abbrev = False
    add_flags(parser, _CLIENT_FLAGS)
    if command.actions:
        group = parser.add_mutually_exclusive_group(required=True)
        for action in command.actions:
            flag, text = f"--{action.name}", action.help
            group.add_argument(
                flag, dest="action", action="store_const", const=action.name, help=text
            )
    add_flags(parser, command.flags)
    parser.set_defaults(run=lambda options: run(lambda: _ask_gateway(command, options), options))


def run(command: Callable[[], Awaitable[Output]], options: argparse.Namespace) -> int:
    """Run a command and print its output, or its CommandError; returns the exit status."""

    async def awaited() -> Output:
        return await command()

    return finish(lambda: asyncio.run(awaited()), options)


def finish(command: Callable[[], Output], options: argparse.Namespace) -> int:
    """Like :func:`run`, for a command that needs no event loop."""
    try:
        output = command()
    except CommandError as error:
        text = with_address(str(error), options)
        print_error(text)
        if getattr(options, "json", False):
            print_failure(text)
        return error.status
    if getattr(options, "json", False):
        print_json(output.content)
    elif output.text:
        print(output.text, flush=True)
    for note in output.notes:
        print_error(with_address(note, options))
    return exit_codes.FAILED if output.failed else exit_codes.OK


async def _ask_gateway(command: Command, options: argparse.Namespace) -> Output:
    ask = command.run or _chosen(command.actions, options)
    security = ClientSecurity(options.command_config)
    client = GatewayClient(options.bootstrap_server, timeout=options.timeout, security=security)
    try:
        return await ask(Admin(client), options)
    finally:
        client.close()


def _chosen(actions: Sequence[Action], options: argparse.Namespace) -> Run:
    """The function of the action that was requested. Raises UsageError if a flag was given that
    the action would ignore."""
    chosen = next(action for action in actions if action.name == options.action)
    for name, value in vars(options).items():
        if name not in {*_ALWAYS, *chosen.flags.split()} and value not in (None, False):
            where = " or ".join(f"--{one.name}" for one in actions if name in one.flags.split())
            raise UsageError(
                f"{_flag_text(name)} does not go with --{chosen.name} but with {where}"
            )
    return chosen.run


def reject_flags(options: argparse.Namespace, names: str, why: str) -> None:
    """Raises UsageError if any of these flags was given; ``names`` are their
    names in ``argparse``."""
    for name in names.split():
        if getattr(options, name) not in (None, False):
            raise UsageError(f"{_flag_text(name)} {why}")


def _flag_text(name: str) -> str:
    # ``as`` is a keyword of Python, so argparse holds ``--as`` as ``as_name``.
    return "--as" if name == "as_name" else "--" + name.replace("_", "-")
