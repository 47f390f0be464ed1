"""Changing the configs of a namespace, and with them those of the topics that inherit."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from gateway.catalog.entities import Change, TopicEntry
from gateway.catalog.snapshot import Snapshot, differing
from gateway.changes.base.broker import cluster_defaults, read_dynamic, validate_configs
from gateway.changes.base.config_policies import (
    changed_keys,
    inheritance_violation,
    namespace_violation,
)
from gateway.changes.base.context import Context, Outdated, decide_until_current
from gateway.changes.base.inherited import (
    alter_configs,
    entry_for,
    ground,
    inherited,
    own_configs,
    own_of,
    tiers,
    topics_in,
)
from gateway.changes.base.refused import refuse_if, respelled, shown_namespace
from gateway.changes.base.resources import APPEND, SUBTRACT, Operation
from gateway.changes.namespaces.apply import apply_namespace, within_patience
from gateway.changes.namespaces.namespace_settings import existing
from gateway.identity import ANONYMOUS
from gateway.names import DELIMITER
from gateway.views.access import Access
from gateway.views.spelling import below

Operations = Callable[[Mapping[str, str]], Sequence[Operation]]
"""The operations on a namespace, given its own configs."""


@dataclass(frozen=True, slots=True)
class _Found:
    """The own ``configs`` that a namespace is to have, decided on the catalog as ``seen``.
    ``dynamic`` is what is set on the topics in and below it, of the ``keys`` that change."""

    seen: Snapshot
    configs: Mapping[str, str]
    keys: frozenset[str]
    dynamic: Mapping[str, Mapping[str, str]]


async def alter_namespace(
    context: Context,
    path: str,
    operations: Operations,
    validate_only: bool = False,
    access: Access | None = None,
) -> None:
    """Change a namespace's own configs, as far as policies allow it, and apply them to its topics.
    ``access`` is the client's.

    Returns when that is done, or goes on in the background. Raises :class:`Refused` and OSError.
    """

    async def attempt() -> bool:
        found = await _find(context, access, path, operations, validate_only)
        if found is not None:
            await context.catalog.change(lambda newest: _decide(context, path, found, newest))
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
    """Validate and judge the change; None: there is nothing to commit."""
    seen = context.catalog.snapshot
    present = existing(seen, path)
    above = inherited(seen, path.rpartition(DELIMITER)[0])
    wanted = operations(present.configs)
    lists = any(one.operation in (APPEND, SUBTRACT) for one in wanted)
    defaults: Mapping[str, Any] = await cluster_defaults(context) if lists else {}
    known = {key: (default.value or "", default.config_type) for key, default in defaults.items()}
    configs = alter_configs(present.configs, wanted, above, known)
    refuse_if(await validate_configs(context, {**above, **configs}))
    principal = ANONYMOUS.principal if access is None else access.principal
    denied = await namespace_violation(context, principal, path, configs, present.configs)
    if denied is not None and access is not None:
        denied = respelled(denied, path, shown_namespace(access.view, path))
    refuse_if(denied)
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
    refuse_if(await inheritance_violation(context, access, seen, (path, configs), inheriting))
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
        # Set before any namespace had the key: it is the topic's own from here on.
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
    """Whether topics at or below a namespace may inherit what they did not when it was judged:
    another namespace there has changed, or one of them has come, or has a config of its own no
    more. Topics that are being made do not matter: their creation reads this afterwards."""
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
