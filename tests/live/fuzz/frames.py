"""Frames that are almost right, sent to a gateway.

Each is sent as the first request of a connection, and as a later request. The gateway's resources
are counted before and after.
"""

from __future__ import annotations

import asyncio
import re
import socket
import struct
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from random import Random
from typing import Final
from uuid import UUID

from devkit.gateway_process import GatewayProcess
from devkit.waiting import wait_until
from tests.live.support import clients, processes
from tests.session import samples
from tests.session.mutations import at_random, framed, mutated
from tests.session.pair import request_frame

TOPICS: Final = ("fuzz", "", "nowhere:x", "team-a:fuzz", "x" * 300, "\u00e9\x00:")
"""The name of an existing topic, and some unlikely names."""

AT_ONCE: Final = 24
"""Connections that are open at a time."""

PATIENCE: Final = 0.25
"""Seconds for a response: if a frame is incomplete, or a long poll, there is none."""

MOST_ANSWERED: Final = 16 * 1024 * 1024

GONE: Final = struct.pack("ii", 1, 0)
"""SO_LINGER: the connection is reset when it is closed."""

CASES: Final = (*samples.decided(), *samples.decided(here=True))

LAST: Final = 0x6C617374
"""The correlation id of the last request, whose response shows that all are answered."""

ASKED_LAST: Final = request_frame(
    "ApiVersions", 0, samples.request("ApiVersions", 0, "", UUID(int=0)), LAST
)


_LAST: Final = LAST.to_bytes(4, "big")


def sample(random: Random, api: str, version: int, topic_id: UUID) -> bytes:
    """A valid request, except perhaps for its names."""
    topic = random.choice(TOPICS)
    known = random.choice((topic_id, UUID(int=0), UUID(int=9)))
    return request_frame(api, version, samples.request(api, version, topic, known))


def frames(random: Random, api: str, version: int, topic_id: UUID) -> tuple[bytes, bytes]:
    """A first request for a connection, and a frame that is almost right.

    Every fourth frame is valid.
    """
    versions = [other for name, other in CASES if name == api]
    before = sample(random, api, random.choice(versions), topic_id)
    frame = sample(random, api, version, topic_id)
    if random.random() < 0.25:
        return before, frame
    changes = [at_random(random) for _ in range(random.randint(1, 3))]
    return before, mutated(frame, changes) or framed(b"")


@dataclass(slots=True)
class ConnectionCounts:
    """Counts of connections, of connections with all responses, and of those closed by the
    gateway."""

    connections: int = 0
    answered: int = 0
    ended: int = 0


class Fuzz:
    """Sends frames to an address. ``random`` decides on everything."""

    def __init__(self, address: str, random: Random, topic_id: UUID) -> None:
        host, _, port = address.rpartition(":")
        self._address = (host, int(port))
        self._random = random
        self._topic_id = topic_id
        self.sent = ConnectionCounts()

    def run(self, cases: Iterable[tuple[str, int]], times: int) -> None:
        """Send so many frames of each API and version, each on two connections."""
        asyncio.run(self._run(iter(list(self._plans(cases, times)))))

    def _plans(
        self, cases: Iterable[tuple[str, int]], times: int
    ) -> Iterator[tuple[bytes, bool, bool]]:
        for api, version in cases:
            for _ in range(times):
                before, frame = frames(self._random, api, version, self._topic_id)
                rude = self._random.random() < 0.3
                yield frame, False, rude
                yield before + frame, True, not rude

    async def _run(self, plans: Iterator[tuple[bytes, bool, bool]]) -> None:
        async def worker() -> None:
            for data, later, rude in plans:
                await self._send(data, later, rude)

        await asyncio.gather(*(worker() for _ in range(AT_ONCE)))

    async def _send(self, data: bytes, later: bool, rude: bool) -> None:
        """Send frames over a connection until all are answered or the gateway closes it."""
        reader, writer = await asyncio.open_connection(*self._address, limit=MOST_ANSWERED)
        self.sent.connections += 1
        try:
            async with asyncio.timeout(PATIENCE):
                if later:
                    writer.write(ASKED_LAST)
                    await reader.readuntil(_LAST)
                writer.write(data + ASKED_LAST)
                await reader.readuntil(_LAST)
                self.sent.answered += 1
        except TimeoutError:
            pass
        except (OSError, EOFError):
            self.sent.ended += 1
        if rude:
            with suppress(OSError):  # it is closed already if the gateway has reset it
                own = writer.get_extra_info("socket")
                own.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, GONE)
        writer.close()
        with suppress(OSError):
            await writer.wait_closed()


@dataclass(frozen=True, slots=True)
class Resources:
    """A gateway's resources: file descriptors and KiB of its workers, and open connections."""

    descriptors: int
    kib: int
    connections: float


def resources(gateway: GatewayProcess) -> Resources:
    """The gateway's resources now."""
    workers = processes.workers(gateway)
    return Resources(
        sum(worker.num_fds() for worker in workers),
        sum(worker.memory_info().rss for worker in workers) // 1024,
        sum(_values(gateway.metrics(), "kafka_gateway_open_connections")),
    )


def internal_errors(gateway: GatewayProcess) -> float:
    """Connections that a defect has ended, according to the metrics."""
    name = r'kafka_gateway_connection_closes_total\{reason="(?:internal error|a change failed)"\}'
    return sum(_values(gateway.metrics(), name))


def await_held(
    gateway: GatewayProcess, enough: Callable[[Resources], bool], what: str
) -> Resources:
    """Wait until a gateway holds few enough resources. Raises DeadlineError."""
    wait_until(lambda: enough(resources(gateway)), what, clients.SECONDS)
    return resources(gateway)


def _values(metrics: str, name: str) -> list[float]:
    found = re.findall(rf"^{name}(?:\{{.*\}})? ([0-9.e+-]+)$", metrics, re.MULTILINE)
    return [float(value) for value in found]
