"""Plans how a topic of a CreateTopics request is stored at the broker and in the catalog. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final
from uuid import uuid4

from gateway.catalog.entities import Change, Link, Removal, TopicEntry
from gateway.catalog.snapshot import Snapshot
from gateway.changes.base.rejected import Rejected, reject_if, reserved_name
from gateway.changes.base.virtual_configs import is_virtual, reject_on_topic
from gateway.error_codes import INVALID_TOPIC_EXCEPTION, REQUEST_TIMED_OUT, TOPIC_ALREADY_EXISTS
from gateway.names import (
    MAX_FLAT_LENGTH,
    InvalidName,
    LogicalName,
    encode,
    is_reserved_name,
    may_be_captured,
)
from gateway.rules.access import check_creation, collision
from gateway.views.view import View
from protocol.pausing import eased, in_order

CREATION_TIME: Final = 120_000
"""Milliseconds after which the process that was about to create a topic counts as ended: longer
than all its waits together, from its listing on (``usage.LISTING_HOLDS``, a turn of the catalog's
writer, ``broker_admin.TURN_TIMEOUT`` and ``ASK_TIMEOUT``)."""


def is_left_over(entry: TopicEntry, now: int) -> bool:
    """Whether the process that wrote the entry has not settled it in time, or settled it so long
    ago that the topic need not be counted by its entry any more."""
    return (entry.creating or entry.counted > 0) and entry.since + CREATION_TIME <= now


_MARK_LENGTH: Final = 9  # a dot and eight hex digits


@dataclass(frozen=True, slots=True)
class Planned:
    """One topic to be created."""

    requested: Any
    """The topic's entry of the request."""
    name: LogicalName
    flat: str
    """The name under which the broker is to store it."""
    inherited: Mapping[str, tuple[str, str]]
    """The configs that it inherits: key to value and tier."""
    own: tuple[str, ...]
    """The config keys that the request sets."""
    entry: TopicEntry | None
    """The catalog's entry under the flat name: the reservation that has to be committed first if
    ``reserve`` is set, else the left-over entry of a topic that no longer exists, or None."""
    reserve: bool
    before: TopicEntry | None = None
    """The entry that ``entry`` replaces."""
    links: tuple[Link, ...] = ()
    """The links of a left-over entry."""
    resolved: tuple[int, int] | None = None
    """The numbers of partitions and replicas that the broker would give it; None: it is not subject
    to policies, and only policies need these numbers."""

    @property
    def spelled(self) -> str:
        """The topic's name as the client spells it."""
        return str(self.requested.name)

    @property
    def configs(self) -> dict[str, str | None]:
        """The configs that the broker is sent: the request's over the inherited configs."""
        inherited = {key: value for key, (value, _) in self.inherited.items()}
        return inherited | {each.name: each.value for each in eased(self.requested.configs)}

    @property
    def needs_check(self) -> bool:
        """Whether the catalog decides if the topic may exist."""
        return bool(self.name.namespace) or self.entry is not None

    @property
    def partitions(self) -> int:
        """The least number of partitions that the topic gets."""
        if self.resolved is not None:
            return self.resolved[0]
        return max(1, len(self.requested.assignments), int(self.requested.num_partitions))


