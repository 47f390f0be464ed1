"""``topics --delete``: a topic, or a namespace with all topics in it (KIP-37: Delete)."""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import Sequence

from gateway.commands.actions import reject_flags
from gateway.commands.admin import Admin
from gateway.commands.errors import CommandError, Outcome, UsageError, print_error, rejection
from gateway.commands.namespaces import (
    DELETING,
    TOPICS,
    describe_namespaces,
    is_default,
    missing_namespace,
    namespace_resource,
    namespace_text,
    namespaces_below,
    request_name,
    topic_argument,
)
from gateway.commands.output import Output, Progress, counted, shortened
from gateway.commands.spelling import shown
from gateway.error_codes import INVALID_REQUEST, UNKNOWN_TOPIC_OR_PARTITION
from gateway.names import LogicalName

_FIRST_POLL = 0.1
_LONGEST_POLL = 1.0
_TRIES = 5
"""Attempts to include namespaces that appear meanwhile, before the command gives up."""


async def delete(admin: Admin, options: argparse.Namespace) -> Output:
    """Delete a topic or a namespace. Raises CommandError if the deletion is rejected, or if a
    namespace is not gone in time."""
    path = options.namespace
    if options.topic is not None:
        why = "is for namespaces: leave it out, or leave out --topic"
        reject_flags(options, "recursive no_wait", why)
        return await _delete_topic(admin, topic_argument(options.topic, path), options)
    if path is None or is_default(path):
        raise UsageError(
            "--delete needs --namespace, --topic or both; the default namespace cannot be deleted"
        )
    async with Progress(f"deleting namespace '{path}'") as progress:
        if path not in await describe_namespaces(admin, [path]):
            if not options.if_exists:
                raise CommandError(missing_namespace(path, ", so nothing was deleted"))
            content = {"namespace": shown(path), "state": "absent", "namespaces": []}
            return Output(content, f"Namespace {shown(path)} does not exist.")
        marked = await _mark(admin, path, recursive=options.recursive)
        if not options.no_wait:
            try:
                await _wait(admin, marked, progress)
            except asyncio.CancelledError:
                print_error(
                    f"{namespace_text(path)} is marked for deletion, and the gateway goes on"
                )
                raise
    state, line = "deleted", "Deleted namespace {}."
    if options.no_wait:
        state, line = "marked", "Namespace {} is marked for deletion."
    gone = [*map(shown, marked)]
    content = {"namespace": shown(path), "state": state, "namespaces": gone}
    return Output(content, "\n".join(map(line.format, gone)))


async def _delete_topic(admin: Admin, name: LogicalName, options: argparse.Namespace) -> Output:
    async with Progress(f"deleting topic '{name}'"):
        (outcome,) = await admin.delete([request_name(name)])
    deleted = _is_done(outcome)
    if not deleted and not (_is_unknown(outcome) and options.if_exists):
        where = "" if is_default(name.namespace) else f" --namespace {shown(name.namespace)}"
        step = f"see what there is: kafka-gateway topics --list{where}"
        raise CommandError(rejection(f"topic '{name}'", "deleted", outcome, step))
    text = f"Deleted topic {name}." if deleted else f"Topic {name} does not exist."
    return Output({"topic": str(name), "deleted": deleted}, text)


async def _mark(admin: Admin, path: str, *, recursive: bool) -> list[str]:
    """Mark a namespace and all below it for deletion; returns their paths, the
    namespace's own first.

    All are named in a single request, because the gateway rejects a request that
    leaves out a namespace below. If a namespace was made since they were listed, the
    request is repeated with it.
    """
    for _ in range(_TRIES):
        try:
            below = list(await namespaces_below(admin, path))
        except CommandError:
            if path in await describe_namespaces(admin, [path]):
                raise
            return [path]  # gone since it was described: another client deletes it as well
        if below and not recursive:
            raise CommandError(
                f"warning: Namespace '{shown(path)}' holds namespaces:"
                f" {shortened(map(shown, below))}; "
                "nothing was deleted; --recursive deletes them too"
            )
        names = [path, *below]
        outcomes = await admin.delete([namespace_resource(name) for name in names])
        first = outcomes[0]
        if _is_done(first) or await _is_going(admin, path, first):
            return names
        if first.code != INVALID_REQUEST or list(await namespaces_below(admin, path)) == below:
            break
    raise CommandError(rejection(namespace_text(path), "deleted", first))


async def _is_going(admin: Admin, path: str, outcome: Outcome) -> bool:
    """Whether the deletion was rejected only because it is under way already."""
    if not _is_unknown(outcome):
        return False
    found = (await describe_namespaces(admin, [path])).get(path)
    return found is None or bool(found.value(DELETING))


async def _wait(admin: Admin, paths: Sequence[str], progress: Progress) -> None:
    """Wait until a namespace, the first of ``paths``, is gone along with all below it.

    Raises CommandError if there is no progress for as long as the timeout.
    """
    loop = asyncio.get_running_loop()
    least: int | None = None
    advanced = loop.time()
    poll = _FIRST_POLL
    while found := await describe_namespaces(admin, paths):
        left = sum(int(one.value(TOPICS) or 0) for one in found.values())
        # The gateway keeps an empty namespace for a while, because a topic in it may
        # just be being created.
        still = "no topics left, but still marked"
        progress.text = f"{counted(left, 'topic')} left" if left else still
        now = loop.time()
        if least is None or left + len(found) < least:
            least, advanced = left + len(found), now
        if now - advanced > admin.client.timeout:
            raise CommandError(
                f"{namespace_text(paths[0])} is marked for deletion, but {counted(left, 'topic')} "
                f"of it are still there after {admin.client.timeout:g} s without progress; the "
                "gateway goes on, and the same command waits for it again"
            )
        await asyncio.sleep(poll)
        poll = min(poll * 1.5, _LONGEST_POLL)


def _is_done(outcome: Outcome) -> bool:
    # If the topic is unknown now, an attempt whose response was lost has deleted it.
    return outcome.code == 0 or (outcome.repeated and _is_unknown(outcome))


def _is_unknown(outcome: Outcome) -> bool:
    return outcome.code == UNKNOWN_TOPIC_OR_PARTITION
