"""The own and the inherited configs of topics and namespaces (KIP-37: Namespace Configs). Pure.

The broker holds both as configs of the topic; the catalog records which keys are the topic's own.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from gateway.catalog.entities import Change, Namespace, Removal, TopicEntry, key_of
from gateway.catalog.snapshot import Snapshot
from gateway.changes.base.config_values import is_same_value
from gateway.changes.base.rejected import Rejected
from gateway.changes.base.resources import (
    APPEND,
    DELETE,
    INHERITED,
    LIST_TYPE,
    OWN,
    SET,
    SUBTRACT,
    Operation,
)
from gateway.changes.base.virtual_configs import is_virtual, reject_on_namespace
from gateway.error_codes import INVALID_CONFIG, INVALID_REQUEST
from gateway.names import LogicalName, parents
from protocol.messages import changed
from protocol.pausing import eased

Ground = tuple[TopicEntry | None, LogicalName, tuple[Namespace | None, ...]]


def inherited(snapshot: Snapshot, namespace: str) -> dict[str, str]:
    """The values that a topic in ``namespace`` inherits, by key."""
    return {key: value for key, (value, _) in snapshot.effective_configs(namespace).items()}


def own_configs(snapshot: Snapshot, flat: str) -> frozenset[str]:
    """The keys that are known to be the topic's own."""
    entry = snapshot.topics.get(flat)
    return frozenset() if entry is None else frozenset(entry.own_configs)


def differs(snapshot: Snapshot, flat: str, namespace: str) -> bool:
    """Whether a topic would inherit other values in ``namespace`` than in its present namespace."""
    own = own_configs(snapshot, flat)
    here, there = (inherited(snapshot, one) for one in (snapshot.owner(flat).namespace, namespace))
    return any(here.get(key) != there.get(key) for key in (here.keys() | there.keys()) - own)


def pending(snapshot: Snapshot, flat: str) -> Collection[str] | None:
    """The keys for which the broker may not hold the inherited value yet; None: any key."""
    entry = snapshot.topics.get(flat)
    if entry is not None and entry.apply:
        return None
    above = tiers(snapshot, snapshot.owner(flat).namespace)
    return {key for namespace in above if namespace is not None for key in namespace.apply}


def own_of(snapshot: Snapshot, flat: str, dynamic: Mapping[str, str]) -> frozenset[str]:
    """The keys that are the topic's own, given the configs set on it at the broker (``dynamic``).

    They are the keys that the catalog records, and all keys whose value the topic does not inherit:
    these were set before there was a namespace, or directly at the broker. While an inherited value
    has yet to reach the broker, a key cannot be told this way; but then the catalog recorded it
    before.
    """
    recorded = own_configs(snapshot, flat)
    waits = pending(snapshot, flat)
    if waits is None:
        return recorded
    namespace = snapshot.owner(flat).namespace
    if not namespace:
        return frozenset(dynamic)
    values = inherited(snapshot, namespace)
    return recorded | {
        key
        for key, value in dynamic.items()
        if key not in waits and not is_same_value(values.get(key), value)
    }


def topics_in(snapshot: Snapshot, flats: Iterable[bytes], namespace: str) -> list[str]:
    """The flat names of topics in or below ``namespace``, sorted."""
    prefix = namespace + ":"
    owners = ((flat.decode(), snapshot.owner(flat.decode()).namespace) for flat in flats)
    return sorted(f for f, owner in owners if owner == namespace or owner.startswith(prefix))


def tiers(snapshot: Snapshot, namespace: str) -> tuple[Namespace | None, ...]:
    """The entries of the namespace and of those above it; None for a namespace that does not
    exist."""
    return tuple(snapshot.namespaces.get(tier) for tier in parents(namespace))


def ground(snapshot: Snapshot, flat: str) -> Ground:
    """The catalog's part in a topic's configs; while it is equal, nothing has changed."""
    owner = snapshot.owner(flat)
    return snapshot.topics.get(flat), owner, tiers(snapshot, owner.namespace)


# -- catalog entries -------------------------------------------------------------------------------


def entry_for(snapshot: Snapshot, flat: str, now: int) -> TopicEntry:
    """The topic's entry, or a new entry that holds only the name in its flat name."""
    return snapshot.topics.get(flat) or TopicEntry(flat, snapshot.owner(flat), since=now)


def later(entry: TopicEntry | None, now: int) -> int:
    """The time of an entry's change, in milliseconds: always later than its last change, whatever
    the clock shows, so two states of an entry are never equal."""
    return now if entry is None else max(now, entry.since + 1)


