"""Changing the configs of topics: what is set on a topic is its own, what is deleted falls back.

A key is recorded as the topic's own before the broker has it, and no more after the broker has
what it falls back to: whatever is interrupted, no namespace overrides what somebody set. It is
recorded while nothing is being applied to that key of the topic: brokers cannot be asked to write
only if nobody else has, so a job that began before must have ended.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Final

from gateway.catalog.entities import Change
from gateway.catalog.snapshot import Snapshot
from gateway.changes.base.broker import read_dynamic, write
from gateway.changes.base.context import Context
from gateway.changes.base.refused import Refused
from gateway.changes.base.resources import DELETE, SET, Operation
from gateway.changes.configs.judged_again import CHANGED, judge_anew, undo_moved
from gateway.changes.inheritance.inherited import (
    entry_for,
    inherited,
    later,
    own_configs,
    pending,
    settled,
)
from gateway.changes.judging.judged_configs import judged, refused_topics
from gateway.decision import Denied
from gateway.error_codes import REQUEST_TIMED_OUT
from gateway.identity import ANONYMOUS
from protocol.pausing import eased, paced

Wanted = Mapping[str, Sequence[Operation]]
"""The operations by flat name."""

JOB_PATIENCE = 15.0
"""Seconds for which a job that may write the same keys is waited for: more than it takes until
another gateway goes on with the job of one that is gone."""

_LOOK: Final = 0.05


class _Busy(Exception):
    """A job may be writing the same keys."""


async def replacing(
    context: Context, configs: Mapping[str, Mapping[str, str | None]]
) -> dict[str, list[Operation]]:
    """What makes ``configs`` (by flat name) all that is the topics' own, as AlterConfigs does.

    Raises OSError and :class:`Refused`.
    """
    dynamic = await read_dynamic(context, list(configs))
    return {
        flat: [
            *(Operation(key, SET, value) for key, value in paced(given.items())),
            *(Operation(key, DELETE) for key in sorted(dynamic.get(flat, {})) if key not in given),
        ]
        for flat, given in configs.items()
    }


async def alter_topics(
    context: Context,
    wanted: Wanted,
    validate_only: bool = False,
    principal: str = ANONYMOUS.principal,
) -> dict[str, Denied | None]:
    """Do the operations, as far as policies allow it; None for each flat name where they are done.

    The messages of the rest are the broker's, in flat names, or, with the rule ``policies``, the
    policies' own. Raises OSError, and :class:`Refused` when something else is being done to the
    same configs for long.
    """
    snapshot = context.catalog.snapshot
    answers: dict[str, Denied | None] = {}
    left = dict(wanted)
    if validate_only or judged(context, wanted) or any(tracked(snapshot, f) for f in wanted):
        translated = _for_broker(snapshot, wanted)
        answers = await write(context, translated, validate_only=True)
        left = {flat: ops for flat, ops in wanted.items() if answers.get(flat) is None}
        answers |= await refused_topics(context, principal, left)
        left = {flat: ops for flat, ops in left.items() if answers.get(flat) is None}
    if validate_only or not left:
        return answers
    added = await _record(context, _set_keys(left))
    if context.judge.policies.judges:
        sent, done = await _write_judged(context, principal, left, snapshot, added)
    else:
        sent = _for_broker(context.catalog.snapshot, left)
        done = await write(context, sent)
    done |= await _take_back(context, sent, left, done, added)
    values = {
        flat: {o.key: o.value for o in eased(left[flat]) if o.operation == SET and o.value}
        for flat, denied in done.items()
        if denied is None and flat in left
    }
    await _keep(context, values)
    return answers | done


async def _write_judged(
    context: Context,
    principal: str,
    wanted: Wanted,
    judged: Snapshot,
    added: dict[str, frozenset[str]],
) -> tuple[Wanted, dict[str, Denied | None]]:
    """Change the topics at the broker, if they still may be what they were judged to be; what was
    sent, and what became of it. ``added`` gets keys that are recorded by the way."""
    before = await read_dynamic(context, list(wanted))
    refused, seen = await judge_anew(context, principal, wanted, judged, added)
    left = {flat: operations for flat, operations in wanted.items() if flat not in refused}
    more = await _record(context, _set_keys(left))
    if more:
        # They have come to a namespace, where a job may have written before that was recorded.
        added |= {flat: keys | added.get(flat, frozenset()) for flat, keys in more.items()}
        refused |= dict.fromkeys(more, CHANGED)
        left = {flat: operations for flat, operations in left.items() if flat not in more}
    sent = _for_broker(seen, left)
    done = await write(context, sent)
    taken = {flat: sent[flat] for flat in left if done.get(flat) is None}
    undone = await undo_moved(context, taken, before, seen, added)
    return sent, {**done, **undone, **refused}


def tracked(snapshot: Snapshot, flat: str) -> bool:
    """Whether the catalog has to know which of the topic's configs are its own."""
    entry = snapshot.topics.get(flat)
    return bool(snapshot.owner(flat).namespace) or (entry is not None and entry.apply)