def plan(view: View, topic: Any, now: int, exists: Callable[[str], bool]) -> Planned:
    """Decide how a topic of the request is stored, on the view's snapshot. ``now`` is in
    milliseconds. ``exists`` returns whether a flat name is taken at the broker. Raises
    :class:`Rejected`."""
    snapshot = view.snapshot
    for config in eased(topic.configs):
        if is_virtual(config.name):
            raise reject_on_topic(config.name)
    try:
        name = view.parse(topic.name)
        flat = snapshot.flat_of(name)
    except InvalidName as error:
        raise _invalid(f"{error}.") from None
    if is_reserved_name(name):
        raise reserved_name(topic.name)
    _check_link(snapshot, name, topic.name)
    if flat is not None or snapshot.missing_tier(name.namespace) is not None:
        reject_if(check_creation(view, topic.name))
    elif snapshot.captured_by(name) is not None:
        reject_if(collision(topic.name))
    inherited = snapshot.effective_configs(name.namespace)
    keys = {config.name for config in eased(topic.configs)} if name.namespace else ()
    own = tuple(in_order(keys))
    if flat is None:
        flat = fresh_flat(snapshot, name, exists)
        entry = TopicEntry(flat, name, own_configs=own, creating=True, since=now)
        return Planned(topic, name, flat, inherited, own, entry, reserve=True)
    held = snapshot.topics.get(flat)
    _check_held(topic.name, name, held, now)
    if not name.namespace and may_be_captured(flat):
        # A process that creates the namespace may have listed the cluster before this topic is
        # listed.
        entry = TopicEntry(flat, name, creating=True, since=now)
        planned = Planned(topic, name, flat, inherited, own, entry, reserve=True, before=held)
    else:
        planned = Planned(topic, name, flat, inherited, own, held, reserve=False)
    return replace(planned, links=tuple(snapshot.links[link] for link in snapshot.links_of(flat)))


def counting(planned: Planned, partitions: int, now: int) -> Planned:
    """The plan of a topic that limits count: its entry, by which it counts, is committed before the
    topic is created, under any flat name. ``now`` is in milliseconds."""
    if planned.reserve and planned.entry is not None:
        return replace(planned, entry=replace(planned.entry, counted=partitions))
    entry = TopicEntry(
        planned.flat,
        planned.name,
        own_configs=planned.own,
        creating=True,
        since=now,
        counted=partitions,
    )
    return replace(planned, entry=entry, reserve=True, before=planned.entry)


def fresh_flat(snapshot: Snapshot, name: LogicalName, exists: Callable[[str], bool]) -> str:
    """A flat name, unlike any existing name, for a topic whose natural flat name another topic has.

    Only the topic's entry records its logical name, and the flat name folds into no other
    namespace's names.
    """
    natural = encode(name)[: MAX_FLAT_LENGTH - _MARK_LENGTH].rstrip("._")
    for _ in range(100):
        flat = f"{natural or 'topic'}.{uuid4().hex[:8]}"
        captor = snapshot.folds_into(flat)
        taken = flat in snapshot.topics or exists(flat)
        if captor in (None, name.namespace) and not taken:
            return flat
        natural = natural if taken else ""
    raise AssertionError("no fresh name among a hundred random ones")


def reserved(snapshot: Snapshot, planned: Planned) -> Change:
    """The entry that reserves a flat name before the broker is sent the topic. Raises Rejected."""
    assert planned.entry is not None
    _check_tiers(snapshot, planned)
    _check_link(snapshot, planned.name, planned.spelled)
    if snapshot.entry_of(planned.name) != planned.before:
        raise Rejected(TOPIC_ALREADY_EXISTS, f"Topic '{planned.spelled}' already exists.")
    fresh = planned.before is None and snapshot.flat_of(planned.name) is None
    natural = snapshot.flat_of(planned.name) == planned.flat
    captured = natural and snapshot.captured_by(planned.name) is not None
    if captured or not (fresh or natural) or snapshot.topics.get(planned.flat) != planned.before:
        raise _changed(planned)
    return planned.entry


