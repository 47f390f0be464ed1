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
from bench.growth.plan import Plan, Say, climb, repeated
from bench.quick_load import FLATS, NAMES, Load, count_frames, exchange
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

    def seconds(self) -> float:
        """CPU seconds of one request and its response; checks that both are forwarded."""
        connection, broker, client = self._connection, self._broker, self._client
        side = connection._broker
        assert side is not None
        requests, _ = self._bytes
        gc.collect()
        spent = 0.0
        for _ in range(self._often):
            began = time.process_time()
            connection.data_received(requests)
            for read in self._reads:
                side.data_received(read)
            spent += time.process_time() - began
            forwarded, answered = broker.written, client.written
            broker.written = client.written = b""
            assert count_frames(forwarded) == count_frames(answered) == 1, "a Fetch did not pass"
        connection.session.take_flows()
        return spent / self._often


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
        taken = repeated(load.seconds, seconds)
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
