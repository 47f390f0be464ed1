"""Alters the configs of topics: a key that is set is the topic's own, a deleted key falls back.

A key is recorded as the topic's own before the broker has it, and is released only after the broker
has the value to which it falls back. So if an alteration is interrupted, no namespace overrides a
config that was set on a topic. A key is recorded while no job applies that key to the topic:
brokers have no conditional writes, so a job that began before must have ended.

A freeze of a name waits for requests in progress at the broker. Right before the broker is sent a
change, the names and rights are looked up again.

Policies have judged a topic in its namespace. So the namespace is read again before the broker is
sent the change, and the topic is judged again if its namespace has changed. It is also read after
the broker has responded, and the change is undone if the topic was moved meanwhile. A move reads
the topic afterwards, too (``move_topics``), so the alteration sees the move or the move sees the
alteration.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from gateway.catalog.entities import Change
from gateway.catalog.snapshot import Snapshot
from gateway.changes.base.broker import read_dynamic, write_configs
from gateway.changes.base.config_policies import subject_to_policies, topic_violations
from gateway.changes.base.config_values import is_same_value
from gateway.changes.base.context import ATTEMPTS, Context
from gateway.changes.base.inherited import (
    entry_for,
    inherited,
    later,
    own_configs,
    pending,
    settled,
    tiers,
)
from gateway.changes.base.last_look import WhyNot
from gateway.changes.base.rejected import Rejected, try_again
from gateway.changes.base.resources import DELETE, SET, Operation
from gateway.changes.base.told_configs import late_configs, values_after
from gateway.decision import Denied
from gateway.error_codes import REQUEST_TIMED_OUT
from gateway.identity import ANONYMOUS
from protocol.pausing import eased, paced

Operations = Mapping[str, Sequence[Operation]]
"""The operations by flat name."""

Keys = dict[str, frozenset[str]]
"""Config keys by flat name."""

JOB_PATIENCE = 15.0
"""Seconds to wait for a job that may write the same keys: longer than another gateway takes to
continue the job of a gateway that has ended."""

_LOOK: Final = 0.05
_CHANGED: Final = try_again("The topic was moved, or what it inherits has changed, in the meantime")


class _Busy(Exception):
    """A job may be writing the same keys."""


async def replacing(
    context: Context, configs: Mapping[str, Mapping[str, str | None]]
) -> dict[str, list[Operation]]:
    """The operations after which ``configs`` (by flat name) are all of the topics' own configs, as
    AlterConfigs requires. Raises OSError and :class:`Rejected`."""
    dynamic = await read_dynamic(context, list(configs))
    return {
        flat: [
            *(Operation(key, SET, value) for key, value in paced(given.items())),
            *(Operation(key, DELETE) for key in sorted(dynamic.get(flat, {})) if key not in given),
        ]
        for flat, given in paced(configs.items())
    }


async def alter_topics(
    context: Context,
    wanted: Operations,
    validate_only: bool = False,
    principal: str = ANONYMOUS.principal,
    why_not: WhyNot | None = None,
) -> dict[str, Denied | None]:
    """Execute the operations that policies allow; by flat name, None if they were executed.

    Error messages are the broker's, in flat names, or, with the rule ``policies``, the policies'
    own. ``why_not`` is called right before the broker is requested to change a topic. Raises
    OSError, and :class:`Rejected` if other changes of the same configs take too long.
    """
    snapshot = context.catalog.snapshot
    answers: dict[str, Denied | None] = {}
    left = dict(wanted)
    subject = subject_to_policies(context, wanted)
    if validate_only or subject or any(tracked(snapshot, flat) for flat in paced(wanted)):
        answers = await write_configs(context, _for_broker(snapshot, wanted), validate_only=True)
        left = {flat: ops for flat, ops in wanted.items() if answers.get(flat) is None}
        answers |= await topic_violations(context, principal, left)
        left = {flat: ops for flat, ops in left.items() if answers.get(flat) is None}
    if validate_only or not left:
        return answers
    return answers | await _Alteration(context, principal, left, snapshot, why_not).run()


def tracked(snapshot: Snapshot, flat: str) -> bool:
    """Whether the catalog has to record which of the topic's configs are its own."""
    entry = snapshot.topics.get(flat)
    return bool(snapshot.owner(flat).namespace) or (entry is not None and entry.apply)


def _for_broker(snapshot: Snapshot, wanted: Operations) -> dict[str, list[Operation]]:
    """The operations for the broker: deleting a key that a namespace sets becomes setting the key
    to its inherited value."""
    translated: dict[str, list[Operation]] = {}
    for flat, operations in paced(wanted.items()):
        values = inherited(snapshot, snapshot.owner(flat).namespace)
        translated[flat] = [
            Operation(one.key, SET, values[one.key])
            if one.operation == DELETE and one.key in values
            else one
            for one in eased(operations)
        ]
    return translated


