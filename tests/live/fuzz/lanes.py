"""Sends a plain broker and a gateway the same random requests, and finds different responses.

There are two clusters, one of them behind the gateway. Several lanes work at the same time, each
with topics, groups and ids of its own. A lane sends both sides the same sequences, each over a new
connection, and waits for both before it continues, so that both have the same state.
"""

from __future__ import annotations

import asyncio
import random
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from devkit.waiting import Progress, progress
from tests.live.fuzz.answers import LEFT_OUT, Leaf, Symbols, differences
from tests.live.fuzz.differences import why
from tests.live.fuzz.requests import Burst, Request, Requests, Served
from tests.live.fuzz.settling import ask, forget_topics, make_topics, served_by_both, settle
from tests.live.fuzz.sides import CLOSED, HUNG, Names, Side
from tests.live.fuzz.values import PARTITIONS

LANES: Final = 16
MORE_LANES: Final = 64
MANY: Final = 100_000
"""Requests from which on there are more lanes, because a lane that waits for a broker costs
nothing."""

CHANGING: Final = frozenset({"Produce", "JoinGroup", "ConsumerGroupHeartbeat"})
"""APIs that leave both sides in different states if their responses differ.

The effects of Fetch end with the connection.
"""

Why = Callable[[Request, Leaf], str | None]

_TRIES: Final = 5
_SHRINKS: Final = 20
_MOST_FAILURES: Final = 25


@dataclass(frozen=True, slots=True)
class Address:
    """How to reach a side.

    ``address`` is also the address of the only broker in its responses, unless ``broker`` differs;
    ``prefix`` precedes the names of topics. ``number`` is of its cluster in a tree, ``left_out``
    are fields that are not compared.
    """

    address: str
    prefix: str = ""
    broker: str = ""
    number: int = 0
    left_out: frozenset[str] = LEFT_OUT

    def symbols(self, lane: str) -> Symbols:
        """The symbols for a lane's responses."""
        return Symbols(self.prefix, self.broker or self.address, lane, self.number, self.left_out)


@dataclass(slots=True)
class Failure:
    """An unexplained difference, with the shortest sequence that leads to it."""

    seed: str
    leaf: Leaf
    request: Request
    bursts: list[Burst]
    count: int = 1

    def report(self) -> str:
        """A report of the difference, and how to reproduce it."""
        lines = [
            f"{self.request.api} v{self.request.version}, seed {self.seed}, {self.count} times:"
        ]
        lines.append(f"  at {self.leaf.path or '(the answer)'}")
        lines.append(f"    Kafka:   {self.leaf.expected!r}"[:600])
        lines.append(f"    gateway: {self.leaf.got!r}"[:600])
        for number, burst in enumerate(self.bursts):
            for request in burst:
                lines.append(f"    {number}: {request.api} v{request.version} {request.values}")
        return "\n".join(lines)


@dataclass(slots=True)
class Outcome:
    """The result of a run: the requests that were compared, by API, and the differences found.

    ``why`` returns the reason for a difference, or None if there is none. ``races`` are differences
    that did not come again, however often the sequence was sent.
    """

    requests: int = 0
    by_api: Counter[str] = field(default_factory=Counter)
    explained: Counter[str] = field(default_factory=Counter)
    failures: dict[tuple[str, str, str, str], Failure] = field(default_factory=dict)
    races: list[Failure] = field(default_factory=list)
    progress: Progress | None = None
    why: Why = why

    def count(self, requests: Sequence[Request]) -> None:
        """Count requests that were compared."""
        self.requests += len(requests)
        self.by_api.update(request.api for request in requests)
        if self.progress is not None:
            self.progress.detail = f"{self.requests:,}, {len(self.failures)} differences"


