"""Child processes that cannot outlive the process that started them."""

from __future__ import annotations

import contextlib
import subprocess
import sys
import time
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final, Self
from weakref import WeakSet

import psutil

from devkit import guard
from devkit.waiting import wait_until

_TAIL_BYTES = 16_384
_GUARD_SECONDS = 60.0
_MOST_ENDED = 8


class ProcessError(Exception):
    """A child process did not start, ended too early or did not end."""


class ManagedProcess:
    """A command with its output in a file, which certainly ends when this process ends.

    The command runs under ``devkit.guard``; it may be started from any thread.
    """

    def __init__(
        self,
        name: str,
        command: Sequence[str],
        log_path: Path,
        *,
        env: Mapping[str, str] | None = None,
        cwd: Path | None = None,
    ) -> None:
        self.name = name
        self.log_path = log_path
        # -I -S leave out site-packages and user settings, so that the guard starts at once.
        guarded = [sys.executable, "-I", "-S", guard.__file__, *command]
        with log_path.open("ab") as log:
            self._process = subprocess.Popen(
                guarded,
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=log,
                env=env,
                cwd=cwd,
                # A session of its own, because Ctrl-C in the terminal is for this process, which
                # ends its children in order.
                start_new_session=True,
            )
        _RUNNING.add(self)

    @property
    def command_pid(self) -> int:
        """The process id of the running command. Raises ProcessError if it has ended."""

        def children() -> list[psutil.Process]:
            if not self.running:
                raise ProcessError(f"{self.name} has ended")
            with contextlib.suppress(psutil.NoSuchProcess):
                return psutil.Process(self._process.pid).children()
            return []

        # The guard may have only just started.
        return wait_until(children, f"the start of {self.name}", _GUARD_SECONDS)[0].pid

    @property
    def returncode(self) -> int | None:
        """The exit status, or 128 + the signal that ended the command; None while it runs."""
        return self._process.poll()

    @property
    def running(self) -> bool:
        """Whether the command still runs."""
        return self._process.poll() is None

    def terminate(self, seconds: float = 60.0) -> int:
        """Send SIGTERM and wait; returns the exit status. After ``seconds`` the command is killed.

        Raises ProcessError, with the end of the output, if it had to be killed.
        """
        with contextlib.suppress(ProcessLookupError):
            self._process.terminate()
        try:
            status = self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            self.kill()
            raise ProcessError(
                f"{self.name} did not end within {seconds:g} s of SIGTERM\n{self.tail()}"
            ) from None
        self._close()
        return status

    def kill(self) -> None:
        """End the command at once, like ``kill -9``, with all processes that it started."""
        self._close()
        self._process.wait()

    def _close(self) -> None:
        if self in _RUNNING:
            _RUNNING.discard(self)
            with contextlib.suppress(OSError):
                _ENDED.append((time.time(), self.name, self.tail()))
        # Closing the guard's standard input makes it kill the command.
        if self._process.stdin is not None:
            self._process.stdin.close()

    def tail(self, lines: int = 40) -> str:
        """The last lines of the output."""
        with self.log_path.open("rb") as log:
            log.seek(max(0, self.log_path.stat().st_size - _TAIL_BYTES))
            text = log.read().decode(errors="replace")
        return "\n".join(text.splitlines()[-lines:])

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self.running:
            self.kill()
        else:
            self._close()


_RUNNING: Final[WeakSet[ManagedProcess]] = WeakSet()
_ENDED: Final[deque[tuple[float, str, str]]] = deque(maxlen=_MOST_ENDED)


def outputs(since: float) -> Iterator[tuple[str, str]]:
    """The name of each process that runs, or was ended after ``since`` (seconds since 1970), and
    the end of its output, because it may show why a test failed, and the files are removed with the
    test."""
    yield from ((name, tail) for ended, name, tail in _ENDED if ended >= since)
    for process in list(_RUNNING):
        with contextlib.suppress(OSError):
            yield process.name, process.tail()