def _for_broker(snapshot: Snapshot, wanted: Wanted) -> dict[str, list[Operation]]:
    """Deleting a key that a namespace sets is setting it to what is inherited."""
    translated: dict[str, list[Operation]] = {}
    for flat, operations in wanted.items():
        values = inherited(snapshot, snapshot.owner(flat).namespace)
        translated[flat] = [
            Operation(one.key, SET, values[one.key])
            if one.operation == DELETE and one.key in values
            else one
            for one in eased(operations)
        ]
    return translated


def _set_keys(wanted: Wanted) -> dict[str, frozenset[str]]:
    return {flat: _keys(operations, set_only=True) for flat, operations in wanted.items()}


def _keys(operations: Sequence[Operation], *, set_only: bool) -> frozenset[str]:
    return frozenset(o.key for o in eased(operations) if (o.operation != DELETE) is set_only)


async def _record(
    context: Context, keys: Mapping[str, Collection[str]]
) -> dict[str, frozenset[str]]:
    """Make keys the topics' own; returns those that were not.

    It is done while no job may write them: one that has read the catalog before could have the
    last word. Raises :class:`Refused` when a job takes too long.
    """
    added: dict[str, frozenset[str]] = {}

    def decide(snapshot: Snapshot) -> Sequence[Change]:
        added.clear()
        changes: list[Change] = []
        for flat, names in keys.items():
            own = own_configs(snapshot, flat)
            new = frozenset(names) - own
            if new and tracked(snapshot, flat):
                if _job_pending(snapshot, flat, new):
                    raise _Busy
                added[flat] = new
                entry = entry_for(snapshot, flat, context.clock())
                changes.append(replace(entry, own_configs=tuple(sorted(own | new))))
        return changes

    for _ in range(max(1, round(JOB_PATIENCE / _LOOK))):
        try:
            # Most topics are in no namespace, and then there is nothing to write.
            if decide(context.catalog.snapshot):
                await context.catalog.change(decide)
            return added
        except _Busy:
            await asyncio.sleep(_LOOK)
            await context.catalog.refresh()
    raise Refused(
        REQUEST_TIMED_OUT,
        "What the topic inherits from its namespace is just being applied to it; try again.",
    )


async def _take_back(
    context: Context,
    sent: Wanted,
    wanted: Wanted,
    done: Mapping[str, Denied | None],
    added: Mapping[str, frozenset[str]],
) -> dict[str, Denied]:
    """What was deleted is the topic's own no more, nor what the broker did not take.

    It stays the topic's own where policies have not allowed what it would fall back to by now: by
    flat name, what is answered then.
    """
    late_ones: dict[str, Denied] = {}
    gone = {
        flat: added.get(flat, frozenset())
        if done.get(flat) is not None
        else _keys(wanted[flat], set_only=False)
        for flat in wanted
    }

    def decide(snapshot: Snapshot) -> Sequence[Change]:
        late_ones.clear()
        changes: list[Change] = []
        for flat, keys in gone.items():
            entry = snapshot.topics.get(flat)
            if entry is None or not keys.intersection(entry.own_configs):
                continue
            values = inherited(snapshot, entry.name.namespace)
            fallback = {o.key: o.value for o in eased(sent.get(flat, ())) if o.key in keys}
            # What it falls back to has changed while the broker was told: a job makes it right.
            late = done.get(flat) is None and any(
                values.get(key) != value for key, value in fallback.items()
            )
            if late and context.judge.applies(entry.name.namespace):
                late_ones[flat] = CHANGED
                continue
            own = tuple(key for key in entry.own_configs if key not in keys)
            since = later(entry, context.clock()) if late else entry.since
            entry = replace(entry, own_configs=own, apply=entry.apply or late, since=since)
            changes.append(settled(snapshot, entry))
        return changes

    if decide(context.catalog.snapshot):
        await context.catalog.change(decide)
    return late_ones


async def _keep(context: Context, values: Mapping[str, Mapping[str, str]]) -> None:
    """See to it that what was set stays, where a topic came into a namespace meanwhile.

    Its keys are recorded only now, and what was applied to it may have taken them off again.
    """
    await context.catalog.refresh()
    snapshot = context.catalog.snapshot
    risky = {
        flat: held
        for flat, held in values.items()
        if tracked(snapshot, flat) and not own_configs(snapshot, flat).issuperset(held)
    }
    if not risky:
        return
    await _record(context, risky)
    dynamic = await read_dynamic(context, list(risky))
    lost = {
        flat: [Operation(k, SET, v) for k, v in risky[flat].items() if held.get(k) != v]
        for flat, held in dynamic.items()
    }
    lost = {flat: operations for flat, operations in lost.items() if operations}
    if lost:
        await write(context, lost)


def _job_pending(snapshot: Snapshot, flat: str, keys: Collection[str]) -> bool:
    waits = pending(snapshot, flat)
    return waits is None or any(key in waits for key in keys)
