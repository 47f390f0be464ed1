"""Partitions of one Fetch: the CPU of each, through one connection between transports in memory.

The topics are ten, as far as there are as many partitions, and each partition has a batch of 100
bytes, so that the heads of partitions are what is read, not records.
"""

from __future__ import annotations

import asyncio
import gc
import time
from collections.abc import Mapping
from statistics import median
from typing import Final

from bench.growth.curves import Figure, Kind, Sweep, Values, curves
from bench.growth.plan import LEAST, Plan, Say, climb
from bench.quick_load import FLATS, NAMES, Load, count_frames, exchange
from tests.connections.connected import settled
from tests.session import fetching

_BY_NAME: Final = Figure("a partition, topics by name (Fetch 12)", "CPU us", Kind.EACH)
_BY_ID: Final = Figure("a partition, topics by id (Fetch 15)", "CPU us", Kind.EACH)
FIGURES: Final = (_BY_NAME, _BY_ID)

_READ: Final = 1 << 18
"""Bytes of a read, as of uvloop's."""

_AT_ONCE: Final = 100
"""Partitions, in as many requests, that are measured together at least."""


class Fetches(Load):
    """Fetch requests, one after the other, whose responses arrive in reads of a socket's size."""

    def __init__(self, requests: bytes, responses: bytes, partitions: int) -> None:
        super().__init__(requests, responses, 1)
        self._reads = [responses[at : at + _READ] for at in range(0, len(responses), _READ)]
        self._often = max(1, _AT_ONCE // partitions)

    async def prepare(self) -> None:
        """Connect it, and let a first request pass."""
        self._connection.data_received(self._bytes[0])
        await settled()
        await self._respond()
        self._broker.written = self._client.written = b""

    async def seconds(self) -> float:
        """CPU seconds of one request and its response; checks that both are forwarded."""
        connection, broker, client = self._connection, self._broker, self._client
        gc.collect()
        spent = 0.0
        for _ in range(self._often):
            began = time.process_time()
            connection.data_received(self._bytes[0])
            await self._respond()
            spent += time.process_time() - began
            forwarded, answered = broker.written, client.written
            broker.written = client.written = b""
            assert count_frames(forwarded) == count_frames(answered) == 1, "a Fetch did not pass"
        connection.session.take_flows()
        return spent / self._often

    async def _respond(self) -> None:
        """The broker's response, which takes several turns of the event loop if it is long."""
        side = self._connection._broker
        assert side is not None
        for read in self._reads:
            side.data_received(read)
            while self._connection.session.restoring is not None:
                await asyncio.sleep(0)


def measure(plan: Plan, say: Say) -> Sweep:
    """Measure."""
    notes: list[str] = []
    measured: dict[int, Values] = {}
    for size in climb(plan, "partitions", notes, say):
        measured[size] = asyncio.run(_point(size, plan.seconds))
    return Sweep("partitions", "partitions", curves(FIGURES, measured), notes)


async def _point(size: int, seconds: float) -> Values:
    values = {}
    for figure, version in ((_BY_NAME, 12), (_BY_ID, 15)):
        load = Fetches(*fetches(version, size), size)
        await load.prepare()
        taken: list[float] = []
        end = time.monotonic() + seconds
        while len(taken) < LEAST or time.monotonic() < end:
            taken.append(await load.seconds())
        values[figure.title] = median(taken) / size * 1e6
    return values


def fetches(version: int, partitions: int) -> tuple[bytes, bytes]:
    """The frames of a Fetch of so many partitions, and of its response."""
    by_id = version > 12
    asked: dict[object, list[int]] = {}
    answered: dict[object, list[bytes]] = {}
    for topic, count in _spread(partitions).items():
        asked[topic + 1 if by_id else NAMES[topic]] = list(range(count))
        answered[topic + 1 if by_id else FLATS[topic]] = [fetching.batch(1)] * count
    requests, responses, _ = exchange(
        "Fetch",
        version,
        fetching.request(version, asked),
        fetching.response(version, answered),
        1,
    )
    return requests, responses


def _spread(partitions: int) -> Mapping[int, int]:
    """How many partitions each topic has, by its place in the names."""
    topics = min(partitions, len(NAMES))
    return {n: (partitions + topics - 1 - n) // topics for n in range(topics)}
