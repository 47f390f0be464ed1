"""Moves of topics between namespaces (KIP-37): pure decisions on one catalog state.

Adopting a topic is a move into a namespace. A move is one record of the catalog: the topic's entry
under its flat name, which stays. No record of the topic is copied.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from gateway.catalog.entities import Alias, Removal, TopicEntry
from gateway.catalog.snapshot import Snapshot
from gateway.changes.base.context import Outdated
from gateway.changes.base.inherited import ground, later, own_of, settled
from gateway.changes.base.rejected import Rejected, reserved_name
from gateway.error_codes import (
    INVALID_REQUEST,
    INVALID_TOPIC_EXCEPTION,
    TOPIC_ALREADY_EXISTS,
    UNKNOWN_TOPIC_OR_PARTITION,
)
from gateway.mirror_maker import DEFAULT
from gateway.names import InvalidName, LogicalName, encode, is_reserved_name


@dataclass(frozen=True, slots=True)
class Source:
    """A topic that is to be moved."""

    flat: str
    dynamic: Mapping[str, str]
    """The configs set on it at the broker, read after the catalog was ``seen``."""
    seen: Snapshot
    exists: Callable[[str], bool]
    """Returns whether the broker has a topic of a flat name."""
    now: int
    """Milliseconds since the epoch."""


def move(
    snapshot: Snapshot,
    source: Source,
    target: LogicalName,
    topic_id: bytes,
    alias_until: int | None = None,
) -> TopicEntry | None:
    """The record that gives the topic the name ``target``; None if the topic has the name already.

    The topic gets the virtual ``topic_id`` (16 bytes, never used before), unless ``target`` is an
    alias of it that still works: a name that has worked all along keeps its id. Its former name
    works until ``alias_until``; None: not at all. Raises :class:`Rejected` if the topic cannot have
    the name, and :class:`Outdated`.
    """
    flat, now = source.flat, source.now
    present, entry = snapshot.owner(flat), snapshot.topics.get(flat)
    if present == target:
        return None
    _check_exists(snapshot, source)
    _check_mirror_maker(present, target)
    check_target(snapshot, flat, target, source.exists)
    own = _own_configs(snapshot, source)
    working = [] if entry is None else [alias for alias in entry.aliases if alias.until > now]
    aliases = [alias for alias in working if alias.name != target]
    if alias_until is not None:
        aliases.append(Alias(present, alias_until, None if entry is None else entry.topic_id))
    return TopicEntry(
        flat,
        target,
        topic_id=next((a.topic_id for a in working if a.name == target), topic_id),
        aliases=tuple(aliases),
        own_configs=own,
        apply=True,
        since=later(entry, now),
        # Partitions may be being created, in whichever namespace the topic is.
        counted=0 if entry is None else entry.counted,
    )


def release(snapshot: Snapshot, source: Source) -> TopicEntry | Removal | None:
    """The record that gives a topic its flat name in the default namespace back; None if it has
    that name already.

    There the topic has the broker's own id. Its entry is removed once its inherited configs are
    removed and its aliases, which work until then, have expired. Raises as :func:`move` does.
    """
    flat, now = source.flat, source.now
    present, entry = snapshot.owner(flat), snapshot.topics.get(flat)
    target = LogicalName("", flat)
    if entry is None and not present.namespace:
        return None
    _check_exists(snapshot, source)
    captor = snapshot.folds_into(flat) or snapshot.spelled(flat).namespace
    if captor:
        raise Rejected(
            INVALID_REQUEST,
            f"Topic '{present}' is stored under a name of namespace '{captor}', so it cannot be"
            " released; move it to the namespace and name that it shall have.",
        )
    _check_free(snapshot, flat, target, source.exists)
    # Two names with one topic id confuse clients, and the flat name has the broker's id now.
    aliases = tuple(
        alias
        for alias in (() if entry is None else entry.aliases)
        if alias.until > now and alias.name != target and alias.topic_id is not None
    )
    released = TopicEntry(
        flat,
        target,
        aliases=aliases,
        own_configs=_own_configs(snapshot, source),
        apply=True,
        since=later(entry, now),
        counted=0 if entry is None else entry.counted,
    )
    if entry is not None and replace(released, apply=entry.apply, since=entry.since) == entry:
        return None
    if present.namespace or (entry is not None and entry.apply):
        return released
    return settled(snapshot, replace(released, apply=False))


def check_target(
    snapshot: Snapshot, flat: str, target: LogicalName, exists: Callable[[str], bool]
) -> None:
    """Raise :class:`Rejected` unless the topic stored as ``flat`` may have that logical name."""
    missing = snapshot.missing_tier(target.namespace)
    if missing is not None:
        state = "is being deleted" if missing in snapshot.namespaces else "does not exist"
        raise Rejected(
            INVALID_TOPIC_EXCEPTION,
            f"InvalidNamespaceException: namespace '{missing}' {state}, so nothing can be moved"
            " into it.",
        )
    check_name(snapshot, flat, target, exists)


def check_name(
    snapshot: Snapshot, flat: str, target: LogicalName, exists: Callable[[str], bool]
) -> None:
    """Raise :class:`Rejected` unless a topic stored as ``flat``, or a link (``""``), may have that
    name in its namespace."""
    try:
        natural = encode(target)
    except InvalidName as error:
        raise Rejected(INVALID_TOPIC_EXCEPTION, f"{error}.", "names") from None
    if is_reserved_name(target):
        raise reserved_name(str(target))
    captor = snapshot.captured_by(target)
    if captor is None and not target.namespace:
        captor = snapshot.spelled(natural).namespace or None
    if captor is not None:
        raise Rejected(
            INVALID_TOPIC_EXCEPTION,
            f"Topic '{target}' would collide with names of a namespace, since Kafka does not tell"
            " '.' from '_'.",
            "collision",
        )
    _check_free(snapshot, flat, target, exists)


def _check_exists(snapshot: Snapshot, source: Source) -> None:
    entry = snapshot.topics.get(source.flat)
    if not source.exists(source.flat) or (entry is not None and entry.creating):
        message = f"Topic '{snapshot.owner(source.flat)}' does not exist."
        raise Rejected(UNKNOWN_TOPIC_OR_PARTITION, message)


def _check_mirror_maker(present: LogicalName, target: LogicalName) -> None:
    """Raise :class:`Rejected` if MirrorMaker's own topic (KIP-1074) would be adopted."""
    adopted = target.namespace and not present.namespace
    if adopted and DEFAULT.is_mm2_internal_topic(present.topic):
        raise Rejected(
            INVALID_REQUEST,
            f"Topic '{present}' is MirrorMaker's own, so it cannot be adopted: MirrorMaker would"
            " not find it again. Let MirrorMaker connect to a listener whose home is the namespace:"
            " it creates its topics there.",
        )


def _check_free(
    snapshot: Snapshot, flat: str, target: LogicalName, exists: Callable[[str], bool]
) -> None:
    if target in snapshot.links:
        raise Rejected(TOPIC_ALREADY_EXISTS, f"Topic '{target}' already exists: it is a link.")
    holder = snapshot.entry_of(target)
    natural = encode(target)
    # The broker may have the natural flat name although it belongs to another topic, by its entry.
    by_nature = natural != flat and natural not in snapshot.topics and exists(natural)
    if (holder is not None and holder.flat != flat) or (holder is None and by_nature):
        raise Rejected(TOPIC_ALREADY_EXISTS, f"Topic '{target}' already exists.")


def _own_configs(snapshot: Snapshot, source: Source) -> tuple[str, ...]:
    if ground(snapshot, source.flat) != ground(source.seen, source.flat):
        raise Outdated
    return tuple(sorted(own_of(snapshot, source.flat, source.dynamic)))
