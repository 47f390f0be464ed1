"""Scripts run by a real shell, in which Kafka's tools run in the Java that keeps running.

Each tool is a stub on the PATH that sends its arguments to this process and prints the result.
"""

from __future__ import annotations

import json
import os
import socketserver
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from devkit.java import TOOL_SCRIPTS
from tests.live.support import java_tools

_STUB = """\
#!{python} -S
import json, os, socket, sys
where = socket.socket(socket.AF_UNIX)
where.connect({socket!r})
asked = [os.path.basename(sys.argv[0]), *sys.argv[1:]]
where.sendall(json.dumps(asked).encode() + b"\\n")
status, out, err = json.loads(where.makefile().readline())
sys.stdout.write(out)
sys.stderr.write(err)
sys.exit(status)
"""

_SECONDS = 240.0

Answer = tuple[int, str, str]
"""Exit status, standard output, standard error."""

Tool = Callable[[Sequence[str]], Answer]


class Ended(NamedTuple):
    """A script's exit status and output."""

    status: int
    out: str
    err: str


class Shell:
    """``bash`` in a directory of its own."""

    def __init__(self, directory: Path, bin_directory: Path) -> None:
        self.directory = directory
        self._path = f"{bin_directory}{os.pathsep}{os.environ['PATH']}"

    def run(self, script: str, variables: Mapping[str, str] | None = None) -> Ended:
        """Run a script until it ends or a command fails."""
        done = subprocess.run(
            ["bash", "-eu", "-o", "pipefail", "-c", script],
            cwd=self.directory,
            env={**os.environ, "PATH": self._path, **(variables or {})},
            capture_output=True,
            text=True,
            timeout=_SECONDS,
            check=False,
        )
        return Ended(done.returncode, done.stdout, done.stderr)


@contextmanager
def shell(directory: Path, **tools: Tool) -> Iterator[Shell]:
    """A shell in a directory.

    ``tools`` are further programs, with ``_`` for ``-`` in their names, which are called with their
    arguments.
    """
    known: dict[str, Tool] = {name.replace("_", "-"): tool for name, tool in tools.items()}
    for name, main_class in TOOL_SCRIPTS.items():
        known.setdefault(name, _java_tool(directory, main_class))

    class Handler(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            name, *words = json.loads(self.rfile.readline())
            self.wfile.write(json.dumps(known[name](words)).encode() + b"\n")

    stubs = directory / "bin"
    stubs.mkdir()
    path = str(directory / "tools")
    for name in known:
        stub = stubs / name
        stub.write_text(_STUB.format(python=sys.executable, socket=path))
        stub.chmod(0o755)
    with socketserver.ThreadingUnixStreamServer(path, Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield Shell(directory, stubs)
        finally:
            server.shutdown()


def _java_tool(directory: Path, main_class: str) -> Tool:
    def run(words: Sequence[str]) -> Answer:
        # The running Java is in another directory than the shell.
        there = [str(directory / word) if (directory / word).is_file() else word for word in words]
        done: Any = java_tools.server().run(main_class, there)
        return done.returncode, done.stdout, done.stderr

    return run
