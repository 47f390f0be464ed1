"""Moving a topic between namespaces: pure decisions on one catalog state.

KIP-37's move, and with it adopting a topic (a move into a namespace) and releasing it. A move is
one record: the topic's entry under its flat name, which stays. No record of the topic is copied.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from gateway.catalog.entities import Alias, Change, Namespace, Removal, TopicEntry
from gateway.catalog.snapshot import Snapshot
from gateway.changes.refused import Refused
from gateway.changes.topic_configs import inherited, pending
from gateway.error_codes import (
    INVALID_REQUEST,
    INVALID_TOPIC_EXCEPTION,
    TOPIC_ALREADY_EXISTS,
    UNKNOWN_TOPIC_OR_PARTITION,
)
from gateway.names import InvalidName, LogicalName, encode, is_reserved, parents


class Outdated(Exception):
    """The catalog has changed under what was read of the broker: read it once more."""


@dataclass(frozen=True, slots=True)
class Known:
    """What is known of a topic outside of the catalog.

    ``dynamic`` is what is set on it at the broker, read after the catalog was ``seen``.
    ``exists`` tells whether the broker has a topic of a flat name. ``now`` is in milliseconds
    since the epoch.
    """

    dynamic: Mapping[str, str]
    seen: Snapshot
    exists: Callable[[str], bool]
    now: int


@dataclass(frozen=True, slots=True)
class Target:
    """Where a topic goes: ``topic_id`` is the virtual one (16 bytes, never used before) that it
    is known by there, unless the name is an alias of its that still works. Until ``alias_until``
    its former name works, too; None: not at all."""

    name: LogicalName
    topic_id: bytes
    alias_until: int | None = None


def move(snapshot: Snapshot, flat: str, target: Target, known: Known) -> list[Change]:
    """The one record that moves the topic stored as ``flat``; none where it is there already.

    Raises :class:`Refused` when it cannot be there, and :class:`Outdated`.
    """
    present, entry = snapshot.owner(flat), snapshot.topics.get(flat)
    if present == target.name:
        return []
    _check_exists(snapshot, flat, known)
    check_target(snapshot, flat, target.name, known.exists)
    own = _own_at_last(snapshot, flat, known)
    aliases = _aliases(entry, target.name, known.now)
    if target.alias_until is not None:
        former_id = None if entry is None else entry.topic_id
        aliases = (*aliases, Alias(present, target.alias_until, former_id))
    return [
        TopicEntry(
            flat,
            target.name,
            topic_id=_topic_id(entry, target, known.now),
            aliases=aliases,
            own_configs=own,
            apply=True,
            since=_since(entry, known.now),
            counted=_counted(entry),
        )
    ]


def release(snapshot: Snapshot, flat: str, known: Known) -> list[Change]:
    """The record that gives a topic back to its flat name in the default namespace.

    It is known by the broker's own id there. Its entry goes once what it inherited is taken off,
    and its aliases, which work until then, have expired. Raises as :func:`move` does.
    """
    present, entry = snapshot.owner(flat), snapshot.topics.get(flat)
    target = LogicalName("", flat)
    if entry is None and not present.namespace:
        return []
    _check_exists(snapshot, flat, known)
    captor = snapshot.folds_into(flat) or snapshot.spelled(flat).namespace
    if captor:
        raise Refused(
            INVALID_REQUEST,
            f"Topic '{present}' is stored under a name of namespace '{captor}', so it cannot be"
            " released; move it to the namespace and name that it shall have.",
        )
    _check_free(snapshot, flat, target, known.exists)
    own = _own_at_last(snapshot, flat, known)
    # Two names with one topic id confuse clients: the broker's goes with the flat name now.
    aliases = tuple(a for a in _aliases(entry, target, known.now) if a.topic_id is not None)
    since = _since(entry, known.now)
    released = TopicEntry(
        flat,
        target,
        aliases=aliases,
        own_configs=own,
        apply=True,
        since=since,
        counted=_counted(entry),
    )
    inherits = present.namespace or (entry is not None and entry.apply)
    change = released if inherits else settled(snapshot, replace(released, apply=False))
    same = entry is not None and replace(released, apply=entry.apply, since=entry.since) == entry
    return [] if same else [change]


def check_target(
    snapshot: Snapshot, flat: str, target: LogicalName, exists: Callable[[str], bool]
) -> None:
    """Raise :class:`Refused` unless the topic stored as ``flat`` may have that logical name."""
    missing = snapshot.missing_tier(target.namespace)
    if missing is not None:
        state = "is being deleted" if missing in snapshot.namespaces else "does not exist"
        raise Refused(
            INVALID_TOPIC_EXCEPTION,
            f"InvalidNamespaceException: namespace '{missing}' {state}, so nothing can be moved"
            " into it.",
        )
    try:
        natural = encode(target)
    except InvalidName as error:
        raise Refused(INVALID_TOPIC_EXCEPTION, f"{error}.", "names") from None
    if is_reserved(natural):
        message = f"Topic name '{target}' is reserved."
        raise Refused(INVALID_TOPIC_EXCEPTION, message, "reserved")
    captor = snapshot.captured_by(target)
    if captor is None and not target.namespace:
        captor = snapshot.spelled(natural).namespace or None
    if captor is not None:
        raise Refused(
            INVALID_TOPIC_EXCEPTION,
            f"Topic '{target}' would collide with names of a namespace, since Kafka does not tell"
            " '.' from '_'.",
            "collision",
        )
    _check_free(snapshot, flat, target, exists)


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


def _check_exists(snapshot: Snapshot, flat: str, known: Known) -> None:
    entry = snapshot.topics.get(flat)
    if not known.exists(flat) or (entry is not None and entry.creating):
        message = f"Topic '{snapshot.owner(flat)}' does not exist."
        raise Refused(UNKNOWN_TOPIC_OR_PARTITION, message)


def _check_free(
    snapshot: Snapshot, flat: str, target: LogicalName, exists: Callable[[str], bool]
) -> None:
    holder = snapshot.entry_of(target)
    natural = encode(target)
    # The natural flat name may be there and yet be another topic's, under an entry.
    by_nature = natural != flat and natural not in snapshot.topics and exists(natural)
    if (holder is not None and holder.flat != flat) or (holder is None and by_nature):
        raise Refused(TOPIC_ALREADY_EXISTS, f"Topic '{target}' already exists.")


def _own_at_last(snapshot: Snapshot, flat: str, known: Known) -> tuple[str, ...]:
    if ground(snapshot, flat) != ground(known.seen, flat):
        raise Outdated
    return tuple(sorted(own_of(snapshot, flat, known.dynamic)))


def _topic_id(entry: TopicEntry | None, target: Target, now: int) -> bytes | None:
    """A fresh one; but a name that has worked all along, as an alias, keeps the id it has."""
    for alias in () if entry is None else entry.aliases:
        if alias.name == target.name and alias.until > now:
            return alias.topic_id
    return target.topic_id


def _aliases(entry: TopicEntry | None, name: LogicalName, now: int) -> tuple[Alias, ...]:
    former = () if entry is None else entry.aliases
    return tuple(alias for alias in former if alias.until > now and alias.name != name)


def _counted(entry: TopicEntry | None) -> int:
    """Partitions may be on their way, wherever the topic is."""
    return 0 if entry is None else entry.counted


def _since(entry: TopicEntry | None, now: int) -> int:
    """Later than before, whatever the clock says: two states of an entry are never equal."""
    return now if entry is None else max(now, entry.since + 1)
