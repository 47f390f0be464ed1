"""Alters the configs of a namespace (KIP-37: Namespace Configs), and applies inherited configs to
topics at the broker.

The catalog records the configs left to apply (``Namespace.apply``, ``TopicEntry.apply``), so any
gateway can continue if another gateway ends. The request that caused the job runs it at once. If
two gateways run the same job, both write the catalog's values, and read the catalog again
afterwards. A key that is the topic's own is never written.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final

from gateway.catalog.entities import Change, TopicEntry
from gateway.catalog.snapshot import Snapshot, differing
from gateway.changes.base.broker import (
    batches,
    cluster_defaults,
    read_dynamic,
    validate_configs,
    write_configs,
)
from gateway.changes.base.config_policies import (
    changed_keys,
    inheritance_violation,
    namespace_violation,
)
from gateway.changes.base.config_values import is_same_value
from gateway.changes.base.context import Context, Outdated, decide_until_current
from gateway.changes.base.inherited import (
    alter_configs,
    entry_for,
    ground,
    inherited,
    own_configs,
    own_of,
    settled,
    tiers,
    topics_in,
)
from gateway.changes.base.rejected import reject_if, respelled, shown_namespace
from gateway.changes.base.resources import APPEND, DELETE, SET, SUBTRACT, Operation
from gateway.changes.base.told_configs import late_configs
from gateway.changes.namespaces.namespace_settings import Check, allowed, existing
from gateway.error_codes import (
    INVALID_CONFIG,
    INVALID_REQUEST,
    POLICY_VIOLATION,
    UNKNOWN_TOPIC_OR_PARTITION,
)
from gateway.identity import ANONYMOUS
from gateway.names import DELIMITER, below
from gateway.views.access import Access

log = logging.getLogger(__name__)

PATIENCE: Final = 10.0
"""Seconds that a request waits for the job that it caused; the rest runs in the background."""

_FINAL = frozenset({UNKNOWN_TOPIC_OR_PARTITION, INVALID_CONFIG, INVALID_REQUEST, POLICY_VIOLATION})
_background: set[asyncio.Task[None]] = set()

Operations = Callable[[Mapping[str, str]], Sequence[Operation]]
"""Takes a namespace's own configs and returns the operations on them."""


@dataclass(frozen=True, slots=True)
class _Found:
    """The own configs that a namespace is to have."""

    seen: Snapshot
    """The catalog on which this was decided."""
    configs: Mapping[str, str]
    keys: frozenset[str]
    """The keys that change."""
    dynamic: Mapping[str, Mapping[str, str]]
    """The values of ``keys`` set on the topics in and below the namespace, by flat name."""


async def alter_namespace(
    context: Context,
    path: str,
    operations: Operations,
    validate_only: bool = False,
    access: Access | None = None,
    check: Check = allowed,
) -> None:
    """Alter a namespace's own configs if policies allow it, and apply them to its topics.
    ``access``: the client's. ``check`` is called on the state that is changed.

    Returns when the configs are applied, or when the job continues in the background. Raises
    :class:`Rejected` and OSError.
    """

    def decide(found: _Found, newest: Snapshot) -> Sequence[Change]:
        check(newest)
        return _decide(context, path, found, newest)

    async def attempt() -> bool:
        found = await _find(context, access, path, operations, validate_only)
        if found is not None:
            await context.catalog.change(partial(decide, found))
        return found is not None

    if await decide_until_current(context, attempt, f"Namespace '{path}'"):
        await within_patience(apply_namespace(context, path))