def _keys(operations: Sequence[Operation], *, set_only: bool) -> frozenset[str]:
    return frozenset(o.key for o in eased(operations) if (o.operation != DELETE) is set_only)


def _set_keys(wanted: Operations) -> Keys:
    return {flat: _keys(operations, set_only=True) for flat, operations in paced(wanted.items())}


@dataclass(slots=True)
class _Alteration:
    """The operations that are validated, and that policies allow on the catalog ``judged``.
    ``recorded``: the keys that this alteration has made the topics' own."""

    context: Context
    principal: str
    wanted: Operations
    judged: Snapshot
    why_not: WhyNot | None = None
    recorded: Keys = field(default_factory=dict)

    async def run(self) -> dict[str, Denied | None]:
        """Alter the topics at the broker and in the catalog; by flat name, None if that was
        done."""
        context = self.context
        self.recorded = await self._record(_set_keys(self.wanted))
        if context.judge.policies.judges:
            sent, done = await self._write_judged()
        else:
            sent = _for_broker(context.catalog.snapshot, self.wanted)
            done = await write_configs(context, sent, why_not=self.why_not)
        done |= await self._release(sent, done)
        await self._keep(
            {
                flat: {o.key: o.value for o in eased(operations) if o.operation == SET and o.value}
                for flat, operations in self.wanted.items()
                if flat in done and done[flat] is None
            }
        )
        return done

    async def _record(self, keys: Mapping[str, Collection[str]]) -> Keys:
        """Make keys the topics' own; returns the keys that were not their own before.

        Keys are recorded while no job may write them, because a job that read the catalog before
        could write its value last. Raises :class:`Rejected` if a job takes too long.
        """
        context = self.context
        added: Keys = {}

        def decide(snapshot: Snapshot) -> Sequence[Change]:
            added.clear()
            changes: list[Change] = []
            for flat, names in keys.items():
                own = own_configs(snapshot, flat)
                new = frozenset(names) - own
                if new and tracked(snapshot, flat):
                    waits = pending(snapshot, flat)
                    if waits is None or not new.isdisjoint(waits):
                        raise _Busy
                    added[flat] = new
                    entry = entry_for(snapshot, flat, context.clock())
                    changes.append(replace(entry, own_configs=tuple(sorted(own | new))))
            return changes

        for _ in range(max(1, round(JOB_PATIENCE / _LOOK))):
            try:
                # Most topics are in no namespace, and then there is no change to commit.
                if decide(context.catalog.snapshot):
                    await context.catalog.change(decide)
                return added
            except _Busy:
                await asyncio.sleep(_LOOK)
                await context.catalog.refresh()
        raise Rejected(
            REQUEST_TIMED_OUT,
            "What the topic inherits from its namespace is just being applied to it; try again.",
        )

    async def _release(
        self, sent: Operations, done: Mapping[str, Denied | None]
    ) -> dict[str, Denied]:
        """Stop recording keys as the topics' own: deleted keys, and keys that the broker rejected.

        A key stays the topic's own if policies have not judged the value to which it would fall
        back by now; returns the errors for these topics, by flat name. A key also stays the topic's
        own while a broker goes on describing another value, which may have been set meanwhile.
        """
        context, late_ones = self.context, dict[str, Denied]()
        stale = frozenset[str]()
        gone = {
            flat: self.recorded.get(flat, frozenset())
            if done.get(flat) is not None
            else _keys(operations, set_only=False)
            for flat, operations in self.wanted.items()
        }

        def decide(snapshot: Snapshot) -> Sequence[Change]:
            late_ones.clear()
            changes: list[Change] = []
            for flat, keys in gone.items():
                entry = snapshot.topics.get(flat)
                if entry is None or not keys.intersection(entry.own_configs) or flat in stale:
                    continue
                values = inherited(snapshot, entry.name.namespace)
                fallback = {o.key: o.value for o in eased(sent.get(flat, ())) if o.key in keys}
                # The inherited value has changed since it was sent to the broker; a job applies the
                # new value.
                late = done.get(flat) is None and any(
                    values.get(key) != value for key, value in fallback.items()
                )
                if late and context.judge.applies(entry.name.namespace):
                    late_ones[flat] = _CHANGED
                    continue
                own = tuple(key for key in entry.own_configs if key not in keys)
                since = later(entry, context.clock()) if late else entry.since
                entry = replace(entry, own_configs=own, apply=entry.apply or late, since=since)
                changes.append(settled(snapshot, entry))
            return changes

        if decide(context.catalog.snapshot):
            fallback = {
                flat: {key: value for key, value in values.items() if key in gone[flat]}
                for flat, values in values_after(sent).items()
                if done.get(flat) is None
            }

            def is_current(flat: str) -> bool:
                newest = context.catalog.snapshot
                values = inherited(newest, newest.owner(flat).namespace)
                return all(values.get(key) == value for key, value in fallback[flat].items())

            stale = await late_configs(context, fallback, holds=is_current)
            await context.catalog.change(decide)
        return late_ones

    async def _keep(self, values: Mapping[str, Mapping[str, str]]) -> None:
        """Write values again that a job may have removed since the topic came into a namespace.

        The topic's keys are recorded only now, so a job that applied the namespace's configs may
        have removed them.
        """
        context = self.context
        await context.catalog.refresh()
        snapshot = context.catalog.snapshot
        risky = {
            flat: held
            for flat, held in values.items()
            if tracked(snapshot, flat) and not own_configs(snapshot, flat).issuperset(held)
        }
        if not risky:
            return
        await self._record(risky)
        lost = {
            flat: [
                Operation(key, SET, value)
                for key, value in risky[flat].items()
                if not is_same_value(held.get(key), value)
            ]
            for flat, held in (await read_dynamic(context, list(risky))).items()
        }
        lost = {flat: operations for flat, operations in lost.items() if operations}
        if lost:
            await write_configs(context, lost)

    # -- policies ----------------------------------------------------------------------------------

    async def _write_judged(self) -> tuple[Operations, dict[str, Denied | None]]:
        """Alter the topics at the broker if policies still allow it; returns the operations that
        were sent, and the results."""
        context = self.context
        before = await read_dynamic(context, list(self.wanted))
        denied, seen = await self._judge_again()
        left = {flat: ops for flat, ops in self.wanted.items() if flat not in denied}
        more = await self._record(_set_keys(left))
        for flat, keys in more.items():
            # The topic has come to a namespace, where a job may have written before the key was
            # recorded.
            self.recorded[flat] = keys | self.recorded.get(flat, frozenset())
            denied[flat] = _CHANGED
            del left[flat]
        sent = _for_broker(seen, left)
        done = await write_configs(context, sent, why_not=self.why_not)
        taken = {flat: sent[flat] for flat in left if done.get(flat) is None}
        return sent, {**done, **await self._undo_moved(taken, before, seen), **denied}

    async def _judge_again(self) -> tuple[dict[str, Denied], Snapshot]:
        """The topics that may not be altered after all, by flat name, and the catalog on which this
        was decided. Raises OSError and :class:`Rejected`."""
        context, judged = self.context, self.judged
        left, denied = dict(self.wanted), dict[str, Denied]()
        for _ in range(ATTEMPTS):
            await context.catalog.refresh()
            newest = context.catalog.snapshot
            changed = {
                flat: operations
                for flat, operations in left.items()
                if self._place(newest, flat) != self._place(judged, flat)
            }
            if not changed:
                return denied, newest
            denied |= await topic_violations(context, self.principal, changed)
            left = {flat: operations for flat, operations in left.items() if flat not in denied}
            judged = newest
        return denied | dict.fromkeys(changed, _CHANGED), newest

    def _place(self, snapshot: Snapshot, flat: str) -> tuple[object, ...]:
        """The catalog's state of a topic's configs, without the keys that this alteration
        recorded."""
        owner = snapshot.owner(flat)
        own = own_configs(snapshot, flat) - self.recorded.get(flat, frozenset())
        return owner, tiers(snapshot, owner.namespace), own

    async def _undo_moved(
        self, done: Operations, before: Mapping[str, Mapping[str, str]], judged: Snapshot
    ) -> dict[str, Denied]:
        """Undo the alteration of topics that were moved meanwhile to a namespace with policies;
        returns the errors of these topics. ``before``: the configs set on the topics before. Raises
        OSError."""
        context = self.context
        await context.catalog.refresh()
        newest = context.catalog.snapshot
        undoing: dict[str, list[Operation]] = {}
        for flat, operations in done.items():
            owner = newest.owner(flat)
            if owner == judged.owner(flat) or not context.judge.applies(owner.namespace):
                continue
            own = own_configs(newest, flat) - self.recorded.get(flat, frozenset())
            held = {key: value for key, value in before.get(flat, {}).items() if key in own}
            values = inherited(newest, owner.namespace) | held
            undoing[flat] = [
                Operation(key, SET, values[key]) if key in values else Operation(key, DELETE)
                for key in dict.fromkeys(one.key for one in operations)
            ]
        if undoing:
            await write_configs(context, undoing)
        return dict.fromkeys(undoing, _CHANGED)