def settled(snapshot: Snapshot, planned: Planned, now: int) -> Change | None:
    """The change of the catalog for a topic that the broker has created, or None if it needs none.

    Raises :class:`Rejected` if the topic's namespace was deleted or another topic has got its name.
    Then the topic has to be deleted again.
    """
    held = snapshot.topics.get(planned.flat)
    moved = held is not None and held != planned.entry and held.name != planned.name
    if not moved:
        _check_tiers(snapshot, planned)
        there = snapshot.flat_of(planned.name)
        lost = held is None and planned.reserve and there is None
        ours = held is None or held == planned.entry
        captured = ours and snapshot.captured_by(planned.name) is not None
        if captured or (there != planned.flat and not lost):
            raise _changed(planned)
        if held is None and planned.reserve and planned.entry is not None and planned.entry.counted:
            # It took so long that the topic counts no more, and others may have taken its place in
            # the limit.
            message = f"It took too long to create topic '{planned.spelled}'; try again."
            raise Rejected(REQUEST_TIMED_OUT, message)
        if planned.resolved is not None and _is_stale(snapshot, planned):
            # Policies allowed the topic with the configs that it would have inherited before.
            message = f"What topic '{planned.spelled}' inherits has just changed; try again."
            raise Rejected(REQUEST_TIMED_OUT, message)
    wanted = _wanted(snapshot, planned, held, now)
    if wanted == held:
        return None
    return Removal(("topic", planned.flat)) if wanted is None else wanted


def dangling(snapshot: Snapshot, planned: Planned) -> Iterator[Change]:
    """The changes after which links to the former topic of this flat name do not lead to the topic
    that the broker has created."""
    for link in planned.links:
        if snapshot.links.get(link.name) == link and not link.gone:
            yield replace(link, gone=str(planned.name))


def _wanted(
    snapshot: Snapshot, planned: Planned, held: TopicEntry | None, now: int
) -> TopicEntry | None:
    if held is not None and held != planned.entry:
        # The new topic was changed already, or housekeeping has ended its creation.
        own = tuple(sorted({*held.own_configs, *planned.own}))
        return replace(held, own_configs=own, creating=False)
    # Changes of a namespace's configs meanwhile have not been applied to the topic.
    stale = _is_stale(snapshot, planned)
    counted = planned.entry.counted if planned.entry is not None and planned.reserve else 0
    if not planned.name.namespace and may_be_captured(planned.flat):
        # The topic must block the creation of a namespace with its prefix until every listing has
        # it.
        counted = max(counted, planned.partitions)
    needed = planned.own or stale or counted or snapshot.links_of(planned.flat)
    if not (needed or planned.flat != encode(planned.name)):
        return None
    return TopicEntry(
        planned.flat,
        planned.name,
        own_configs=planned.own,
        apply=stale,
        since=now if held is None else max(now, held.since + (not planned.reserve)),
        counted=counted,
    )


def _is_stale(snapshot: Snapshot, planned: Planned) -> bool:
    return snapshot.effective_configs(planned.name.namespace) != planned.inherited


def _check_link(snapshot: Snapshot, name: LogicalName, spelled: str) -> None:
    link = snapshot.links.get(name)
    if link is not None:
        state = " to a topic that was deleted; delete the link first" if link.gone else ""
        message = f"Topic '{spelled}' already exists: it is a link{state}."
        raise Rejected(TOPIC_ALREADY_EXISTS, message)


def _check_held(spelled: str, name: LogicalName, held: TopicEntry | None, now: int) -> None:
    if held is None:
        return
    if held.name != name:
        message = (
            f"Topic '{spelled}' already exists: it is a former name of a topic that was moved."
        )
        raise Rejected(TOPIC_ALREADY_EXISTS, message)
    if held.creating and not is_left_over(held, now):
        raise Rejected(TOPIC_ALREADY_EXISTS, f"Topic '{spelled}' is being created.")


def _check_tiers(snapshot: Snapshot, planned: Planned) -> None:
    missing = snapshot.missing_tier(planned.name.namespace)
    if missing is not None:
        raise _invalid(
            f"InvalidNamespaceException: namespace '{missing}' has been deleted, "
            f"so topic '{planned.spelled}' cannot be created."
        )


def _changed(planned: Planned) -> Rejected:
    message = f"The name of topic '{planned.spelled}' has changed hands in the meantime; try again."
    return Rejected(REQUEST_TIMED_OUT, message)


def _invalid(message: str) -> Rejected:
    return Rejected(INVALID_TOPIC_EXCEPTION, message)
