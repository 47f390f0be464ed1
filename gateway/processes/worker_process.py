"""The slot of a worker, and a run of its process, as the supervisor sees them."""

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
"""Seconds to wait for each of the last lines of a worker that has ended."""

MAX_LINES = 256
"""Lines of a worker that wait to be handled; most lines have 30 KiB."""

EXIT_SECONDS = 10.0
"""Seconds that a worker may take to end after it has closed its channel."""

WorkerCommand: TypeAlias = Callable[[int, int], Sequence[str]]
"""(worker id, number of the channel's descriptor) -> the command line that starts the worker."""

_BLOCKED = {signal.SIGINT, signal.SIGTERM, signal.SIGHUP}


def worker_command(
    worker_id: int, channel_fd: int, new_catalogs: Sequence[str] = ()
) -> Sequence[str]:
    """The command line of :mod:`gateway.processes.worker`; ``new_catalogs`` are the clusters whose
    catalogs may begin anew."""
    level = logging.getLevelName(logging.getLogger().getEffectiveLevel())
    # -P: files in the current directory are no part of the gateway.
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
    """A started worker, and the process group that it leads: processes that a policy class has
    forked end with the worker."""

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
        """Start a worker and send it its configuration. Workers are started one at a time. Raises
        OSError."""
        ours, theirs = socket.socketpair()
        try:
            # The worker begins with these signals blocked, because it cannot handle them yet, and a
            # Ctrl-C in the terminal reaches every process of the group. SIGINT and SIGHUP stay
            # blocked: the supervisor handles them.
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
        """The worker's process id."""
        return self._process.pid

    async def run(self, received: Callable[[Message], None]) -> int:
        """Pass on each message until the worker has ended; returns its exit status.

        If the status is negative, a signal ended the worker. This waits for the process and not for
        the end of its channel: a process that the worker has forked may hold the channel open.
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
        """Send an order to the worker, which may be gone by then."""
        self._writer.write(encode_message(order))

    def terminate(self) -> None:
        """Make the worker drain and exit."""
        with suppress(ProcessLookupError):
            self._process.terminate()

    def kill(self) -> None:
        """Kill the worker, with all processes that it has forked."""
        if self._process.returncode is None:
            self._end_group()

    def _end_group(self) -> None:
        # macOS does not permit it if only zombies are left.
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, signal.SIGKILL)

    async def _receive(self, received: Callable[[Message], None]) -> None:
        """Pass on a line per round of the event loop: a line takes some ms, and a busy worker
        writes a hundred at once. Lines are read ahead, because a worker that ends with orders
        unread resets the channel, and then asyncio drops everything that was received before."""
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
        """Put lines into the queue, and an empty line at the end. An incomplete last line is
        dropped."""
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
    """The place of a worker of the gateway, with its present process.

    ``policies``: the policies of its process.
    ``failure``: why its process could not start.
    ``served``: its process was ready, so that it may have had clients.
    ``unheard``: looks at it since its last message (gateway/processes/silence.py).
    """

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
        """Make the worker prepare policies within ``seconds``; returns why it cannot, or an empty
        text."""
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
        """Take the worker's result, if the supervisor still waits for it."""
        answer = self._results.get(message.number)
        if answer is not None and not answer.done():
            answer.set_result(message.failure)

    def was_ordered(self, order: Prepare) -> bool:
        """Whether the present process got this order; a process that replaced it was started with
        the policies of its own start."""
        return self.process is not None and self._last_order == (order.number, self.process)

    def commit(self, order: Prepare) -> None:
        """Make the process that got the order put the prepared policies in force."""
        if self.process is not None and self.was_ordered(order):
            self.policies = order.policies
            self.process.send(Commit(order.number))

    def abort(self, order: Prepare) -> None:
        """Make the process that got the order discard the prepared policies."""
        if self.process is not None and self.was_ordered(order):
            self.process.send(Abort())

    def ended(self) -> None:
        """The process of this slot has ended."""
        self.process, self.ready = None, False
        for answer in self._results.values():
            if not answer.done():
                answer.set_result("it ended meanwhile")
