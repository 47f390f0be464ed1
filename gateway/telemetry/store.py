"""What a worker keeps of its clients' pushes: the newest of each client, within bounds.

If the store is full, a new client takes the place of another one only if that one's home has more
than its own will have then (in one home: that one's principal). So no tenant can push out another
one that has less, and clients do not push out each other in turns.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from operator import itemgetter
from time import monotonic
from typing import Final, TypeVar

from gateway.counts import Row
from gateway.telemetry.instances import InstanceKey, Owner
from gateway.telemetry.limits import FAMILY_BYTES, UNIT_BYTES

DROPPED: Final = "client_telemetry_dropped"
"""The counter's family (gateway/processes/metric_families.py)."""

NO_ROOM: Final = "clients"
"""Why a client's metrics are dropped: there are ``client_telemetry.max_clients``."""

INTERVALS: Final = 2.5
"""Push intervals after which the metrics of a silent client go. Clients vary the interval by half
of it, so one push may be missed."""

LAST_SECONDS: Final = 60.0
"""Seconds for which the metrics of a client that has ended are kept, unless they are read
before."""

_Home = tuple[str, str]
_K = TypeVar("_K")


@dataclass(slots=True)
class Kept:
    """The newest push of a client.

    ``labels``: those of all its series. ``families``: their texts (``series.py``), which
    :meth:`gateway.telemetry.told.ClientTold.of` decodes.
    ``pushed_at``, ``ends_at``: seconds of ``time.monotonic``, which all processes of a machine
    share. ``last``: its client has ended.
    """

    key: InstanceKey
    labels: Mapping[str, str]
    families: Mapping[str, bytes]
    pushed_at: float
    ends_at: float
    last: bool = False

    @property
    def units(self) -> int:
        """What it counts against the bound."""
        families = self.families
        size = sum(map(len, families)) + sum(map(len, families.values()))
        return 1 + (size + FAMILY_BYTES * len(families)) // UNIT_BYTES


class Store:
    """The metrics of a worker's clients; ``most``: units that they may have together."""

    def __init__(self, most: int, now: Callable[[], float] = monotonic) -> None:
        self._most = most
        self._now = now
        # Each in the order of its clients' pushes.
        self._kept: dict[Owner, dict[InstanceKey, Kept]] = {}
        self._of_home: Counter[_Home] = Counter()
        self._of_principal: Counter[tuple[_Home, str]] = Counter()
        self._units = 0
        self._dropped: Counter[str] = Counter()

    def __len__(self) -> int:
        return sum(map(len, self._kept.values()))

    @property
    def units(self) -> int:
        """What its clients count together."""
        return self._units

    def put(self, kept: Kept) -> None:
        """Keep a push in place of the client's earlier one, if there is room."""
        self.remove(kept.key)
        units = kept.units
        while self._units + units > self._most:
            victim = self._victim(kept.key.owner, units)
            self._dropped[NO_ROOM] += 1
            if victim is None:
                return
            self.remove(victim)
        self._count(kept, 1)
        self._kept.setdefault(kept.key.owner, {})[kept.key] = kept

    def remove(self, key: InstanceKey) -> None:
        """Forget a client's metrics, if any are kept."""
        of_owner = self._kept.get(key.owner, {})
        kept = of_owner.pop(key, None)
        if kept is not None:
            self._count(kept, -1)
            if not of_owner:
                del self._kept[key.owner]

    def end(self, key: InstanceKey) -> None:
        """Keep a client's metrics until they are told once more, or for ``LAST_SECONDS``: the
        client has ended."""
        kept = self._kept.get(key.owner, {}).get(key)
        if kept is not None:
            kept.last, kept.ends_at = True, min(kept.ends_at, self._now() + LAST_SECONDS)

    def drop(self, reasons: Mapping[str, int]) -> None:
        """Count series that are not kept, by the reason."""
        self._dropped.update(reasons)

    def tell(self) -> list[Kept]:
        """All that is kept now. What clients pushed at their end is not told again."""
        self.expire(self._now())
        told = self._all()
        for kept in told:
            if kept.last:
                self.remove(kept.key)
        return told

    def expire(self, now: float) -> None:
        """Forget the metrics of clients that are silent, or have ended."""
        for kept in self._all():
            if kept.ends_at <= now:
                self.remove(kept.key)

    def take_rows(self) -> list[Row]:
        """The counts since the last call."""
        dropped, self._dropped = self._dropped, Counter()
        return [(DROPPED, (reason,), count) for reason, count in dropped.items()]

    def _all(self) -> list[Kept]:
        return [kept for of_owner in self._kept.values() for kept in of_owner.values()]

    def _count(self, kept: Kept, sign: int) -> None:
        units, home = sign * kept.units, _home(kept.key.owner)
        self._units += units
        principal = home, kept.key.owner.principal
        self._of_home[home] += units
        self._of_principal[principal] += units
        if not self._of_home[home]:
            del self._of_home[home]
        if not self._of_principal[principal]:
            del self._of_principal[principal]

    def _victim(self, owner: Owner, units: int) -> InstanceKey | None:
        """The client that makes room for one of this owner; None: it is the owner that has the
        most."""
        home = _home(owner)
        largest = _largest(self._of_home.items())
        if largest is None:
            return None
        if largest == home or self._of_home[largest] <= self._of_home[home] + units:
            mine = self._of_principal[home, owner.principal] + units
            theirs = _largest(
                (each, count) for each, count in self._of_principal.items() if each[0] == home
            )
            if theirs is None or self._of_principal[theirs] <= mine:
                return None
            return self._oldest(*theirs)
        most = _largest(
            (each, count) for each, count in self._of_principal.items() if each[0] == largest
        )
        assert most is not None
        return self._oldest(*most)

    def _oldest(self, home: _Home, principal: str) -> InstanceKey:
        """The client of a home's principal that has been silent longest."""
        firsts = [
            next(iter(of_owner.values()))
            for owner, of_owner in self._kept.items()
            if owner.principal == principal and _home(owner) == home
        ]
        return min(firsts, key=lambda kept: kept.pushed_at).key


def _home(owner: Owner) -> _Home:
    return owner.cluster, owner.home


def _largest(counts: Iterable[tuple[_K, int]]) -> _K | None:
    return max(counts, key=itemgetter(1), default=(None, 0))[0]
