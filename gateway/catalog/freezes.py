"""Freezes: names that are about to lead elsewhere, and the workers that have to let go of them.

A change that takes a name from its clients (a move, a deletion, a link that is cut) first writes a
freeze. Every worker that reads it rejects requests for the names, waits for the requests that it
had sent to brokers under them, and acknowledges the freeze. Only then is the change made, so no
request that was decided by the old state of the catalog reaches a broker after it. The functions
are pure decisions on a state of the catalog; times are milliseconds since the epoch.
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
"""The rule of the error for a frozen name; the error is no denial by an ACL."""

UNDER_WAY: Final = 60_000
"""Milliseconds for which a broker may be at work on requests after their sender ended: the longest
``timeout_ms`` that a broker is sent."""

_TO_DENY_IT: Final = 2_000
"""Milliseconds in which a worker that was taken for gone writes that it runs."""


@dataclass(frozen=True, slots=True)
class Frozen:
    """The names and namespaces frozen in a state of the catalog: ``names`` as text
    (``org:orders``), and the paths of ``namespaces``, with everything below them."""

    names: frozenset[str] = frozenset()
    namespaces: tuple[str, ...] = ()

    @classmethod
    def of(cls, freezes: Iterable[Freeze]) -> Frozen:
        """The names and namespaces that these freezes hold together."""
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
        """Whether a logical name is frozen, by itself or by its namespace."""
        return self.holds(name.namespace, str(name))

    def concerns(self, snapshot: Snapshot, flat: str) -> bool:
        """Whether a frozen name leads to the topic that is stored as ``flat``, or a frozen
        namespace has such a name. A name that leads to another topic now led nowhere before, unless
        it was by an entry of this topic."""
        return any(
            self.holds(name.namespace, str(name) if _may_lead(snapshot, name, flat) else "")
            for name in names_of(snapshot, flat)
        )


NOTHING_FROZEN: Final = Frozen()


def names_of(snapshot: Snapshot, flat: str, *, links: bool = True) -> tuple[LogicalName, ...]:
    """Every name that leads to a topic: its own, its aliases and, if ``links``, its links."""
    entry = snapshot.topics.get(flat)
    own = (snapshot.owner(flat),) if entry is None else entry.names
    return (*own, *snapshot.links_of(flat)) if links else own


def _may_lead(snapshot: Snapshot, name: LogicalName, flat: str) -> bool:
    entry = snapshot.entry_of(name)
    return entry is None or entry.flat == flat


def freezes_in(snapshot: Snapshot) -> Mapping[str, Freeze]:
    """The freezes in progress, by id."""
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
    """Whether a freeze other than ``freeze_id`` holds any of these names (``org:orders``), or a
    name in or below any of these namespaces."""
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
    """Give a catalog in which no gateway has taken part the format that freezes need. A catalog to
    which older gateways may go back keeps its format until an operator raises it."""
    return [] if snapshot.gateways else at_least(FREEZE_FORMAT)(snapshot)


# -- workers ---------------------------------------------------------------------------------------


def arrive(snapshot: Snapshot, worker: Worker, workers: int, now: int) -> list[Change]:
    """The changes by which a worker of a gateway with so many ``workers`` takes part; empty if it
    does already.

    If another run has the same number, or a number that the gateway no longer has, that run has
    ended without leaving: requests it had sent may be in flight, and its freezes are ended.
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
    requests that it had sent."""
    worker = workers_in(snapshot).get(run)
    if worker is None:
        return []
    return [replace(worker, gone=now) if unsure else Removal(key_of(worker))]


def acknowledge(snapshot: Snapshot, run: str, quiet: Collection[str]) -> list[Change]:
    """The change by which a worker writes for which freezes it has no requests in flight
    (``quiet``), and that it runs; empty if the catalog has both already."""
    worker = workers_in(snapshot).get(run)
    if worker is None:
        return []
    has_read = tuple(sorted({*worker.has_read, *quiet} & freezes_in(snapshot).keys()))
    if not is_doubted(worker) and {*has_read} <= {*worker.has_read}:
        return []
    return [replace(worker, has_read=has_read, gone=0, unheard=0)]


def is_doubted(worker: Worker) -> bool:
    """Whether other workers take this worker for gone (two gateways may have the same id), or it
    did not acknowledge a freeze in time."""
    return bool(worker.gone or worker.unheard)


def forgotten(snapshot: Snapshot, now: int, silence: int) -> list[Change]:
    """The removal of workers for which no freeze has to wait any more. If a worker is ``gone``, its
    requests have ended; if it is ``unheard`` for ``silence`` milliseconds, it counts as ended."""
    return [
        Removal(key_of(one))
        for one in workers_in(snapshot).values()
        if (one.gone and one.gone + UNDER_WAY <= now)
        or (one.unheard and one.unheard + silence <= now)
    ]


def ended_lately(snapshot: Snapshot, now: int, patience: int) -> list[Worker]:
    """The workers that ended without leaving and hold up freezes for more than ``patience``
    milliseconds from now. A worker that was found gone just now is left out: if it runs, it writes
    so soon."""
    return [
        one
        for one in workers_in(snapshot).values()
        if one.gone and now - one.gone >= _TO_DENY_IT and one.gone + UNDER_WAY - now > patience
    ]


# -- freezes ---------------------------------------------------------------------------------------


def waited_for(snapshot: Snapshot, freeze: Freeze, now: int, silence: int) -> list[Worker]:
    """The workers, besides the maker of the freeze, that have not let go of its names."""
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
    """The changes that end a freeze, and note since when the ``unheard`` workers have not
    acknowledged it."""
    if freeze.freeze_id not in freezes_in(snapshot):
        return []
    known = workers_in(snapshot)
    late = [known[one.run] for one in unheard if one.run in known]
    marks = [replace(one, unheard=now) for one in late if not one.unheard and not one.gone]
    return [Removal(key_of(freeze)), *marks]


def expired(snapshot: Snapshot, now: int) -> list[Freeze]:
    """The freezes that their makers have not ended in time."""
    return [one for one in freezes_in(snapshot).values() if one.until <= now]
