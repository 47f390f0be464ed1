"""The channel between a worker and its supervisor: lines of JSON over an inherited socket pair.

The supervisor sends the configuration first, so that a restarted worker has the same configuration
as its siblings, even if the file has changed; later it sends orders, if policies are reloaded or an
operator has the page open. The worker sends that it is ready, or why it cannot start; then, once a
second, its counts and, after them, its state; and the results of orders.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable, Sequence
from typing import cast

from gateway.counts import Counts
from gateway.flows import Flow
from gateway.page.observed import Observed
from gateway.processes.worker_messages import (
    Failed,
    MakeRoom,
    Prepared,
    Ready,
    State,
    WorkerReport,
    encode_message,
    increments,
)
from gateway.telemetry.told import ClientsTold, ClientTold

MAX_LINE = 1024 * 1024
"""Bytes of the longest line that the supervisor reads."""

MAX_CONFIG = 64 * 1024 * 1024

WRITE_HIGH = 4 * MAX_LINE
"""Bytes that may wait for a supervisor that does not read; beyond them, counts wait in the
worker."""

CLOSE_SECONDS = 2.0

FEW_UNREAD = MAX_LINE // 2
"""Bytes that may wait for the supervisor before long answers go on: reports have room behind
them."""

READ_SECONDS = 0.01
"""Seconds between two looks whether the supervisor has read them."""


def receive_config(channel: socket.socket) -> bytes:
    """The supervisor's first line; it sends no other line before the worker has reported ready.

    Blocks; raises ConnectionError if the supervisor ends before the line, or the line is too long.
    """
    received = bytearray()
    while not received.endswith(b"\n"):
        piece = channel.recv(65_536)
        if not piece or len(received) > MAX_CONFIG:
            raise ConnectionError("the supervisor gave no configuration")
        received += piece
    return bytes(received)


class WorkerChannel(asyncio.Protocol):
    """The worker's end. ``on_closed`` is called when the supervisor's end is gone, ``on_line`` with
    each line that it sends; ``full``: the supervisor has not read the bytes that were sent."""

    def __init__(self, on_closed: Callable[[], None]) -> None:
        self._on_closed = on_closed
        self.on_line: Callable[[bytes], None] = lambda _: None
        self._received = bytearray()
        self._transport: asyncio.WriteTransport | None = None
        self._counts = Counts()
        self.full = False
        self._lost = asyncio.get_running_loop().create_future()

    @classmethod
    async def open(cls, channel: socket.socket, on_closed: Callable[[], None]) -> WorkerChannel:
        """Take over the inherited socket."""
        channel.setblocking(False)
        loop = asyncio.get_running_loop()
        _, protocol = await loop.create_unix_connection(lambda: cls(on_closed), sock=channel)
        return protocol

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Set how many bytes may wait for the supervisor."""
        # uvloop's transports are write transports, but do not inherit from WriteTransport.
        self._transport = cast(asyncio.WriteTransport, transport)
        self._transport.set_write_buffer_limits(WRITE_HIGH)

    def data_received(self, data: bytes) -> None:
        """Pass each whole line to ``on_line``."""
        self._received += data
        while (end := self._received.find(b"\n")) >= 0:
            line = bytes(self._received[:end])
            del self._received[: end + 1]
            self.on_line(line)

    def connection_lost(self, exc: Exception | None) -> None:
        """The supervisor is gone, or this end was closed."""
        self._transport = None
        if not self._lost.done():
            self._lost.set_result(None)
        self._on_closed()

    def pause_writing(self) -> None:
        """The supervisor does not read: go on counting, but send no reports."""
        self.full = True

    def resume_writing(self) -> None:
        """The supervisor has caught up."""
        self.full = False

    def send(self, message: Ready | Failed | Prepared | MakeRoom) -> None:
        """Send the result of the start or of an order, or a request for other workers to make
        room."""
        if self._transport is not None:
            self._transport.write(encode_message(message))

    def count(self, flows: Sequence[Flow]) -> None:
        """Add flows to the counts of the next report."""
        self._counts.add_flows(flows)

    def send_counts(self) -> None:
        """Send the counts so far, before their report: the supervisor hears that this worker does
        not hang."""
        if self._transport is not None and not self.full:
            self._send_counts(self._transport)

    async def report(self, report: WorkerReport) -> None:
        """Send the counts and the state, a line per round of the event loop; if the supervisor does
        not read, the counts wait for a later report."""
        self.count(report.flows)
        self._counts.add_rows(report.rows)
        transport = self._transport
        if transport is None or self.full:
            return
        for message in increments(self._counts.take()):
            if transport.is_closing():
                return
            transport.write(encode_message(message))
            await asyncio.sleep(0)
        # Last, so that /metrics never shows a state without the counts that led to it.
        state = State(
            report.connections,
            report.gauges,
            report.made_at,
            report.clusters,
            report.certificates,
        )
        transport.write(encode_message(state))

    def _send_counts(self, transport: asyncio.WriteTransport) -> None:
        for message in increments(self._counts.take()):
            transport.write(encode_message(message))

    def observe(self, observed: Observed) -> None:
        """Send observations for the page; dropped if the supervisor does not read, shortened if the
        line is too long."""
        if self._transport is not None and not self.full:
            line = encode_message(observed)
            while len(line) > MAX_LINE // 2:
                observed = observed.halved()
                line = encode_message(observed)
            self._transport.write(line)

    async def answer(self, message: ClientTold | ClientsTold) -> None:
        """Send a message of many, as fast as the supervisor reads; dropped if it is gone."""
        while self._transport is not None and self._unread() > FEW_UNREAD:
            await asyncio.sleep(READ_SECONDS)
        if self._transport is not None:
            self._transport.write(encode_message(message))
        await asyncio.sleep(0)

    def _unread(self) -> int:
        return 0 if self._transport is None else self._transport.get_write_buffer_size()

    async def close(self) -> None:
        """Send the remaining counts, and wait :data:`CLOSE_SECONDS` at most for the supervisor to
        read them."""
        if self._transport is None:
            return
        self._send_counts(self._transport)
        self._transport.close()
        await asyncio.wait([self._lost], timeout=CLOSE_SECONDS)