async def _find(
    context: Context,
    access: Access | None,
    path: str,
    operations: Operations,
    validate_only: bool,
) -> _Found | None:
    """Validate and judge the change; None if there is nothing to commit."""
    seen = context.catalog.snapshot
    present = existing(seen, path)
    above = inherited(seen, path.rpartition(DELIMITER)[0])
    wanted = operations(present.configs)
    lists = any(one.operation in (APPEND, SUBTRACT) for one in wanted)
    defaults: Mapping[str, Any] = await cluster_defaults(context) if lists else {}
    known = {key: (default.value or "", default.config_type) for key, default in defaults.items()}
    configs = alter_configs(present.configs, wanted, above, known)
    reject_if(await validate_configs(context, {**above, **configs}))
    principal = ANONYMOUS.principal if access is None else access.principal
    denied = await namespace_violation(context, principal, path, configs, present.configs)
    if denied is not None and access is not None:
        denied = respelled(denied, path, shown_namespace(access.view, path))
    reject_if(denied)
    keys = changed_keys(present.configs, configs)
    if not keys or (validate_only and not context.judge.policies.judges):
        return None
    await context.cluster.refresh()
    flats = topics_in(seen, list(context.cluster.index.names()), path)
    dynamic = await read_dynamic(context, flats, keys)
    inheriting: dict[str, set[str]] = {}
    for flat, held in dynamic.items():
        missing = keys - own_of(seen, flat, held)
        if missing:
            inheriting.setdefault(seen.owner(flat).namespace, set()).update(missing)
    reject_if(await inheritance_violation(context, access, seen, (path, configs), inheriting))
    return None if validate_only else _Found(seen, configs, keys, dynamic)


def _decide(context: Context, path: str, found: _Found, newest: Snapshot) -> Sequence[Change]:
    if tiers(newest, path) != tiers(found.seen, path):
        existing(newest, path)
        raise Outdated
    if context.judge.policies.judges and _has_changed_below(found.seen, newest, path):
        raise Outdated
    changes: list[Change] = []
    for flat, dynamic in found.dynamic.items():
        more = own_of(found.seen, flat, dynamic) - own_configs(found.seen, flat)
        if not more:
            continue
        # The config was set before any namespace had the key, so it is the topic's own from now on.
        if ground(newest, flat) != ground(found.seen, flat):
            raise Outdated
        entry = entry_for(newest, flat, context.clock())
        own = tuple(sorted(more.union(entry.own_configs)))
        changes.append(replace(entry, own_configs=own))
    present = newest.namespaces[path]
    since = max(context.clock(), present.apply_since + 1)
    apply = tuple(sorted(found.keys.union(present.apply)))
    configs = dict(sorted(found.configs.items()))
    return [*changes, replace(present, configs=configs, apply=apply, apply_since=since)]


def _has_changed_below(seen: Snapshot, newest: Snapshot, path: str) -> bool:
    """Whether topics in or below a namespace may inherit other keys than when the namespace was
    judged.

    That is so if another namespace there has changed, or a topic has come there or has lost a
    config of its own. Topics that are being created do not count: their creation reads this
    namespace afterwards.
    """
    for tier in differing(seen.namespaces, newest.namespaces):
        if below(tier, path) is not None:
            return True
    for flat in differing(seen.topics, newest.topics):
        old, new = seen.topics.get(flat), newest.topics.get(flat)
        is_near = any(one and below(one.name.namespace, path) is not None for one in (old, new))
        if is_near and not (new is not None and new.creating) and _basis(old) != _basis(new):
            return True
    return False


def _basis(entry: TopicEntry | None) -> tuple[object, ...]:
    """The fields of an entry that decide what a topic inherits."""
    if entry is None:
        return ()
    return entry.name, entry.own_configs, entry.apply, entry.creating


# -- applying ------------------------------------------------------------------------------------


class NotApplied(ConnectionError):
    """The broker does not accept the configs now. An OSError, as if the broker could not be
    reached."""


async def apply_namespace(context: Context, path: str) -> None:
    """Apply the changed configs of a namespace to all topics in and below it.

    Returns when the catalog records that they are applied, or when there was nothing to apply.
    Raises OSError.
    """

    def done(newest: Snapshot) -> Sequence[Change]:
        # Another change of its configs began another job.
        if namespace is None or newest.namespaces.get(path) != namespace:
            return ()
        return [replace(namespace, apply=())]

    while True:
        namespace = context.catalog.snapshot.namespaces.get(path)
        if namespace is None or namespace.deleting is not None or not namespace.apply:
            return
        await context.cluster.refresh()
        flats = topics_in(context.catalog.snapshot, list(context.cluster.index.names()), path)
        failed: NotApplied | None = None
        for batch in batches(flats):
            try:
                # If brokers are late for one batch, the other batches do not wait for brokers as
                # well.
                patience = None if failed is None else 0.0
                await _bring(context, batch, namespace.apply, patience)
            except NotApplied as error:
                failed = error
        if failed is not None:
            raise failed
        await context.catalog.change(done)