class Lane:
    """A lane, which sends both sides sequence after sequence."""

    def __init__(self, name: str, plain: Address, gateway: Address, outcome: Outcome) -> None:
        self._served: Served = {}
        self._name = self._first_name = name
        self._renewals = 0
        self._drifts = self._ended = False
        self._addresses = (plain, gateway)
        self._outcome = outcome
        self._symbols = [address.symbols(self._name) for address in self._addresses]
        self._foreign = [0, 0]
        self._runs = 0

    @property
    def name(self) -> str:
        """The first prefix of the names of this lane's topics, groups and ids."""
        return self._first_name

    async def _renew(self) -> None:
        """Start again with other names, because a difference may have left the sides in different
        states."""
        for side in await self._open():
            await forget_topics(side, [f"{self._name}-{name}" for name in PARTITIONS])
            await side.close()
        self._renewals += 1
        self._name = f"{self._first_name}r{self._renewals}"
        self._symbols = [address.symbols(self._name) for address in self._addresses]
        await self.prepare()

    async def prepare(self) -> None:
        """Create this lane's topics on both sides."""
        names = {f"{self._name}-{name}": count for name, count in PARTITIONS.items()}
        sides = await self._open()
        self._served = served_by_both([await side.served() for side in sides])
        for side in sides:
            await make_topics(side, self._name, names)
            await side.close()

    async def run(self, seed: str, requests: int) -> None:
        """Compare until so many requests are compared in all lanes together."""
        number = 0
        while self._outcome.requests < requests:
            if len(self._outcome.failures) >= _MOST_FAILURES:
                return
            await self.run_one(f"{seed}/{self._first_name}/{number}")
            number += 1

    async def run_one(self, own: str) -> None:
        """Compare the sequence of a seed."""
        bursts = Requests(random.Random(own), self._served).sequence()
        found = await self.compare(bursts, count=True)
        if found is None:
            if self._drifts:
                await self._renew()
            return
        at, place, leaf = found
        request = bursts[at][place]
        key = (request.api, leaf.path, repr(leaf.expected)[:60], repr(leaf.got)[:60])
        await self._renew()
        if key in self._outcome.failures:
            self._outcome.failures[key].count += 1
            return
        failure = Failure(own, leaf, request, bursts[: at + 1])
        if not await self._comes_again(failure):
            self._outcome.races.append(failure)
            await self._renew()
            return
        self._outcome.failures[key] = failure
        failure.bursts = await self._shrunk(failure)
        print(failure.report(), file=sys.stderr, flush=True)
        await self._renew()

    async def compare(
        self, bursts: Sequence[Burst], count: bool = False
    ) -> tuple[int, int, Leaf] | None:
        """Send both sides the same over new connections; the first unknown difference.

        It is returned as the numbers of the burst and of the request in it, and the place.
        """
        self._runs += 1
        self._drifts = self._ended = False
        names = Names(self._name, self._runs)
        sides = await self._open()
        silent = False  # a broker may close the connection for such a request a moment later
        try:
            for number, burst in enumerate(bursts):
                asked = [replace(r, values=names.fixed(r.values)) for r in burst]
                answers = await asyncio.gather(*(ask(side, asked) for side in sides))
                if count:
                    self._outcome.count(asked)
                self._drifts = _is_left_open(answers, silent)
                found = None if self._drifts else self._first(asked, *answers)
                if found is not None:
                    return number, *found
                if self._drifts or self._ended:
                    return None
                silent = asked[-1].silent
                await settle(sides, asked, answers[0])
            return None
        finally:
            for at, side in enumerate(sides):
                self._foreign[at] = (side.symbols.sessions or [self._foreign[at]])[-1]
                await side.close()

    def _first(self, asked: Burst, plain: list[Any], gateway: list[Any]) -> tuple[int, Leaf] | None:
        for at, (request, expected, got) in enumerate(zip(asked, plain, gateway, strict=False)):
            known = False
            for leaf in differences(expected, got):
                # Silence is never a known difference.
                reason = None if HUNG in (expected, got) else self._outcome.why(request, leaf)
                if reason is None:
                    return at, leaf
                known = True
                self._outcome.explained[reason] += 1
            self._drifts = known and request.api in CHANGING
            self._ended = CLOSED in (expected, got) or (known and request.api == "Fetch")
            if self._drifts or self._ended:
                return None
        return None

    async def _open(self) -> list[Side]:
        sides = []
        for at, address in enumerate(self._addresses):
            symbols = address.symbols(self._name)
            symbols.topic_ids = self._symbols[at].topic_ids
            sides.append(Side(address.address, symbols, self._foreign[at]))
        await asyncio.gather(*(side.open() for side in sides))
        return sides

    async def _fails(self, failure: Failure, bursts: list[Burst]) -> bool:
        """Whether a sequence leads to the same difference."""
        found = await self.compare(bursts)
        if found is None:
            return False
        same = bursts[found[0]][found[1]].api == failure.request.api
        return same and found[2].path == failure.leaf.path

    async def _comes_again(self, failure: Failure) -> bool:
        """Whether a difference comes again in any of some tries.

        On a busy machine, two brokers sometimes differ by themselves: in the effect of acks=0 when
        the next connection reads, in a group that is listed while it is created.
        """
        for _ in range(_TRIES):
            if await self._fails(failure, failure.bursts):
                return True
            await self._renew()
        return False

    async def _shrunk(self, failure: Failure) -> list[Burst]:
        """The shortest part of a sequence that still leads to the same difference."""

        async def fails(bursts: list[Burst]) -> bool:
            return await self._fails(failure, bursts)

        if await fails([[failure.request]]):
            return [[failure.request]]
        bursts = failure.bursts
        every = [request for burst in bursts for request in burst]
        for request in every[:_SHRINKS]:
            smaller = [[one for one in burst if one is not request] for burst in bursts]
            smaller = [burst for burst in smaller if burst]
            if smaller and await fails(smaller):
                bursts = smaller
        return bursts


def _is_left_open(answers: Sequence[list[Any]], silent: bool) -> bool:
    """Whether the outcome is undefined.

    A broker that closes a connection for a request without a response does so a moment later, and
    some requests it does not answer at all.
    """
    return (silent and any(CLOSED in each for each in answers)) or HUNG in answers[0]


async def fuzz(plain: Address, gateways: Sequence[Address], seed: str, requests: int) -> Outcome:
    """Compare so many requests, in lanes that each use one of the gateway's listeners.

    The ``seed`` of a failure gives only its sequence again.
    """
    return await compared([(plain, gateway) for gateway in gateways], seed, requests, Outcome())


async def compared(
    pairs: Sequence[tuple[Address, Address]], seed: str, requests: int, outcome: Outcome
) -> Outcome:
    """Compare so many requests, in lanes that each compare a pair of these sides."""
    seed, _, one = seed.partition("/")
    count = MORE_LANES if one or requests >= MANY else LANES
    lanes = [Lane(f"lane-{seed}-{n}", *pairs[n % len(pairs)], outcome) for n in range(count)]
    if one:
        (lane,) = (lane for lane in lanes if lane.name == one.partition("/")[0])
        await lane.prepare()
        await lane.run_one(f"{seed}/{one}")
        return outcome
    with progress(f"asking two sides {requests:,} requests each") as told:
        await asyncio.gather(*(lane.prepare() for lane in lanes))
        outcome.progress = told
        await asyncio.gather(*(lane.run(seed, requests) for lane in lanes))
    return outcome
