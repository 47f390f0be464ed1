"""The load generator ``crowd``: many connections that are opened together, and share one load."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from bench.generators import GeneratorError, compile_generator

DEADLINE = 120
"""Seconds that a command of the program may take."""


@dataclass(frozen=True, slots=True)
class Done:
    """A command that is done.

    - ``seconds``: how long it took.
    - ``longest``: the longest wait, in seconds: of a connection until its greeting was answered, or
      of a request for its response.
    - ``retries``: how often a connection was opened again, because it was refused or had ended.
    """

    seconds: float
    longest: float
    retries: int


class Crowd:
    """``connections`` to a port of this machine; ``open`` makes them.

    - ``greeting``: the file of the requests that each connection sends first, one after the other.
    - ``request``: the file of the one request of the load, and ``zero_at`` the offsets in its
      response at which error codes stand.
    - ``deadline``: seconds for each command.

    Its methods raise GeneratorError if the program ends, with the error that it printed.
    """

    def __init__(
        self,
        port: int,
        greeting: Path,
        request: Path,
        connections: int,
        *,
        zero_at: Sequence[int] = (),
        deadline: int = DEADLINE,
    ) -> None:
        command = [
            str(compile_generator("crowd")),
            f"--port={port}",
            f"--greeting={greeting}",
            f"--request={request}",
            f"--connections={connections}",
            f"--deadline={deadline}",
        ]
        if zero_at:
            command.append("--zero-at=" + ",".join(map(str, zero_at)))
        self._port = port
        self._connections = connections
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.communicate()

    def open(self, at_once: int | None = None) -> Done:
        """Open every connection, with at most ``at_once`` under way (None: all), and wait until
        each greeting is answered."""
        return self._command(f"open {at_once or self._connections}")

    def send(self, count: int, unanswered: int) -> Done:
        """Send the request ``count`` times, in turn on each connection, at most ``unanswered`` of
        them at a time and one on a connection."""
        return self._command(f"send {count} {unanswered}")

    def close(self) -> Done:
        """Close every connection; they can be opened again."""
        return self._command("close")

    def _command(self, command: str) -> Done:
        written, printed = self._process.stdin, self._process.stdout
        assert written is not None
        assert printed is not None
        line = ""
        try:
            written.write(f"{command}\n")
            written.flush()
            line = printed.readline()
        except BrokenPipeError:
            pass  # it has ended, and printed why
        if not line:
            _, text = self._process.communicate()
            raise GeneratorError(f"crowd on port {self._port}: {text.strip()}")
        return Done(**json.loads(line))
