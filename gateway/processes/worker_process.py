"""The place of one worker, and one run of its process, as the supervisor sees them."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import socket
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TypeAlias

from gateway.config.policies import PolicySettings
from gateway.processes.logs import log_format
from gateway.processes.worker_channel import MAX_LINE
from gateway.processes.worker_messages import (
    Abort,
    Commit,
    Message,
    Order,
    Prepare,
    Prepared,
    decode_message,
    encode_message,
)

log = logging.getLogger(__name__)

LAST_WORDS_SECONDS = 1.0
"""For each line of what a worker that has ended has written last."""

MAX_LINES = 256
"""Lines of a worker that wait for their turn; most have 30 KiB."""

EXIT_SECONDS = 10.0
"""Seconds that a worker may take to end after it has closed its channel."""

WorkerCommand: TypeAlias = Callable[[int, int], Sequence[str]]
"""(worker id, number of the channel's descriptor) to the command line that starts it."""

_BLOCKED = {signal.SIGINT, signal.SIGTERM, signal.SIGHUP}


def worker_command(
    worker_id: int, channel_fd: int, new_catalogs: Sequence[str] = ()
) -> Sequence[str]:
    """The command line of :mod:`gateway.processes.worker`; ``new_catalogs`` are the clusters whose
    catalogs may begin anew."""
    level = logging.getLevelName(logging.getLogger().getEffectiveLevel())
    # -P: what lies in the current directory is no part of the gateway.
    start = [sys.executable, "-P", "-m", "gateway.processes.worker"]
    return [
        *start,
        f"--worker-id={worker_id}",
        f"--channel-fd={channel_fd}",
        f"--log-level={level}",
        f"--log-format={log_format()}",
        *(f"--new-catalog={name}" for name in new_catalogs),
    ]


def exit_text(status: int) -> str:
    """An exit status in words."""
    if status < 0:
        return f"killed by {signal.Signals(-status).name}"
    return f"exit status {status}"


class WorkerProcess:
    """A started worker, and the group of processes that it leads: what a policy class of its forks
    ends when it does."""

    def __init__(
        self,
        process: asyncio.subprocess.Process,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
    ) -> None:
        self._process = process
        self._reader = reader
        self._writer = writer
        self._lines = 0

    @classmethod
    async def start(cls, worker_id: int, command: WorkerCommand, config: str) -> WorkerProcess:
        """Start one and give it its configuration; one at a time. Raises OSError."""
        ours, theirs = socket.socketpair()
        try:
            # It begins with these signals blocked, so that none can come before it is able to
            # handle it: a Ctrl-C in the terminal reaches every process of the group. SIGINT and
            # SIGHUP stay blocked: they are the supervisor's to handle.
            signal.pthread_sigmask(signal.SIG_BLOCK, _BLOCKED)
            try:
                process = await asyncio.create_subprocess_exec(
                    *command(worker_id, theirs.fileno()),
                    stdin=asyncio.subprocess.DEVNULL,
                    pass_fds=[theirs.fileno()],
                    process_group=0,
                    env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
                )
            finally:
                signal.pthread_sigmask(signal.SIG_UNBLOCK, _BLOCKED)
        except OSError:
            ours.close()
            raise
        finally:
            theirs.close()
        reader, writer = await asyncio.open_unix_connection(sock=ours, limit=MAX_LINE)
        writer.write(config.encode() + b"\n")
        return cls(process, reader, writer)

    @property
    def pid(self) -> int:
        """Its process id."""
        return self._process.pid

    async def run(self, received: Callable[[Message], None]) -> int:
        """Hand over each message until the worker has ended; returns its exit status.

        Negative: the signal that ended it. The process itself is waited for, not the end of its
        channel: a process that it has forked may hold that open.
        """
        receiving = asyncio.ensure_future(self._receive(received))
        ended = asyncio.ensure_future(self._process.wait())
        try:
            await asyncio.wait((receiving, ended), return_when=asyncio.FIRST_COMPLETED)
            _, late = await asyncio.wait((ended,), timeout=EXIT_SECONDS)
            if late:
                log.warning("worker process %d has closed its channel but runs on", self.pid)
                self.kill()
            status = await ended
            self._end_group()
            heard = -1
            while not receiving.done() and heard != self._lines:
                heard = self._lines
                await asyncio.wait((receiving,), timeout=LAST_WORDS_SECONDS)
            if receiving.done():
                receiving.result()
            return status
        finally:
            receiving.cancel()
            ended.cancel()
            self._writer.close()

    def send(self, order: Order) -> None:
        """Give it an order; it may be gone by then."""
        self._writer.write(encode_message(order))

    def terminate(self) -> None:
        """Ask it to drain and exit."""
        with suppress(ProcessLookupError):
            self._process.terminate()

    def kill(self) -> None:
        """End it at once, with all that it has forked."""
        if self._process.returncode is None:
            self._end_group()

    def _end_group(self) -> None:
        # macOS does not permit it where only zombies are left.
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, signal.SIGKILL)

    async def _receive(self, received: Callable[[Message], None]) -> None:
        """Hand over one line in each round of the event loop: it takes some ms, and a busy worker
        writes a hundred at once. They are read before, because a worker that ends with orders
        unread resets the channel, and asyncio gives nothing of what has come before that."""
        lines: asyncio.Queue[bytes] = asyncio.Queue(MAX_LINES)
        reading = asyncio.ensure_future(self._read(lines))
        try:
            while line := await lines.get():
                self._lines += 1
                self._take(line, received)
                await asyncio.sleep(0)
        finally:
            reading.cancel()

    async def _read(self, lines: asyncio.Queue[bytes]) -> None:
        """Read lines, the last one empty. One that was cut off by the worker's end is left out."""
        try:
            while True:
                await lines.put(await self._reader.readuntil())
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        except asyncio.LimitOverrunError:
            log.error("worker process %d sent a line without end", self.pid)
            self.kill()
        await lines.put(b"")

    def _take(self, line: bytes, received: Callable[[Message], None]) -> None:
        try:
            message = decode_message(line)
        except ValueError as error:
            log.error("worker process %d sent %s", self.pid, error)
        else:
            received(message)


