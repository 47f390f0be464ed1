"""``kafka-gateway trace``: real requests as they pass a gateway on this machine."""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any, Final

from gateway.commands.actions import run
from gateway.commands.errors import CommandError, Unavailable, UsageError
from gateway.commands.flags import Flag, fill_operator_parser
from gateway.commands.output import Output, Progress, counted, print_json
from gateway.commands.trace_text import request_text
from gateway.config.errors import nearest
from gateway.config.models import Config
from gateway.config_file.loading import load_config
from gateway.operators import address
from gateway.traced import MOST_REQUESTS, Wanted
from protocol.schema import API_NAMES

LINE_LIMIT: Final = 4 * 1024 * 1024
"""Bytes of a line, of which texts take 1.6 MB at most (``gateway.traced``)."""

_EXAMPLES: Final = """\
examples:
  kafka-gateway trace gateway.yaml
  kafka-gateway trace gateway.yaml --client-id orders-service --count 1
  kafka-gateway trace gateway.yaml --principal User:alice --api Produce --json
"""


def _number(text: str) -> int:
    count = int(text) if text.isascii() and text.isdigit() else 0
    if not 0 < count <= MOST_REQUESTS:
        raise argparse.ArgumentTypeError(f"'{text}' is not a number from 1 to {MOST_REQUESTS}")
    return count


_FLAGS: Final = (
    Flag("--listener", "NAME", "only requests at this listener"),
    Flag("--principal", "TYPE:NAME", "only requests of this principal, such as User:alice"),
    Flag("--client-id", "ID", "only requests with this client id"),
    Flag("--api", "NAME", "only requests of this API, by Kafka's name: Produce, Fetch, JoinGroup"),
    Flag(
        "--count",
        "N",
        "end after so many requests (default: %(default)s)",
        {"type": _number, "default": Wanted().count},
    ),
    Flag("--seconds", "S", "end after so many seconds, if not before", {"type": _number}),
    Flag("--json", "", "print one JSON document at the end"),
)


def fill(parser: argparse.ArgumentParser) -> None:
    """Fill the parser of the subcommand; its options' ``run`` returns the exit status."""
    fill_operator_parser(
        parser,
        _FLAGS,
        _run,
        description="Show requests as they pass a gateway that runs on this machine, as this user:"
        " what each was decided, by which rule, what the broker got, and the time of each step."
        " Record bytes are never shown. Ctrl-C ends it.",
        examples=_EXAMPLES,
    )


def _run(options: argparse.Namespace) -> int:
    config = load_config(options.config)
    return run(lambda: trace(config, options), options)


async def trace(config: Config, options: argparse.Namespace) -> Output:
    """Print the requests that the options ask for. Raises CommandError."""
    wanted = _wanted(config, options)
    requests: list[Mapping[str, Any]] = []
    show = None if options.json else _print
    async with Progress("waiting for requests that match") as progress:

        def take(request: Mapping[str, Any]) -> bool:
            if len(requests) < wanted.count:
                requests.append(request)
                progress.text = f"{len(requests):,} of {wanted.count:,}"
                if show is not None:
                    show(request)
            return len(requests) >= wanted.count

        try:
            reasons = await _follow(config, wanted, take, options.seconds)
        except asyncio.CancelledError:  # Ctrl-C: what has come by now is worth something
            if options.json:
                print_json({"requests": requests})
            raise
    if not requests and len(reasons) == config.workers:
        raise Unavailable(
            f"no gateway on this machine can be traced ({'; '.join(reasons)}); run this where one"
            " runs, in its container, as its user, and with its configuration"
        )
    notes = [f"not all of it was traced: {reason}" for reason in reasons]
    if not requests and options.seconds is not None:
        notes.append(f"no request matched within {counted(options.seconds, 'second')}")
    return Output({"requests": requests}, "", notes)


def _wanted(config: Config, options: argparse.Namespace) -> Wanted:
    """Raises CommandError."""
    if sys.platform != "linux":
        raise CommandError("trace works on Linux only; run it where the gateway runs")
    listeners = [one.name for one in config.listeners]
    _check_known("listener", options.listener, listeners)
    _check_known("api", options.api, [*API_NAMES.values()])
    return Wanted(
        options.listener, options.principal, options.client_id, options.api, options.count
    )


def _check_known(flag: str, value: str | None, known: Sequence[str]) -> None:
    if value is not None and value not in known:
        meant = nearest(value, known)
        step = f"did you mean '{meant}'?" if meant else f"there are: {', '.join(known)}"
        raise UsageError(f"--{flag}: '{value}' is not known; {step}")


async def _follow(
    config: Config,
    wanted: Wanted,
    take: Callable[[Mapping[str, Any]], bool],
    seconds: float | None,
) -> list[str]:
    """Take what all workers trace, until ``take`` has enough. Returns why workers were not, or
    not until the end, traced."""
    followed = [
        asyncio.create_task(_follow_worker(config, worker_id, wanted, take))
        for worker_id in range(config.workers)
    ]
    reasons = []
    try:
        async with asyncio.timeout(seconds):
            for done in asyncio.as_completed(followed):
                reason = await done
                if reason is None:
                    return []
                reasons.append(reason)
    except TimeoutError:
        pass
    finally:
        for task in followed:
            task.cancel()
        await asyncio.gather(*followed, return_exceptions=True)
    return reasons


async def _follow_worker(
    config: Config, worker_id: int, wanted: Wanted, take: Callable[[Mapping[str, Any]], bool]
) -> str | None:
    """Take what one worker traces; None: ``take`` has enough, else why there is no more."""
    try:
        reader, writer = await asyncio.open_unix_connection(
            address(config.metrics.port, worker_id), limit=LINE_LIMIT
        )
    except OSError as error:
        return f"worker {worker_id}: {os.strerror(error.errno or 0)}"
    try:
        writer.write(wanted.line())
        while content := await _content(reader):
            if "refused" in content:
                return f"worker {worker_id}: {content['refused']}"
            if take(content):
                return None
    except _NotUnderstood as error:
        return f"worker {worker_id}: its response makes no sense ({error})"
    finally:
        with suppress(OSError):
            writer.close()
    return f"worker {worker_id}: it has ended, or serves this command to its own user alone"


class _NotUnderstood(Exception):
    """A worker sent something else than a line of JSON. The text says what."""


async def _content(reader: asyncio.StreamReader) -> dict[str, Any]:
    """The content of the next line, nothing at the end. Raises _NotUnderstood."""
    try:
        line = await reader.readline()
        content = json.loads(line or b"{}")
    except (OSError, ValueError) as error:
        raise _NotUnderstood(str(error)) from None
    if not isinstance(content, dict):
        raise _NotUnderstood("no object")
    return content


def _print(request: Mapping[str, Any]) -> None:
    print(request_text(request), flush=True)
