"""A topic is moved, adopted or released as a client requests it (KIP-37): decided by move.py,
judged by the policies of its new namespace, committed, and applied.

A move that was committed is checked once more and, if need be, rolled back, because two changes at
the same time, each of which is allowed, can have a result that is not.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace
from uuid import uuid4

from gateway.acl_model import Resource, ResourceType
from gateway.catalog.entities import Change, Removal, TopicEntry
from gateway.catalog.freezes import names_of
from gateway.catalog.snapshot import Snapshot
from gateway.catalog.source import Decide
from gateway.changes.acls.acl_moves import Carried, carried
from gateway.changes.acls.name_changes import NameChange
from gateway.changes.base import admin_rights
from gateway.changes.base.broker import read_dynamic
from gateway.changes.base.catalog_limits import CatalogLimits
from gateway.changes.base.context import Context, Outdated, decide_until_current
from gateway.changes.base.inherited import differs, inherited, later, tiers
from gateway.changes.base.rejected import Rejected, reject_if, shown_topic
from gateway.changes.base.resources import moved_out
from gateway.changes.base.topic_policies import (
    Arrival,
    check_arrivals,
    check_counted_limits,
    read_facts,
)
from gateway.changes.base.virtual_configs import Move, Release
from gateway.changes.namespaces.namespace_configs import apply_topic, within_patience
from gateway.changes.topics.move import Source, move, release
from gateway.decision import Denied
from gateway.error_codes import (
    INVALID_REQUEST,
    INVALID_TOPIC_EXCEPTION,
    TOPIC_ALREADY_EXISTS,
    UNKNOWN_TOPIC_OR_PARTITION,
)
from gateway.names import InvalidName, LogicalName, encode
from gateway.views.access import DESCRIBE, Access, link_sentence
from gateway.views.view import View

log = logging.getLogger(__name__)


async def move_topic(
    context: Context,
    access: Access,
    name: str,
    wanted: Move | Release,
    validate_only: bool = False,
) -> None:
    """Move, adopt or release one topic, which the client calls ``name``. Returns when that is done,
    except for configs that take long to apply.

    If an earlier request has moved the topic already, nothing is changed. Raises :class:`Rejected`
    and OSError.
    """
    topic_id = uuid4().bytes

    async def attempt() -> str | None:
        listed = context.clock()
        await context.cluster.refresh()
        seen = context.catalog.snapshot
        limits = CatalogLimits(context, access)
        one = _Attempt(context, access, name, wanted, topic_id, seen, listed, limits)
        return await one.run(validate_only)

    flat = await decide_until_current(context, attempt, f"Topic '{name}'")
    if flat is not None:
        await within_patience(apply_topic(context, flat))


@dataclass(slots=True)
class _Attempt:
    """One attempt to move a topic, and its last decision."""

    context: Context
    access: Access
    name: str
    wanted: Move | Release
    topic_id: bytes
    """The virtual id that the topic gets."""
    seen: Snapshot
    """The catalog on which the attempt is decided."""
    listed: int
    """When the cluster was listed, before ``seen``, in milliseconds since the epoch."""
    limits: CatalogLimits
    record: Change | None = None
    """The change of the topic's entry by the last decision; None if nothing is to change."""
    new_name: LogicalName | None = None
    """The topic's name by the last decision."""
    acls: Carried | None = None
    """The ACLs that the topic takes along."""

    async def run(self, validate_only: bool) -> str | None:
        """The flat name of the topic that was moved, or None if it had the name already or was only
        validated. Raises Outdated if the catalog changes meanwhile."""
        context, seen = self.context, self.seen
        flat = self._flat(seen)
        if flat is None:
            return None
        dynamic = (await read_dynamic(context, [flat])).get(flat)
        if dynamic is None:
            raise Rejected(UNKNOWN_TOPIC_OR_PARTITION, f"Topic '{self.name}' does not exist.")
        index = context.cluster.index
        source = Source(
            flat, dynamic, seen, lambda stored: index.exists(stored.encode()), context.clock()
        )
        arrival = None
        if context.judge.policies.judges:
            arrival = await self._judge(source)

        def decide(newest: Snapshot) -> Sequence[Change]:
            return self._decide(newest, source, arrival)

        decide(seen)  # before the freeze, so no name is frozen for a move that is rejected
        if validate_only:
            return None
        if self.record is not None:
            await self._commit(flat, decide)
        await self._check_twin(source)
        if arrival is not None:
            await self._judge_again(source, arrival)
        return flat

    async def _commit(self, flat: str, decide: Decide) -> None:
        """Commit the change as soon as no request is in progress for a name that the topic loses. A
        name that stays as an alias leads to the same topic, so it is not frozen. Raises
        :class:`Rejected`, Outdated and OSError."""
        context, access = self.context, self.access
        lost = self._lost(self.seen, flat)
        tells = access.cluster(DESCRIBE) is None
        holding = context.freezer.hold(
            f"Topic '{self.name}'", lost, forced=self.wanted.forced, tells=tells
        )

        def decide_frozen(newest: Snapshot) -> Sequence[Change]:
            changes = decide(newest)
            if not lost.issuperset(self._lost(newest, flat)):
                raise Outdated
            return hold.ended(newest, changes, names_of(newest, flat))

        async with holding as hold:
            await context.catalog.change(decide_frozen)

    def _lost(self, before: Snapshot, flat: str) -> set[LogicalName]:
        """The names that lead to the topic ``before`` the last decision, and no longer after it."""
        if self.new_name is None:
            return set()
        kept = self.record.names if isinstance(self.record, TopicEntry) else (self.new_name,)
        return {*names_of(before, flat, links=False)} - {*kept}

    # -- decisions ---------------------------------------------------------------------------------

    def _decide(
        self, newest: Snapshot, source: Source, arrival: Arrival | None = None
    ) -> list[Change]:
        """The changes that move the topic and its ACLs; empty if it has the name already."""
        self.new_name = self.acls = None
        self.record = record = self._record(newest, source)
        if record is None:
            return []
        name = record.name if isinstance(record, TopicEntry) else newest.spelled(source.flat)
        if arrival is not None:
            self.record = record = self._limited(newest, arrival, record, name)
        self.new_name, self.acls = name, self._carried(newest, newest.owner(source.flat), name)
        changes = [record] if self.acls is None else self.acls.around([record])
        shown = f"topic '{shown_topic(self.access.view, name)}'"
        reject_if(self.limits.why_not(newest, changes, shown, str(name)))
        return changes

    def _record(self, newest: Snapshot, source: Source) -> Change | None:
        flat = self._flat(newest)
        if flat is None:
            return None
        if flat != source.flat:
            raise Outdated
        if isinstance(self.wanted, Release):
            settings = self.access.view.settings
            if settings.home and not settings.escape:
                raise Rejected(
                    INVALID_REQUEST,
                    f"Releasing topic '{self.name}' would take it out of namespace"
                    f" '{settings.home}' of this listener.",
                )
            self._check_rights(newest, flat, newest.spelled(flat))
            return release(newest, source)
        name = self._target(self.wanted, newest, newest.owner(flat))
        self._check_rights(newest, flat, name)
        return move(newest, source, name, self.topic_id, self.wanted.alias_until)

    def _check_rights(self, newest: Snapshot, flat: str, target: LogicalName) -> None:
        """Raise :class:`Rejected` unless the client may move the topic from its present
        namespace."""
        access, name = self.access.on(newest), self.name.encode()
        topic = access.topic_resource(name)
        if topic is None or not access.authorizes:
            return
        goes_to = Resource(ResourceType.TOPIC, target.namespace, target.topic)
        reject_if(admin_rights.move(access, name, topic, goes_to))
        change = NameChange(access, LogicalName(topic.namespace, topic.name), target)
        new = shown_topic(access.view, target)
        reject_if(change.why_not(self.name, new, newest.links_of(flat)))
        if differs(newest, flat, target.namespace):
            reject_if(change.configs_why_not(self.name, new))

    def _carried(self, newest: Snapshot, former: LogicalName, name: LogicalName) -> Carried | None:
        """The ACLs that the topic takes along to its new name. Raises :class:`Rejected`."""
        access = self.access.on(newest)
        goes = NameChange(access, former, name).carries_acls()
        return carried(newest, former, name) if goes else None

    def _flat(self, snapshot: Snapshot) -> str | None:
        """The flat name of the topic; None if it was moved already.

        Raises :class:`Rejected` if the topic does not exist, is a link, or is outside of the
        client's view.
        """
        view = View(self.access.view.settings, snapshot)
        found = view.resolve(self.name.encode())
        if isinstance(found, Denied) or not self.context.cluster.index.exists(found.flat):
            if self._is_adopted(view):
                return None
            missing = f"Topic '{self.name}' does not exist."
            text = found.message if isinstance(found, Denied) else missing
            raise Rejected(UNKNOWN_TOPIC_OR_PARTITION, text)
        if found.link:
            # The link was created after the request was read; rights to a link move no topic.
            raise Rejected(INVALID_REQUEST, link_sentence(self.name), "link")
        flat = found.flat.decode()
        reject_if(moved_out(view, self.name, flat))
        return flat

    def _is_adopted(self, view: View) -> bool:
        """Whether the topic whose flat name is this name has its new name already."""
        if isinstance(self.wanted, Release):
            return False
        try:
            former = view.parse(self.name)
            entry = view.snapshot.topics.get(encode(former))
        except InvalidName:
            return False
        target = self._target(self.wanted, view.snapshot, former)
        return entry is not None and entry.name == target

    def _target(self, wanted: Move, snapshot: Snapshot, present: LogicalName) -> LogicalName:
        """The topic's new logical name. Raises :class:`Rejected` if it is outside of the view."""
        view = View(self.access.view.settings, snapshot)
        topic = present.topic if wanted.topic is None else wanted.topic
        settings = view.settings
        if view.is_outermost(wanted.namespace) and (settings.escape or not settings.home):
            return LogicalName("", topic)
        if not wanted.namespace:
            return LogicalName(settings.home, topic)
        try:
            namespace = view.namespace_at(wanted.namespace)
        except InvalidName as error:
            raise Rejected(INVALID_TOPIC_EXCEPTION, f"{error}.", "names") from None
        assert namespace is not None
        return LogicalName(namespace, topic)

    # -- policies ----------------------------------------------------------------------------------

    async def _judge(self, source: Source) -> Arrival | None:
        """The topic as policies of its new namespace allow it, or None if it has the name already.
        Raises :class:`Rejected`."""
        self._decide(self.seen, source)  # rejects impossible moves before policies judge them
        name = self.new_name
        if name is None:
            return None
        above = inherited(self.seen, name.namespace)
        arrival = Arrival(source.flat, name, above, shown_topic(self.access.view, name))
        (judged,) = await check_arrivals(self.context, self.access.principal, self.seen, [arrival])
        return judged

    def _limited(
        self, newest: Snapshot, arrival: Arrival, record: Change, name: LogicalName
    ) -> Change:
        """The record, with the number of partitions by which the topic counts if topics are
        limited. Raises :class:`Rejected`, and Outdated if the topic would get another name by
        now."""
        context, namespace = self.context, name.namespace
        if name != arrival.name or tiers(newest, namespace) != tiers(self.seen, namespace):
            raise Outdated
        check_counted_limits(context, self.access.principal, newest, [arrival], self.listed)
        if not arrival.partitions or not context.judge.counts(namespace):
            return record
        usage = context.usage.at(newest, context.cluster.index)
        counted = max(arrival.partitions, usage.partitions_of(arrival.flat))
        if isinstance(record, TopicEntry):
            return replace(record, counted=counted)
        since = later(newest.topics.get(arrival.flat), context.clock())
        return TopicEntry(arrival.flat, name, since=since, counted=counted)

    # -- after the commit --------------------------------------------------------------------------

    async def _check_twin(self, source: Source) -> None:
        """Roll back if a topic of the new name was created at the same time, and raise
        :class:`Rejected`.

        The name was free when the move was decided, and a creation reads the catalog once more
        after the broker has created the topic. Two topics have the name only if both read too
        early.
        """
        record, context = self.record, self.context
        if not isinstance(record, TopicEntry):
            return
        await context.cluster.refresh()
        twin = encode(record.name)
        if twin == record.flat or twin in context.catalog.snapshot.topics:
            return
        if not context.cluster.index.exists(twin.encode()):
            return
        await self._roll_back(source)
        log.warning("topic %r is not moved: %r was made meanwhile", record.flat, twin)
        raise Rejected(TOPIC_ALREADY_EXISTS, f"Topic '{record.name}' already exists.")

    async def _judge_again(self, source: Source, arrival: Arrival) -> None:
        """Roll back if the topic was changed meanwhile so that policies of its new namespace do not
        allow it. Raises :class:`Rejected` then, and OSError.

        A change of the topic reads the catalog both before and afterwards (``alter_topics``), and a
        change made before the move can be read by now.
        """
        if arrival.facts is None or self.record is None:
            return
        now = (await read_facts(self.context, [source.flat])).get(source.flat)
        if now is None or now == arrival.facts:
            return
        try:
            await check_arrivals(self.context, self.access.principal, self.seen, [arrival])
        except Rejected:
            await self._roll_back(source)
            log.warning("topic %r is not moved: it was changed meanwhile", source.flat)
            raise

    async def _roll_back(self, source: Source) -> None:
        """Give the topic its former entry back, unless its entry has changed since."""
        flat, acls = source.flat, self.acls
        moved = self.record if isinstance(self.record, TopicEntry) else None
        record = self.seen.topics.get(flat) or Removal(("topic", flat))

        def decide(newest: Snapshot) -> Sequence[Change]:
            if newest.topics.get(flat) != moved:
                return ()
            return [record] if acls is None else acls.back(newest, [record])

        await self.context.catalog.change(decide)