@dataclass(slots=True)
class WorkerSlot:
    """``policies`` are those that its process goes by; ``failure`` is why it could not start.
    ``served``: its process was ready, so that it may have had clients. ``unheard`` counts the looks
    at it since its last message (gateway/processes/silence.py)."""

    worker_id: int
    process: WorkerProcess | None = None
    ready: bool = False
    served: bool = False
    failure: str = ""
    unheard: int = 0
    policies: PolicySettings | None = None
    _results: dict[int, asyncio.Future[str]] = field(default_factory=dict)
    _last_order: tuple[int, WorkerProcess] | None = None

    async def prepare(self, order: Prepare, seconds: float) -> str:
        """Have the worker prepare policies; why it cannot, or nothing. It may take ``seconds``."""
        if self.process is None:
            return "it has ended"
        answer: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self._results[order.number] = answer
        self._last_order = order.number, self.process
        self.process.send(order)
        try:
            async with asyncio.timeout(seconds):
                return await answer
        except TimeoutError:
            return f"it did not answer within {seconds:g} s"
        finally:
            del self._results[order.number]

    def prepared(self, message: Prepared) -> None:
        """The worker's result; one that is not waited for any more is left out."""
        answer = self._results.get(message.number)
        if answer is not None and not answer.done():
            answer.set_result(message.failure)

    def was_ordered(self, order: Prepare) -> bool:
        """True if the present process got this order; one that replaced it was started with its
        own policies."""
        return self.process is not None and self._last_order == (order.number, self.process)

    def commit(self, order: Prepare) -> None:
        """Have the process that got the order go on with what it has prepared."""
        if self.process is not None and self.was_ordered(order):
            self.policies = order.policies
            self.process.send(Commit(order.number))

    def abort(self, order: Prepare) -> None:
        """Have the process that got the order forget what it has prepared."""
        if self.process is not None and self.was_ordered(order):
            self.process.send(Abort())

    def ended(self) -> None:
        """Its process is gone."""
        self.process, self.ready = None, False
        for answer in self._results.values():
            if not answer.done():
                answer.set_result("it ended meanwhile")
