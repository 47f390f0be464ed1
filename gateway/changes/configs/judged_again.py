"""Topics that are altered while something else changes: moves, and what they inherit.

Policies have judged them where they were. So where they are is looked at before the broker is told,
and judged again if that is not as it was; and after the broker was told: what was done to a topic
that was moved meanwhile is undone. Who moves a topic looks at it afterwards, too
(``moves_taken_back``), so one of the two sees the other.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from gateway.catalog.snapshot import Snapshot
from gateway.changes.base.broker import write
from gateway.changes.base.context import ATTEMPTS, Context
from gateway.changes.base.refused import try_again
from gateway.changes.base.resources import DELETE, SET, Operation
from gateway.changes.inheritance.inherited import inherited, own_configs, tiers
from gateway.changes.judging.judged_configs import refused_topics
from gateway.decision import Denied

CHANGED: Final = try_again("The topic was moved, or what it inherits has changed, in the meantime")

Operations = Mapping[str, Sequence[Operation]]
"""By flat name."""


async def judge_anew(
    context: Context,
    principal: str,
    wanted: Operations,
    judged: Snapshot,
    recorded: Mapping[str, frozenset[str]],
) -> tuple[dict[str, Denied], Snapshot]:
    """Why topics may not be altered after all, by flat name; and the catalog by which that holds.

    They were ``judged`` by what the catalog said, and keys ``recorded`` as their own since then.
    Raises OSError and :class:`Refused`.
    """
    left, refused = dict(wanted), dict[str, Denied]()
    for _ in range(ATTEMPTS):
        await context.catalog.refresh()
        newest = context.catalog.snapshot
        changed = {
            flat: operations
            for flat, operations in left.items()
            if _place(newest, flat, recorded) != _place(judged, flat, recorded)
        }
        if not changed:
            return refused, newest
        refused |= await refused_topics(context, principal, changed)
        left = {flat: operations for flat, operations in left.items() if flat not in refused}
        judged = newest
    return refused | dict.fromkeys(changed, CHANGED), newest


async def undo_moved(
    context: Context,
    done: Operations,
    before: Mapping[str, Mapping[str, str]],
    judged: Snapshot,
    recorded: Mapping[str, frozenset[str]],
) -> dict[str, Denied]:
    """Undo what was done to topics that have been moved to where policies apply; they are answered
    so. ``before`` is what was set on the topics, and ``recorded`` are the keys that only this
    alteration has made their own. Raises OSError."""
    await context.catalog.refresh()
    newest = context.catalog.snapshot
    owner = newest.owner
    moved = [
        flat
        for flat in done
        if owner(flat) != judged.owner(flat) and context.judge.applies(owner(flat).namespace)
    ]
    if moved:
        undoing = {}
        for flat in moved:
            own = own_configs(newest, flat) - recorded.get(flat, frozenset())
            held = {key: value for key, value in before.get(flat, {}).items() if key in own}
            wanted = inherited(newest, owner(flat).namespace) | held
            undoing[flat] = _undoing(done[flat], wanted)
        await write(context, undoing)
    return dict.fromkeys(moved, CHANGED)


def _undoing(done: Sequence[Operation], wanted: Mapping[str, str]) -> list[Operation]:
    return [
        Operation(key, SET, wanted[key]) if key in wanted else Operation(key, DELETE)
        for key in dict.fromkeys(one.key for one in done)
    ]


def _place(
    snapshot: Snapshot, flat: str, recorded: Mapping[str, frozenset[str]]
) -> tuple[object, ...]:
    """What the catalog says of a topic's configs, but for what was recorded here."""
    owner = snapshot.owner(flat)
    own = own_configs(snapshot, flat) - recorded.get(flat, frozenset())
    return owner, tiers(snapshot, owner.namespace), own
