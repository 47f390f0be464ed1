"""Policies (KIP-108) on changes of configs: they judge a topic or namespace as it is after a
change.

The broker has validated the change before. A violation that existed before the change, and to which
the change does not contribute, does not count (``gateway.policies.standing``).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Final

from gateway.catalog.entities import NO_CONFIGS
from gateway.catalog.snapshot import Snapshot
from gateway.changes.base.context import Context
from gateway.changes.base.inherited import alter_configs, inherited
from gateway.changes.base.rejected import Rejected
from gateway.changes.base.resources import LIST_TYPE, Operation
from gateway.changes.base.topic_policies import (
    NOT_TOLD,
    Metadata,
    TopicFacts,
    new_topic_values,
    read_facts,
)
from gateway.decision import Denied
from gateway.identity import ANONYMOUS
from gateway.names import DELIMITER, parents
from gateway.policies.declared import Alteration
from gateway.policies.interface import RequestMetadata
from gateway.views.access import DESCRIBE, Access
from protocol.pausing import paced

_OF_SOME_BELOW: Final = (
    "Policies of a namespace below this one do not allow what its topics would inherit."
)


def subject_to_policies(context: Context, flats: Iterable[str]) -> list[str]:
    """The topics that are subject to a policy."""
    owner = context.catalog.snapshot.owner
    return [flat for flat in paced(flats) if context.judge.applies(owner(flat).namespace)]


async def topic_violations(
    context: Context, principal: str, wanted: Mapping[str, Sequence[Operation]]
) -> dict[str, Denied]:
    """The topics, by flat name, whose alteration policies do not allow.

    Messages are in logical names. Raises OSError, and :class:`Rejected` if the broker does not
    describe a topic.
    """
    flats = subject_to_policies(context, wanted)
    if not flats:
        return {}
    facts = await read_facts(context, flats)
    metadata = Metadata(context, principal, context.catalog.snapshot)
    denied: dict[str, Denied] = {}
    for flat in flats:
        known = facts.get(flat)
        why = NOT_TOLD if known is None else await _topic_violation(metadata, known, wanted[flat])
        if why is not None:
            denied[flat] = why
    return denied


async def _topic_violation(
    metadata: Metadata, facts: TopicFacts, operations: Sequence[Operation]
) -> Denied | None:
    snapshot = metadata.snapshot
    name, own = snapshot.owner(facts.flat), facts.own(snapshot)
    defaults = {key: (value or "", LIST_TYPE) for key, value in facts.defaults.items()}
    try:
        wanted = alter_configs(own, operations, inherited(snapshot, name.namespace), defaults)
    except Rejected as rejected:
        return rejected.why
    before = metadata.of_topic(facts, name, own)
    alteration = Alteration(before, changed_keys(own, wanted))
    return await metadata.context.judge.why_not(metadata.of_topic(facts, name, wanted), alteration)


async def namespace_violation(
    context: Context,
    principal: str,
    path: str,
    configs: Mapping[str, str],
    before: Mapping[str, str] | None = None,
) -> Denied | None:
    """Why policies do not allow a namespace these configs of its own. ``before``: its configs until
    now, or None if it is being created."""
    if not context.judge.applies(path):
        return None
    snapshot = context.catalog.snapshot
    metadata = Metadata(context, principal, snapshot)
    above = inherited(snapshot, path.rpartition(DELIMITER)[0])
    after = metadata.of_namespace(path, configs, above)
    if before is None:
        return await context.judge.why_not(after)
    keys = changed_keys(before, configs)
    alteration = Alteration(metadata.of_namespace(path, before, above), keys)
    return await context.judge.why_not(after, alteration)


async def inheritance_violation(
    context: Context,
    access: Access | None,
    snapshot: Snapshot,
    altered_namespace: tuple[str, Mapping[str, str]],
    inheriting: Mapping[str, Collection[str]],
) -> Denied | None:
    """Why topics that inherit a namespace's configs do not allow it these configs of its own.

    ``inheriting``: the keys that topics inherit, by namespace (this one and the namespaces below
    it). Only declared rules are evaluated, once for all topics of a namespace, because these topics
    inherit the same configs; so no topic is named. Raises OSError.
    """
    path, configs = altered_namespace
    keys = changed_keys(snapshot.namespaces[path].configs, configs)
    judged = [one for one in sorted(inheriting) if context.judge.applies(one)]
    if not judged:
        return None
    fresh = await new_topic_values(context)
    defaults = {key: fresh[key] for key in keys if key in fresh}
    principal = ANONYMOUS.principal if access is None else access.principal
    for namespace in judged:
        before = inherited(snapshot, namespace)
        after = dict(before)
        for key in keys.intersection(inheriting[namespace]):
            value = _inherited_then(snapshot, namespace, key, path, configs)
            if value is None:
                after.pop(key, None)
            else:
                after[key] = value
        old, new = (
            RequestMetadata(
                topic=f"{namespace}:*",
                configs=values,
                principal=principal,
                namespace=namespace,
                effective_configs={**defaults, **values},
            )
            for values in (before, after)
        )
        alteration = Alteration(old, changed_keys(before, after))
        why = await context.judge.why_not(new, alteration, classes=False)
        if why is not None:
            seen = access is None or access.namespace(DESCRIBE, namespace) is None
            return why if seen else replace(why, message=_OF_SOME_BELOW)
    return None


def changed_keys(before: Mapping[str, str], after: Mapping[str, str]) -> frozenset[str]:
    """The keys whose value differs, or that only one of the two mappings has."""
    return frozenset(key for key in {*before, *after} if before.get(key) != after.get(key))


def _inherited_then(
    snapshot: Snapshot, namespace: str, key: str, path: str, configs: Mapping[str, str]
) -> str | None:
    """The value that a namespace's topics inherit for a key if the namespace at ``path`` gets
    ``configs``."""
    for tier in reversed(parents(namespace)):
        found = snapshot.namespaces.get(tier)
        own = configs if tier == path else NO_CONFIGS if found is None else found.configs
        if key in own:
            return own[key]
    return None