async def apply_topic(context: Context, flat: str) -> None:
    """Apply all inherited configs to a moved topic, and remove the configs that it inherits no
    more.

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
    """Wait for a job at most ``patience`` seconds; it continues after that, and if the request is
    cancelled. If it fails, the background jobs find it in the catalog and do it."""

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


def applied(
    snapshot: Snapshot, flat: str, dynamic: Mapping[str, str], keys: Collection[str] | None
) -> dict[str, str | None]:
    """The values of a topic at the broker once inherited configs are applied, by key; None for a
    key that is removed. ``dynamic``: the configs set on the topic now.

    ``keys``: only these keys; None: keys that are neither inherited nor the topic's own are
    removed.
    """
    wanted = inherited(snapshot, snapshot.owner(flat).namespace)
    considered = {*dynamic, *wanted} if keys is None else set(keys)
    return {key: wanted.get(key) for key in sorted(considered - own_configs(snapshot, flat))}


def operations(wanted: Mapping[str, str | None], dynamic: Mapping[str, str]) -> list[Operation]:
    """The operations that bring a topic from the configs set at the broker to these values."""
    todo: list[Operation] = []
    for key, value in wanted.items():
        if value is None and key in dynamic:
            todo.append(Operation(key, DELETE))
        elif value is not None and not is_same_value(dynamic.get(key), value):
            todo.append(Operation(key, SET, value))
    return todo


async def _bring(
    context: Context,
    flats: Sequence[str],
    keys: Collection[str] | None,
    patience: float | None = None,
) -> None:
    """Write until the catalog has not changed meanwhile, because a slow writer must not write
    outdated values last. Brokers are waited for ``patience`` seconds.

    Raises :class:`NotApplied` if some topics were not written, after the other topics were.
    """
    left = list(flats)
    why_not = ""
    while left:
        dynamic = await read_dynamic(context, left, keys)
        if await _are_listed(context, [flat for flat in left if flat not in dynamic]):
            why_not = "a broker does not know a topic yet that another one lists"
        # The catalog is read after the broker, so little time passes until the write.
        snapshot = context.catalog.snapshot
        wanted = {flat: applied(snapshot, flat, held, keys) for flat, held in dynamic.items()}
        todo = {
            flat: steps
            for flat, values in wanted.items()
            if (steps := operations(values, dynamic[flat]))
        }
        for flat, denied in (await write_configs(context, todo)).items():
            if denied is None:
                continue
            del wanted[flat]
            if denied.code not in _FINAL:
                why_not = f"error {denied.code}: {denied.message}"
                del todo[flat]
                continue
            log.warning(
                "topic %r does not take the configs of its namespace (error %d): %s",
                flat,
                denied.code,
                denied.message,
            )

        def is_current(flat: str, then: Snapshot = snapshot) -> bool:
            return ground(context.catalog.snapshot, flat) == ground(then, flat)

        # Also the topics written before: another broker may know less than the broker that was
        # read.
        own = partial(own_configs, snapshot) if keys is None else None
        if await late_configs(context, wanted, holds=is_current, patience=patience, but=own):
            why_not = "brokers go on telling what topics inherited before"
        if not todo:
            break
        await context.catalog.refresh()
        newest = context.catalog.snapshot
        left = [flat for flat in todo if ground(newest, flat) != ground(snapshot, flat)]
    if why_not:
        raise NotApplied(why_not)


async def _are_listed(context: Context, flats: Sequence[str]) -> bool:
    """Whether any of these topics is in a listing made now. Raises OSError."""
    if not flats:
        return False
    await context.cluster.refresh()
    return any(context.cluster.index.exists(flat.encode()) for flat in flats)
