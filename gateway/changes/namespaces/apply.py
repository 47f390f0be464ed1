"""Applying what topics inherit: their configs at the broker become those of their namespaces.

The catalog says what is left to do (``Namespace.apply``, ``TopicEntry.apply``), so that any
gateway goes on where another one ended. The request that caused it runs the job at once. Two may
run the same job: both write what the catalog says, and read it once more afterwards. A key that is
the topic's own is never written.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import Final

from gateway.catalog.entities import Change
from gateway.catalog.snapshot import Snapshot
from gateway.changes.base.broker import batches, read_dynamic, write_configs
from gateway.changes.base.context import Context
from gateway.changes.base.inherited import ground, inherited, own_configs, settled, topics_in
from gateway.changes.base.resources import DELETE, SET, Operation
from gateway.error_codes import (
    INVALID_CONFIG,
    INVALID_REQUEST,
    POLICY_VIOLATION,
    UNKNOWN_TOPIC_OR_PARTITION,
)

log = logging.getLogger(__name__)

PATIENCE: Final = 10.0
"""Seconds that a request waits for what it caused; the rest is done in the background."""

_FINAL = frozenset({UNKNOWN_TOPIC_OR_PARTITION, INVALID_CONFIG, INVALID_REQUEST, POLICY_VIOLATION})
_background: set[asyncio.Task[None]] = set()


class NotApplied(ConnectionError):
    """The broker does not take the configs now; it is an OSError, as one that is away is."""


async def apply_namespace(context: Context, path: str) -> None:
    """Bring the changed configs of a namespace to all topics in it and below.

    Returns when that is done and the catalog says so, or when there was nothing to do. Raises
    OSError.
    """

    def done(newest: Snapshot) -> Sequence[Change]:
        # Another change of its configs began a job of its own.
        if namespace is None or newest.namespaces.get(path) != namespace:
            return ()
        return [replace(namespace, apply=())]

    while True:
        namespace = context.catalog.snapshot.namespaces.get(path)
        if namespace is None or namespace.deleting is not None or not namespace.apply:
            return
        await context.cluster.refresh()
        flats = topics_in(context.catalog.snapshot, list(context.cluster.index.names()), path)
        for batch in batches(flats):
            await _bring(context, batch, namespace.apply)
        await context.catalog.change(done)


async def apply_topic(context: Context, flat: str) -> None:
    """Bring all that a moved topic inherits to it, and take off what it inherits no more.

    Returns and raises as :func:`apply_namespace`.
    """

    def done(newest: Snapshot) -> Sequence[Change]:
        if ground(newest, flat) != ground(snapshot, flat):
            return ()
        return [settled(newest, replace(newest.topics[flat], apply=False))]

    while True:
        snapshot = context.catalog.snapshot
        entry = snapshot.topics.get(flat)
        if entry is None or not entry.apply:
            return
        await _bring(context, [flat], None)
        await context.catalog.change(done)


async def within_patience(job: Awaitable[None], patience: float = PATIENCE) -> None:
    """Wait for a job at most ``patience`` seconds; it goes on after that, and when the request is
    cancelled. What cannot be done now is left to the background jobs: the catalog has it."""

    async def logged() -> None:
        try:
            await job
        except OSError as error:
            log.warning("inherited configs are not applied yet: %s", error)

    task = asyncio.create_task(logged())
    _background.add(task)
    task.add_done_callback(_background.discard)
    done, _ = await asyncio.wait({task}, timeout=patience)
    for finished in done:
        finished.result()


def operations(
    snapshot: Snapshot, flat: str, dynamic: Mapping[str, str], keys: Collection[str] | None
) -> list[Operation]:
    """The operations that bring a topic from what is set on it at the broker to what it inherits.

    ``keys``: of these only; None: whatever is neither inherited nor its own is taken off.
    """
    wanted = inherited(snapshot, snapshot.owner(flat).namespace)
    considered = {*dynamic, *wanted} if keys is None else set(keys)
    todo: list[Operation] = []
    for key in sorted(considered - own_configs(snapshot, flat)):
        value = wanted.get(key)
        if value is None and key in dynamic:
            todo.append(Operation(key, DELETE))
        elif value is not None and dynamic.get(key) != value:
            todo.append(Operation(key, SET, value))
    return todo


async def _bring(context: Context, flats: Sequence[str], keys: Collection[str] | None) -> None:
    """Write until the catalog has not changed meanwhile: a slow writer must not have the last
    word with what is out of date."""
    left = list(flats)
    while left:
        dynamic = await read_dynamic(context, left, keys)
        # After the reading: the shorter the time until the writing, the better.
        snapshot = context.catalog.snapshot
        todo = {
            flat: steps
            for flat, held in dynamic.items()
            if (steps := operations(snapshot, flat, held, keys))
        }
        if not todo:
            return
        for flat, denied in (await write_configs(context, todo)).items():
            if denied is not None and denied.code not in _FINAL:
                raise NotApplied(f"error {denied.code}: {denied.message}")
            if denied is not None:
                log.warning(
                    "topic %r does not take the configs of its namespace (error %d): %s",
                    flat,
                    denied.code,
                    denied.message,
                )
        await context.catalog.refresh()
        newest = context.catalog.snapshot
        left = [flat for flat in todo if ground(newest, flat) != ground(snapshot, flat)]
