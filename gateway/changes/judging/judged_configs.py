"""Changes of configs before policies (KIP-108): what a topic, or a namespace, would be then.

The broker has validated the change by then. The result is judged; what it violated before, and the
change has no part in, does not count (``gateway.policies.declared``).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Final

from gateway.catalog.entities import NO_CONFIGS
from gateway.catalog.snapshot import Snapshot
from gateway.changes.base.context import Context
from gateway.changes.base.refused import Refused, try_again
from gateway.changes.base.resources import Operation
from gateway.changes.inheritance.inherited import inherited
from gateway.changes.inheritance.namespace_configs import LIST_TYPE, altered
from gateway.changes.judging.topic_facts import Asker, TopicFacts, new_topic_values, read_facts
from gateway.decision import Denied
from gateway.identity import ANONYMOUS
from gateway.names import parents
from gateway.policies.declared import Alteration
from gateway.policies.interface import RequestMetadata
from gateway.views.access import DESCRIBE, Access

_OF_SOME_BELOW: Final = (
    "Policies of a namespace below this one do not allow what its topics would inherit."
)

NOT_TOLD: Final = try_again(
    "The broker does not tell what the topic is now, so no policy can be asked"
)


def judged(context: Context, flats: Iterable[str]) -> list[str]:
    """Those of the topics that policies have a say in."""
    owner = context.catalog.snapshot.owner
    return [flat for flat in flats if context.judge.applies(owner(flat).namespace)]


async def refused_topics(
    context: Context, principal: str, wanted: Mapping[str, Sequence[Operation]]
) -> dict[str, Denied]:
    """Why topics may not be altered so, by flat name, where policies have something against it.

    Messages are in logical names. Raises OSError, and :class:`Refused` when the broker does not
    tell what the topics are.
    """
    flats = judged(context, wanted)
    if not flats:
        return {}
    facts = await read_facts(context, flats)
    asker = Asker(context, principal, context.catalog.snapshot)
    refused: dict[str, Denied] = {}
    for flat in flats:
        known = facts.get(flat)
        why = NOT_TOLD if known is None else await _topic(asker, known, wanted[flat])
        if why is not None:
            refused[flat] = why
    return refused


async def refused_namespace(
    context: Context,
    principal: str,
    path: str,
    configs: Mapping[str, str],
    before: Mapping[str, str] | None = None,
) -> Denied | None:
    """Why a namespace may not have these configs of its own. ``before``: those that it has, None
    for one that is made."""
    if not context.judge.applies(path):
        return None
    snapshot = context.catalog.snapshot
    asker = Asker(context, principal, snapshot)
    above = inherited(snapshot, parent(path))
    after = asker.about_namespace(path, configs, above)
    if before is None:
        return await context.judge.why_not(after)
    alteration = _alteration(asker.about_namespace(path, before, above), before, configs)
    return await context.judge.why_not(after, alteration)


async def refused_inheritance(
    context: Context,
    access: Access | None,
    snapshot: Snapshot,
    altered_namespace: tuple[str, Mapping[str, str]],
    inheriting: Mapping[str, Collection[str]],
) -> Denied | None:
    """Why a namespace may not have these configs of its own because of topics that inherit them.

    ``inheriting`` are the keys that topics inherit by namespace: it, and those below it. Only
    declared rules are asked, and once for all topics of a namespace, so no topic is named: they
    cannot differ in what they inherit. Raises OSError.
    """
    path, configs = altered_namespace
    keys = changed_keys(snapshot.namespaces[path].configs, configs)
    judged = [one for one in sorted(inheriting) if context.judge.applies(one)]
    if not judged:
        return None
    fresh = await new_topic_values(context)
    defaults = {key: fresh[key] for key in keys if key in fresh}
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
                principal=ANONYMOUS.principal if access is None else access.principal,
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


def parent(path: str) -> str:
    """The namespace above; ``""`` for an outermost one."""
    return ["", *parents(path)][-2]


def changed_keys(before: Mapping[str, str], after: Mapping[str, str]) -> frozenset[str]:
    """The keys with another value, or with one where there was none, or the reverse."""
    return frozenset(key for key in {*before, *after} if before.get(key) != after.get(key))


def _inherited_then(
    snapshot: Snapshot, namespace: str, key: str, path: str, configs: Mapping[str, str]
) -> str | None:
    """What topics of a namespace inherit once the one at ``path`` has these configs."""
    for tier in reversed(parents(namespace)):
        found = snapshot.namespaces.get(tier)
        own = configs if tier == path else NO_CONFIGS if found is None else found.configs
        if key in own:
            return own[key]
    return None


async def _topic(asker: Asker, facts: TopicFacts, operations: Sequence[Operation]) -> Denied | None:
    name = asker.snapshot.owner(facts.flat)
    own = facts.own(asker.snapshot)
    try:
        wanted = _altered(asker.snapshot, facts, own, operations)
    except Refused as refused:
        return refused.why
    before = asker.about(facts, name, own)
    alteration = _alteration(before, own, wanted)
    return await asker.context.judge.why_not(asker.about(facts, name, wanted), alteration)


def _altered(
    snapshot: Snapshot, facts: TopicFacts, own: Mapping[str, str], operations: Sequence[Operation]
) -> dict[str, str]:
    above = inherited(snapshot, snapshot.owner(facts.flat).namespace)
    defaults = {key: (value or "", LIST_TYPE) for key, value in facts.defaults.items()}
    return altered(own, operations, above, defaults)


def _alteration(
    metadata: RequestMetadata, before: Mapping[str, str], after: Mapping[str, str]
) -> Alteration:
    return Alteration(metadata, changed_keys(before, after))