def settled(snapshot: Snapshot, entry: TopicEntry) -> TopicEntry | Removal:
    """An entry with nothing left to do; its removal if it holds only the name in its flat name."""
    if not entry.name.namespace and not entry.apply:
        entry = replace(entry, own_configs=())  # there is nothing to tell them from
    busy = entry.apply or entry.creating or entry.counted or entry.aliases or entry.own_configs
    if busy or entry.topic_id is not None or snapshot.spelled(entry.flat) != entry.name:
        return entry
    if snapshot.links_of(entry.flat):
        return entry  # the links lead to the topic by its entry
    return Removal(("topic", entry.flat))


def removed_topic(snapshot: Snapshot, entry: TopicEntry) -> list[Change]:
    """The changes for a topic that was deleted: its entry is removed, and its links dangle, because
    a new topic of the same name is not the topic that was shared."""
    links = (snapshot.links[name] for name in snapshot.links_of(entry.flat))
    dangling = (replace(link, gone=str(entry.name)) for link in links)
    return [*dangling, Removal(key_of(entry))]


# -- operations on configs -------------------------------------------------------------------------


def alter_configs(
    own: Mapping[str, str],
    operations: Sequence[Operation],
    above: Mapping[str, str],
    defaults: Mapping[str, tuple[str, int]],
) -> dict[str, str]:
    """The own configs of a topic or namespace after ``operations`` (IncrementalAlterConfigs).

    ``above``: the configs that it inherits. ``defaults``: the cluster's (value, config type) by
    key. If it does not set a key, APPEND and SUBTRACT start from the inherited value or the
    default, as at a broker for topics. The broker validates keys and values. Raises
    :class:`Rejected`.
    """
    new = dict(own)
    seen: set[str] = set()
    for one in eased(operations):
        if is_virtual(one.key):
            raise reject_on_namespace(one.key)
        if one.key in seen:
            raise Rejected(INVALID_REQUEST, f"Config key '{one.key}' is in the request twice.")
        seen.add(one.key)
        if one.operation == DELETE:
            new.pop(one.key, None)
        elif one.value is None:
            raise Rejected(INVALID_REQUEST, f"Config '{one.key}' has no value.")
        elif one.operation == SET:
            new[one.key] = one.value
        elif one.operation not in (APPEND, SUBTRACT):
            message = f"Operation {one.operation} on config '{one.key}' is none of Kafka's."
            raise Rejected(INVALID_REQUEST, message)
        else:
            default, config_type = defaults.get(one.key, ("", LIST_TYPE))
            if config_type != LIST_TYPE:
                message = f"Config '{one.key}' is no list, so nothing is added to it or taken off."
                raise Rejected(INVALID_CONFIG, message)
            new[one.key] = _alter_list(new.get(one.key, above.get(one.key, default)), one)
    return new


def _alter_list(present: str, one: Operation) -> str:
    items = [item.strip() for item in present.split(",") if item.strip()]
    named = [item.strip() for item in (one.value or "").split(",") if item.strip()]
    if one.operation == SUBTRACT:
        return ",".join(item for item in items if item not in named)
    return ",".join([*items, *(item for item in named if item not in items)])


# -- how responses show configs --------------------------------------------------------------------


def adjust_created(
    response_topic: Any, own: Collection[str], inherited: Mapping[str, tuple[str, str]]
) -> Any:
    """A topic of a CreateTopics response whose inherited configs have INHERITED as their source.

    ``own``: the keys that the request set. ``inherited``: ``Snapshot.effective_configs``. Versions
    before 5 have no configs, so the topic is returned as it is.
    """
    configs = getattr(response_topic, "configs", None)
    if not configs:
        return response_topic

    def adjusted(config: Any) -> Any:
        found = inherited.get(config.name)
        if config.name in own or found is None or not is_same_value(found[0], config.value):
            return config
        return changed(config, {"config_source": INHERITED})

    return changed(response_topic, {"configs": tuple(map(adjusted, configs))})


def adjust_described(
    configs: Sequence[Any],
    own: Collection[str],
    inherited: Mapping[str, str],
    unsettled: Collection[str] | None = (),
) -> tuple[Any, ...]:
    """The configs of a DescribeConfigs result; inherited configs have INHERITED as their source.

    ``unsettled``: the keys of :func:`pending`. Any value that the broker holds for such a key was
    inherited, unless the key is the topic's own.
    """

    def adjusted(config: Any) -> Any:
        if config.config_source != OWN:
            return config
        value = inherited.get(config.name)
        if config.name not in own:
            waits = unsettled is None or config.name in unsettled
            if waits or (value is not None and is_same_value(value, config.value)):
                synonyms = (
                    changed(each, {"source": INHERITED}) if each.source == OWN else each
                    for each in config.synonyms
                )
                return changed(config, {"config_source": INHERITED, "synonyms": tuple(synonyms)})
        if value is None or not config.synonyms:
            return config
        # The next synonym is the value to which the config would fall back.
        first, *rest = config.synonyms
        fallback = changed(first, {"value": value, "source": INHERITED})
        return changed(config, {"synonyms": (first, fallback, *rest)})

    return tuple(map(adjusted, configs))
