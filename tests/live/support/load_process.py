"""Clients under load, each in a process of its own, so that a crash ends no other client."""

from __future__ import annotations

import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable
from contextlib import suppress
from multiprocessing.connection import Connection, Pipe
from typing import Generic, Self

import confluent_kafka

from devkit.paths import PROJECT_ROOT
from tests.live.support import clients
from tests.live.support.load_line import Client, Known, TopicState

STOP_SECONDS = 240.0
"""How long a client may take to finish its pending work."""


class Load(Generic[Known]):
    """A client that is started by ``with`` and stopped by :meth:`stop`, which fails as it did.

    If a client ``may_crash``, it is started again after its library aborted, and continues from its
    known facts; ``crashes`` has the reasons. librdkafka 2.16 sometimes aborts when a topic vanishes
    that it produces to. Any other end is a failure.
    """

    def __init__(
        self,
        client: Client[Known],
        facts: Known,
        now: Callable[[], TopicState],
        *,
        may_crash: bool = False,
    ) -> None:
        self.who = client.who
        self.facts = facts
        self.crashes: list[str] = []
        self._client = client
        self._now = now
        self._may_crash = may_crash
        self._failure: BaseException | None = None
        self._lock = threading.Lock()
        self._is_stopping = False
        self._connection: Connection | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._thread = threading.Thread(target=self._guarded, name=self.who, daemon=True)

    @property
    def errors(self) -> list[str]:
        """The errors that the client reported, as text."""
        return self.facts.errors

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._end(2 * clients.SECONDS)

    def check(self) -> None:
        """Fail if its process has failed."""
        if self._failure is not None:
            raise self._failure

    def stop(self, seconds: float = STOP_SECONDS) -> None:
        """Let it finish its pending work, and end. Fails if its process has failed."""
        assert self._end(seconds), f"{self.who} does not end: {self._failure}"
        self.check()

    def kill(self, how: signal.Signals) -> None:
        """Send its process a signal."""
        with self._lock:
            if self._process is not None:
                self._process.send_signal(how)

    def _end(self, seconds: float) -> bool:
        """End the client; whether it ended by itself."""
        with self._lock:
            self._is_stopping = True
            self._say(None)
        self._thread.join(seconds)
        in_time = not self._thread.is_alive()
        if not in_time:
            self.kill(signal.SIGKILL)
            self._thread.join(clients.SECONDS)
        return in_time

    def _guarded(self) -> None:
        try:
            while not self._live():
                pass
        except BaseException as error:  # noqa: BLE001 - told by stop()
            self._failure = error
            self.kill(signal.SIGKILL)

    def _live(self) -> bool:
        """Run the client's process; returns whether it ended normally."""
        ours, theirs = Pipe()
        with ours, tempfile.TemporaryFile("w+") as said:
            with theirs, self._lock:
                program = ["-m", "tests.live.support.load_child", str(theirs.fileno())]
                process = subprocess.Popen(
                    [sys.executable, *program],
                    cwd=PROJECT_ROOT,
                    pass_fds=[theirs.fileno()],
                    stderr=said,
                )
                self._connection, self._process = ours, process
                self._say((self._client, self.facts))
                if self._is_stopping:
                    self._say(None)
            self._listen(ours)
            with self._lock:
                self._connection = None
            code = process.wait(clients.SECONDS)
            said.seek(0)
            return self._judged(code, said.read())

    def _say(self, message: object) -> None:
        """Send a message to the client, if it runs."""
        if self._connection is not None:
            with suppress(OSError):
                self._connection.send(message)

    def _listen(self, connection: Connection) -> None:
        """Apply the client's changes and respond to it, until it has ended."""
        with suppress(EOFError, ConnectionResetError):
            while True:
                message = connection.recv()
                if message is None:
                    now = self._now()
                    with self._lock:
                        self._say(now)
                else:
                    change, arguments = message
                    change(self.facts, *arguments)

    def _judged(self, code: int, said: str) -> bool:
        """Whether it ended normally, or else crashed in the expected way.

        Raises AssertionError if neither.
        """
        if code == 0:
            sys.stderr.write(said)
            return True
        assert self._may_crash and code == -signal.SIGABRT and not self.crashes, (
            f"{self.who} ended with {code}, after {self.crashes}: {said}"
        )
        version, _ = confluent_kafka.libversion()
        self.crashes.append(
            f"{self.who}: librdkafka {version} aborted, as it may when its topic vanishes;"
            f" started once more. It said: {said}"
        )
        self.facts.interrupt()
        return False
