"""``topics --delete``: a topic, or a namespace with all topics in it (KIP-37: Delete)."""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import Sequence

from gateway.commands.admin import Admin
from gateway.commands.answers import Outcome
from gateway.commands.failure import CommandError, UsageError
from gateway.commands.namespaces import (
    DELETING,
    TOPICS,
    describe_namespaces,
    is_default,
    namespace_argument,
    namespace_resource,
    namespaces_below,
    sent,
    topic_argument,
)
from gateway.commands.told import Progress, counted, print_json, refusal, say_error, shortened
from gateway.error_codes import INVALID_REQUEST, UNKNOWN_TOPIC_OR_PARTITION
from gateway.names import LogicalName

_FIRST_POLL = 0.1
_LONGEST_POLL = 1.0
_TRIES = 5
"""How often namespaces that appear meanwhile are taken in before giving up."""


async def delete(admin: Admin, options: argparse.Namespace) -> int:
    """Raises CommandError when it is refused, and when a namespace does not go."""
    namespace = None if options.namespace is None else namespace_argument(options.namespace)
    if options.topic is not None:
        for flag in ("recursive", "no_wait"):
            if getattr(options, flag):
                shown = "--" + flag.replace("_", "-")
                raise UsageError(f"{shown} is for namespaces: leave it out, or leave out --topic")
        return await _topic(admin, topic_argument(options.topic, namespace), options)
    if namespace is None or is_default(namespace):
        raise UsageError(
            "--delete needs --namespace, --topic or both; the default namespace cannot be deleted"
        )
    return await _namespace(admin, namespace, options)


async def _topic(admin: Admin, name: LogicalName, options: argparse.Namespace) -> int:
    async with Progress(f"deleting topic '{name}'"):
        (outcome,) = await admin.delete([sent(name)])
    deleted = _done(outcome)
    if not deleted and not (_unknown(outcome) and options.if_exists):
        raise CommandError(refusal(f"topic '{name}'", "deleted", outcome, _list_step(name)))
    if options.json:
        print_json({"topic": str(name), "deleted": deleted})
    else:
        print(f"Deleted topic {name}." if deleted else f"Topic {name} does not exist.")
    return 0


async def _namespace(admin: Admin, path: str, options: argparse.Namespace) -> int:
    async with Progress(f"deleting namespace '{path}'") as progress:
        if path not in await describe_namespaces(admin, [path]):
            return _nothing_there(path, options)
        marked = await _mark(admin, path, recursive=options.recursive)
        if not options.no_wait:
            try:
                await _wait(admin, marked, progress)
            except asyncio.CancelledError:
                say_error(f"namespace '{path}' is marked for deletion, and the gateway goes on")
                raise
    if options.json:
        state = "marked" if options.no_wait else "deleted"
        print_json({"namespace": path, "state": state, "namespaces": marked})
        return 0
    for one in marked:
        print(
            f"Namespace {one} is marked for deletion."
            if options.no_wait
            else f"Deleted namespace {one}."
        )
    return 0


def _nothing_there(path: str, options: argparse.Namespace) -> int:
    if not options.if_exists:
        raise CommandError(
            f"namespace '{path}' does not exist, so nothing was deleted; see what does: "
            'kafka-gateway topics --list --namespace ""'
        )
    if options.json:
        print_json({"namespace": path, "state": "absent", "namespaces": []})
    else:
        print(f"Namespace {path} does not exist.")
    return 0


async def _mark(admin: Admin, path: str, *, recursive: bool) -> list[str]:
    """Marks a namespace and all below it for deletion; returns their paths, itself first.

    All are named in one request: the gateway refuses one that leaves a namespace below out,
    which may have been made since they were listed.
    """
    for _ in range(_TRIES):
        try:
            below = list(await namespaces_below(admin, path))
        except CommandError:
            if path in await describe_namespaces(admin, [path]):
                raise
            return [path]  # gone while it was looked at: somebody else deletes it as well
        if below and not recursive:
            raise CommandError(
                f"warning: Namespace '{path}' holds namespaces: {shortened(below)}; "
                "nothing was deleted; --recursive deletes them too"
            )
        names = [path, *below]
        outcomes = await admin.delete([namespace_resource(name) for name in names])
        first = outcomes[0]
        if _done(first) or await _is_going(admin, path, first):
            return names
        if first.code != INVALID_REQUEST or list(await namespaces_below(admin, path)) == below:
            break
    raise CommandError(refusal(f"namespace '{path}'", "deleted", first))


async def _is_going(admin: Admin, path: str, outcome: Outcome) -> bool:
    """Whether it was refused only because it is being deleted already."""
    if not _unknown(outcome):
        return False
    found = (await describe_namespaces(admin, [path])).get(path)
    return found is None or bool(found.value(DELETING))


async def _wait(admin: Admin, paths: Sequence[str], progress: Progress) -> None:
    """Returns when a namespace, first of ``paths``, is gone along with those below it.

    Raises CommandError when nothing has gone for as long as the timeout.
    """
    loop = asyncio.get_running_loop()
    least: int | None = None
    moved = loop.time()
    poll = _FIRST_POLL
    while found := await describe_namespaces(admin, paths):
        left = sum(int(one.value(TOPICS) or 0) for one in found.values())
        # Empty namespaces stay a while, so that no topic is overlooked that was just being made.
        still = "no topics left, but still marked"
        progress.text = f"{counted(left, 'topic')} left" if left else still
        now = loop.time()
        if least is None or left + len(found) < least:
            least, moved = left + len(found), now
        if now - moved > admin.timeout:
            raise CommandError(
                f"namespace '{paths[0]}' is marked for deletion, but {counted(left, 'topic')} "
                f"of it are still there after {admin.timeout:g} s without progress; the gateway "
                "goes on, and the same command waits for it again"
            )
        await asyncio.sleep(poll)
        poll = min(poll * 1.5, _LONGEST_POLL)


def _done(outcome: Outcome) -> bool:
    # What an attempt whose answer was lost has deleted is not there any more.
    return outcome.code == 0 or (outcome.repeated and _unknown(outcome))


def _unknown(outcome: Outcome) -> bool:
    return outcome.code == UNKNOWN_TOPIC_OR_PARTITION


def _list_step(name: LogicalName) -> str:
    if is_default(name.namespace):
        return "see what there is: kafka-gateway topics --list"
    return f"see what there is: kafka-gateway topics --list --namespace {name.namespace}"
