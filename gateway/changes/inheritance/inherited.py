"""The configs of topics in namespaces: what is the topic's own, and what it inherits. Pure.

The broker holds both as configs of the topic; the catalog says which keys are the topic's own.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from gateway.catalog.entities import Namespace, Removal, TopicEntry
from gateway.catalog.snapshot import Snapshot
from gateway.changes.base.resources import INHERITED, OWN
from gateway.names import LogicalName, parents
from protocol.messages import changed


def inherited(snapshot: Snapshot, namespace: str) -> dict[str, str]:
    """The values that a topic in ``namespace`` inherits, by key."""
    return {key: value for key, (value, _) in snapshot.effective_configs(namespace).items()}


def own_configs(snapshot: Snapshot, flat: str) -> frozenset[str]:
    """The keys that are known to be the topic's own."""
    entry = snapshot.topics.get(flat)
    return frozenset() if entry is None else frozenset(entry.own_configs)


def pending(snapshot: Snapshot, flat: str) -> Collection[str] | None:
    """The keys of which the broker may not yet hold what the topic inherits; None: any of them."""
    entry = snapshot.topics.get(flat)
    if entry is not None and entry.apply:
        return None
    keys: set[str] = set()
    for tier in parents(snapshot.owner(flat).namespace):
        found = snapshot.namespaces.get(tier)
        if found is not None:
            keys.update(found.apply)
    return keys


def topics_in(snapshot: Snapshot, flats: Iterable[bytes], namespace: str) -> list[str]:
    """Those of the flat names that belong to ``namespace`` or one below it, sorted."""
    prefix = namespace + ":"
    owners = ((flat.decode(), snapshot.owner(flat.decode()).namespace) for flat in flats)
    return sorted(f for f, owner in owners if owner == namespace or owner.startswith(prefix))


def entry_for(snapshot: Snapshot, flat: str, now: int) -> TopicEntry:
    """The topic's entry, or the one that says no more than its flat name does."""
    return snapshot.topics.get(flat) or TopicEntry(flat, snapshot.owner(flat), since=now)


# -- how configs are told --------------------------------------------------------------------------


def adjust_created(
    response_topic: Any, own: Collection[str], inherited: Mapping[str, tuple[str, str]]
) -> Any:
    """A topic of a CreateTopics response with inherited configs told as what they are.

    ``own`` are the keys that the request set, ``inherited`` is ``Snapshot.effective_configs``.
    Versions before 5 have no configs, and then nothing is to be done.
    """
    configs = getattr(response_topic, "configs", None)
    if not configs:
        return response_topic

    def adjusted(config: Any) -> Any:
        found = inherited.get(config.name)
        if config.name in own or found is None or found[0] != config.value:
            return config
        return changed(config, {"config_source": INHERITED})

    return changed(response_topic, {"configs": tuple(map(adjusted, configs))})


def adjust_described(
    configs: Sequence[Any],
    own: Collection[str],
    inherited: Mapping[str, str],
    unsettled: Collection[str] | None = (),
) -> tuple[Any, ...]:
    """The configs of a DescribeConfigs result with inherited ones told as what they are.

    ``unsettled`` are the keys of :func:`pending`: whatever the broker holds of them, unless it is
    the topic's own, was inherited.
    """

    def adjusted(config: Any) -> Any:
        if config.config_source != OWN:
            return config
        value = inherited.get(config.name)
        if config.name not in own:
            waits = unsettled is None or config.name in unsettled
            if waits or (value is not None and value == config.value):
                return _as_inherited(config)
        return config if value is None else _over_inherited(config, value)

    return tuple(map(adjusted, configs))


def _as_inherited(config: Any) -> Any:
    synonyms = tuple(
        changed(synonym, {"source": INHERITED}) if synonym.source == OWN else synonym
        for synonym in config.synonyms
    )
    return changed(config, {"config_source": INHERITED, "synonyms": synonyms})


def _over_inherited(config: Any, value: str) -> Any:
    """What it would fall back to comes next in the synonyms, where there are any."""
    if not config.synonyms:
        return config
    first, *rest = config.synonyms
    fallback = changed(first, {"value": value, "source": INHERITED})
    return changed(config, {"synonyms": (first, fallback, *rest)})


class Outdated(Exception):
    """The catalog has changed under what was read of the broker: read it once more."""


def later(entry: TopicEntry | None, now: int) -> int:
    """When an entry changes, in milliseconds: later than the last time, whatever the clock says, so
    that two states of an entry are never equal."""
    return now if entry is None else max(now, entry.since + 1)


def settled(snapshot: Snapshot, entry: TopicEntry) -> TopicEntry | Removal:
    """An entry with nothing left to do: its removal when it says no more than its flat name."""
    if not entry.name.namespace and not entry.apply:
        entry = replace(entry, own_configs=())  # there is nothing to tell them from
    busy = entry.apply or entry.creating or entry.counted or entry.aliases or entry.own_configs
    if busy or entry.topic_id is not None or snapshot.spelled(entry.flat) != entry.name:
        return entry
    return Removal(("topic", entry.flat))


def own_of(snapshot: Snapshot, flat: str, dynamic: Mapping[str, str]) -> frozenset[str]:
    """The keys of a topic that are its own, given what is set on it at the broker.

    Besides those that the catalog has these are all that it does not inherit: what was set
    before there was a namespace, or at the broker itself. As long as what it inherits has yet to
    reach the broker this cannot be told, but then it was recorded before.
    """
    entry = snapshot.topics.get(flat)
    recorded = frozenset() if entry is None else frozenset(entry.own_configs)
    waits = pending(snapshot, flat)
    if waits is None:
        return recorded
    namespace = snapshot.owner(flat).namespace
    if not namespace:
        return frozenset(dynamic)
    values = inherited(snapshot, namespace)
    more = {k for k, v in dynamic.items() if k not in waits and values.get(k) != v}
    return recorded | more


def ground(
    snapshot: Snapshot, flat: str
) -> tuple[TopicEntry | None, LogicalName, tuple[Namespace | None, ...]]:
    """All that the catalog says of a topic's configs; where it is equal nothing has changed."""
    owner = snapshot.owner(flat)
    return snapshot.topics.get(flat), owner, tiers(snapshot, owner.namespace)


def tiers(snapshot: Snapshot, namespace: str) -> tuple[Namespace | None, ...]:
    """The namespace and those above it, as they are."""
    return tuple(snapshot.namespaces.get(tier) for tier in parents(namespace))
