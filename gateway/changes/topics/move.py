"""Moving a topic between namespaces: pure decisions on one catalog state.

KIP-37's move, and with it adopting a topic (a move into a namespace) and releasing it. A move is
one record: the topic's entry under its flat name, which stays. No record of the topic is copied.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from gateway.catalog.entities import Alias, Change, TopicEntry
from gateway.catalog.snapshot import Snapshot
from gateway.changes.base.refused import Refused
from gateway.changes.inheritance.inherited import Outdated, ground, later, own_of, settled
from gateway.error_codes import (
    INVALID_REQUEST,
    INVALID_TOPIC_EXCEPTION,
    TOPIC_ALREADY_EXISTS,
    UNKNOWN_TOPIC_OR_PARTITION,
)
from gateway.names import InvalidName, LogicalName, encode, is_reserved


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
            since=later(entry, known.now),
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
    since = later(entry, known.now)
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
