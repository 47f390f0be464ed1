"""The loads of ``make bench-quick``: requests through one connection, between transports in memory.

Runs by its path, in the directory of the tree that it measures, with that tree's product and test
helpers. It prints the form of the product's hot path. For each line on standard input it runs every
load once, and prints the microseconds of CPU for each request as a line of JSON.
"""

from __future__ import annotations

import asyncio
import gc
import json
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path.cwd()))

from gateway.hot_path import running_form
from protocol import messages
from tests.connections.connected import connected, settled
from tests.scenarios.entities import entity
from tests.session import fetching
from tests.session.allowing import Allowing
from tests.session.pair import Pair, request_frame, response_frame
from tests.session.producing import batch, produce, produced

AT_ONCE = 10
"""Requests in one read, of clients that send the next ones before the response."""

SECONDS = 0.1
"""CPU time of one run of a load, about."""

NAMES = [f"team-a:orders-{number}" for number in range(10)]
FLATS = [name.replace(":", "..") for name in NAMES]


def message(name: str, version: int, **values: object) -> Any:
    return entity(messages.message_class(name, version), values)


def frames(make: Callable[[int], bytes], count: int = AT_ONCE) -> bytes:
    """Frames with correlation ids from 1 on."""
    return b"".join(make(number) for number in range(1, count + 1))


def exchange(
    name: str, version: int, request: Any, response: Any, count: int = AT_ONCE
) -> tuple[bytes, bytes, int]:
    """Requests, their responses, and how many."""
    return (
        frames(lambda number: request_frame(name, version, request, number), count),
        frames(lambda number: response_frame(name, version, response, number), count),
        count,
    )


def exchanges() -> dict[str, tuple[bytes, bytes, int]]:
    """Every load's requests, responses, and their number, by the load's name."""
    records = [batch(1) + bytes(1000)]
    partitions = [{"partition_index": 0}]
    listed = [
        {"name": flat, "topic_id": number, "partitions": [{**partitions[0], "leader_id": 1}]}
        for number, flat in enumerate(FLATS, 1)
    ]
    offsets = [{"name": name, "partitions": partitions} for name in NAMES]
    committed = [{"name": flat, "partitions": partitions} for flat in FLATS]
    return {
        "Produce by name": exchange(
            "Produce", 12, produce({NAMES[0]: [*records]}, 12), produced({FLATS[0]: [0]}, 12)
        ),
        "Produce by id": exchange(
            "Produce", 13, produce({"1": [*records]}, 13), produced({"1": [0]}, 13)
        ),
        "Produce of 10 topics": exchange(
            "Produce",
            12,
            produce({name: [*records] for name in NAMES}, 12),
            produced({flat: [0] for flat in FLATS}, 12),
        ),
        "Fetch by name": exchange(
            "Fetch",
            12,
            fetching.request(12, {NAMES[0]: [0]}),
            fetching.response(12, {FLATS[0]: [*records]}),
        ),
        "Fetch by id": exchange(
            "Fetch", 15, fetching.request(15, {1: [0]}), fetching.response(15, {1: [*records]})
        ),
        "Metadata of 10 topics": exchange(
            "Metadata",
            12,
            message("MetadataRequest", 12, topics=[{"name": name} for name in NAMES]),
            message("MetadataResponse", 12, brokers=[], topics=listed),
            1,
        ),
        "OffsetCommit of 10 topics": exchange(
            "OffsetCommit",
            8,
            message("OffsetCommitRequest", 8, group_id="g", topics=offsets),
            message("OffsetCommitResponse", 8, topics=committed),
            1,
        ),
        "Heartbeat": exchange(
            "Heartbeat",
            4,
            message("HeartbeatRequest", 4, group_id="g", member_id="m"),
            message("HeartbeatResponse", 4),
            1,
        ),
    }


class Load:
    """One load on a connection of its own."""

    def __init__(self, requests: bytes, responses: bytes, count: int) -> None:
        allowed = [f"{operation} TOPIC {name}" for name in NAMES for operation in _OPERATIONS]
        pair = Pair(topics=FLATS, authorizer=Allowing([*allowed, "READ GROUP g"]))
        # The session itself, not the scan that tests put before it.
        pair.session = getattr(pair.session, "_session", pair.session)
        self._connection, server, self._client = connected(pair)
        self._broker = server.broker
        self._bytes = requests, responses
        self._count = count
        self._times = 1

    async def prepare(self) -> None:
        """Connect it, and choose how often a run repeats it."""
        requests, responses = self._bytes
        self._connection.data_received(requests)
        await settled()
        side = self._connection._broker
        assert side is not None
        side.data_received(responses)
        self._broker.written = self._client.written = b""
        once = self.run() * self._count / 1_000_000
        self._times = max(1, int(SECONDS / once))

    def run(self) -> float:
        """Microseconds of CPU for each request; checks that each is forwarded and answered."""
        requests, responses = self._bytes
        connection, side = self._connection, self._connection._broker
        broker, client = self._broker, self._client
        assert side is not None
        gc.collect()
        began = time.process_time_ns()
        for _ in range(self._times):
            connection.data_received(requests)
            side.data_received(responses)
            forwarded, answered = broker.written, client.written
            broker.written = client.written = b""
        connection.session.take_flows()
        spent = time.process_time_ns() - began
        assert count_frames(forwarded) == count_frames(answered) == self._count, (
            "not every request passed"
        )
        return spent / 1_000 / (self._times * self._count)


_OPERATIONS = ("READ", "WRITE", "DESCRIBE")


def count_frames(data: bytes) -> int:
    """The number of whole frames."""
    count = position = 0
    while position < len(data):
        position += 4 + int.from_bytes(data[position : position + 4], "big")
        count += 1
    assert position == len(data)
    return count


async def main() -> None:
    """Serve rounds until standard input ends."""
    loads: Mapping[str, Load] = {name: Load(*given) for name, given in exchanges().items()}
    for load in loads.values():
        await load.prepare()
    print(running_form(), flush=True)
    for _ in sys.stdin:
        print(json.dumps({name: load.run() for name, load in loads.items()}), flush=True)


if __name__ == "__main__":
    asyncio.run(main())
