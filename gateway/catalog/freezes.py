"""Freezes: names that are about to lead elsewhere, and the workers that have to let go of them.

A change that takes a name from its clients (a move, a deletion, a link that is cut) first writes a
freeze. Every worker that reads it denies the names, waits for what it had sent to brokers under
them, and writes that it has. Only then is the change made, so nothing that was decided by the old
state of the catalog reaches a broker after it. Pure decisions on one state of the catalog; times
are milliseconds since the epoch.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from gateway.catalog.entities import Change, Freeze, Removal, Worker, key_of
from gateway.catalog.members import at_least
from gateway.catalog.schema.table import FREEZE_FORMAT
from gateway.catalog.snapshot import Snapshot
from gateway.names import DELIMITER, LogicalName, below

FROZEN: Final = "frozen"
"""The rule of the error for a frozen name, which is no denial."""

UNDER_WAY: Final = 60_000
"""Milliseconds for which a broker may be at work on what was sent before its sender ended: the
longest ``timeout_ms`` that a broker is sent."""

_TO_DENY_IT: Final = 2_000
"""Milliseconds in which a worker that was taken for gone says that it is there."""


@dataclass(frozen=True, slots=True)
class Frozen:
    """What the freezes of one state of the catalog hold: ``names`` as text (``org:orders``), and
    the paths of ``namespaces`` with all below them."""

    names: frozenset[str] = frozenset()
    namespaces: tuple[str, ...] = ()

    @classmethod
    def of(cls, freezes: Iterable[Freeze]) -> Frozen:
        """What these freezes hold together."""
        found = list(freezes)
        if not found:
            return NOTHING_FROZEN
        return cls(
            frozenset(name for one in found for name in one.names),
            tuple(path for one in found for path in one.namespaces),
        )

    def __bool__(self) -> bool:
        return self is not NOTHING_FROZEN

    def holds(self, namespace: str, name: str) -> bool:
        """Whether a logical name, in that namespace, is frozen."""
        return name in self.names or any(
            below(namespace, path) is not None for path in self.namespaces
        )

    def holds_name(self, name: LogicalName) -> bool:
        """The same of a name by itself."""
        return self.holds(name.namespace, str(name))

    def concerns(self, snapshot: Snapshot, flat: str) -> bool:
        """Whether a frozen name leads to the topic that is stored as ``flat``, or one of the
        namespaces has it. A name that leads to another topic led nowhere before that, if not by an
        entry of this one."""
        return any(
            self.holds(name.namespace, str(name) if _may_lead(snapshot, name, flat) else "")
            for name in names_of(snapshot, flat)
        )


NOTHING_FROZEN: Final = Frozen()


def names_of(snapshot: Snapshot, flat: str, *, links: bool = True) -> tuple[LogicalName, ...]:
    """Every name that leads to a topic: its own first, aliases, and its ``links``."""
    entry = snapshot.topics.get(flat)
    own = (snapshot.owner(flat),) if entry is None else entry.names
    return (*own, *snapshot.links_of(flat)) if links else own


def _may_lead(snapshot: Snapshot, name: LogicalName, flat: str) -> bool:
    entry = snapshot.entry_of(name)
    return entry is None or entry.flat == flat


def freezes_in(snapshot: Snapshot) -> Mapping[str, Freeze]:
    """The freezes under way, by id."""
    return snapshot.of_kind(Freeze.KIND)


def workers_in(snapshot: Snapshot) -> Mapping[str, Worker]:
    """The workers that take part, by run."""
    return snapshot.of_kind(Worker.KIND)


def can_freeze(snapshot: Snapshot) -> bool:
    """Whether every gateway of the catalog reads freezes."""
    return snapshot.format >= FREEZE_FORMAT


def frozen_by_others(
    snapshot: Snapshot,
    names: Iterable[str],
    namespaces: Iterable[str] = (),
    freeze_id: str | None = None,
) -> bool:
    """Whether a freeze other than ``freeze_id`` holds one of these names (``org:orders``), or
    something in one of these namespaces, which have all that is below them."""
    others = [one for one in freezes_in(snapshot).values() if one.freeze_id != freeze_id]
    if not others:
        return False
    held, paths = Frozen.of(others), tuple(namespaces)
    wanted = Frozen(frozenset(names), paths)
    return (
        any(held.holds(_namespace(name), name) for name in wanted.names)
        or any(wanted.holds(_namespace(name), name) for name in held.names)
        or any(held.holds(path, "") for path in paths)
        or any(wanted.holds(path, "") for path in held.namespaces)
    )


def _namespace(name: str) -> str:
    return name.rpartition(DELIMITER)[0]


def begin_with_freezes(snapshot: Snapshot) -> Sequence[Change]:
    """Give a catalog that no gateway has taken part in yet the format that freezes need. One that
    older gateways may go back to keeps its own, until an operator raises it."""
    return [] if snapshot.gateways else at_least(FREEZE_FORMAT)(snapshot)


# -- workers ---------------------------------------------------------------------------------------


def arrive(snapshot: Snapshot, worker: Worker, workers: int, now: int) -> list[Change]:
    """The changes by which a worker takes part, of a gateway with so many ``workers``; none if it
    does already.

    Another run of the same number, or of one that there is not any more, has ended without a word:
    what it had sent may be under way, and what it had frozen is thawed.
    """
    known = workers_in(snapshot)
    if not can_freeze(snapshot) or worker.run in known:
        return []
    ended = {
        one.run
        for one in known.values()
        if one.gateway_id == worker.gateway_id
        and (one.number == worker.number or one.number >= workers)
    }
    gone: list[Change] = [
        replace(known[run], gone=now) for run in sorted(ended) if not known[run].gone
    ]
    left = [Removal(key_of(one)) for one in freezes_in(snapshot).values() if one.run in ended]
    return [*gone, *left, worker]


def leave(snapshot: Snapshot, run: str, *, unsure: bool, now: int) -> list[Change]:
    """The changes by which a worker takes part no more. ``unsure``: brokers may still be at work on
    what it had sent."""
    worker = workers_in(snapshot).get(run)
    if worker is None:
        return []
    return [replace(worker, gone=now) if unsure else Removal(key_of(worker))]


def acknowledge(snapshot: Snapshot, run: str, quiet: Collection[str]) -> list[Change]:
    """The change by which a worker says for which freezes nothing is under way, and that it is
    there; none if the catalog says so already."""
    worker = workers_in(snapshot).get(run)
    if worker is None:
        return []
    has_read = tuple(sorted({*worker.has_read, *quiet} & freezes_in(snapshot).keys()))
    if not is_doubted(worker) and {*has_read} <= {*worker.has_read}:
        return []
    return [replace(worker, has_read=has_read, gone=0, unheard=0)]


def is_doubted(worker: Worker) -> bool:
    """Whether others take a worker for gone, as two gateways of one id do, or have not heard of
    it."""
    return bool(worker.gone or worker.unheard)


def forgotten(snapshot: Snapshot, now: int, silence: int) -> list[Change]:
    """The removal of workers that nothing has to wait for any more: what they sent has ended, or
    they have not been heard of for ``silence`` milliseconds, in which they closed, too."""
    return [
        Removal(key_of(one))
        for one in workers_in(snapshot).values()
        if (one.gone and one.gone + UNDER_WAY <= now)
        or (one.unheard and one.unheard + silence <= now)
    ]


def ended_lately(snapshot: Snapshot, now: int, patience: int) -> list[Worker]:
    """The workers that have ended without a word, and count for more than ``patience`` milliseconds
    from now. Not those that were found just now: one that is there all the same says so."""
    return [
        one
        for one in workers_in(snapshot).values()
        if one.gone and now - one.gone >= _TO_DENY_IT and one.gone + UNDER_WAY - now > patience
    ]


# -- freezes ---------------------------------------------------------------------------------------


def waited_for(snapshot: Snapshot, freeze: Freeze, now: int, silence: int) -> list[Worker]:
    """The workers, besides the one that makes it, that have not let go of what a freeze holds."""
    free = {
        change.key for change in forgotten(snapshot, now, silence) if isinstance(change, Removal)
    }
    return [
        one
        for one in workers_in(snapshot).values()
        if one.run != freeze.run
        and freeze.freeze_id not in one.has_read
        and key_of(one) not in free
    ]


def thaw(
    snapshot: Snapshot, freeze: Freeze, unheard: Iterable[Worker] = (), now: int = 0
) -> list[Change]:
    """The changes that end a freeze; of workers that did not answer it in time is noted since
    when."""
    if freeze.freeze_id not in freezes_in(snapshot):
        return []
    known = workers_in(snapshot)
    late = [known[one.run] for one in unheard if one.run in known]
    marks = [replace(one, unheard=now) for one in late if not one.unheard and not one.gone]
    return [Removal(key_of(freeze)), *marks]


def expired(snapshot: Snapshot, now: int) -> list[Freeze]:
    """The freezes whose makers have not ended them in time."""
    return [one for one in freezes_in(snapshot).values() if one.until <= now]
