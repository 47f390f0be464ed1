"""The load generators: C programs of ``bench/load``, compiled when they are first needed."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from devkit.paths import cache_dir

_SOURCES = Path(__file__).parent / "load"
_SHARED = ("wire.h", "wire.c")
_OPTIONS = ("-std=c11", "-D_GNU_SOURCE", "-O2", "-Wall", "-Wextra", "-Wconversion", "-Werror")
_SPARE_SECONDS = 120.0


class GeneratorError(Exception):
    """A load generator could not be compiled, or its load failed."""


@dataclass(frozen=True, slots=True)
class Report:
    """What one load came to; latencies in microseconds."""

    requests: int
    seconds: float
    bytes_out: int
    bytes_in: int
    mean_us: float
    p50_us: float
    p90_us: float
    p99_us: float


@cache
def compile_generator(name: str) -> Path:
    """The program ``name`` (replay, paced or idle). Raises GeneratorError."""
    compiler = shutil.which(os.environ.get("CC", "cc"))
    if compiler is None:
        raise GeneratorError("a C compiler is needed (cc): apt-get install gcc libc6-dev")
    sources = [_SOURCES / source for source in (f"{name}.c", *_SHARED)]
    digest = hashlib.sha256(" ".join((compiler, *_OPTIONS)).encode())
    for source in sources:
        digest.update(source.read_bytes())
    directory = cache_dir() / "load"
    directory.mkdir(exist_ok=True)
    program = directory / f"{name}-{digest.hexdigest()[:16]}"
    if not program.is_file():
        _compile([compiler, *_OPTIONS], sources, program)
    return program


def replay(
    port: int,
    request: Path,
    *,
    count: int,
    connections: int = 1,
    depth: int = 1,
    zero_at: Sequence[int] = (),
    deadline: int = 60,
) -> Report:
    """Send the request ``count`` times, up to ``depth`` unanswered on each connection.

    ``zero_at`` are offsets in a response at which an error code stands. Raises GeneratorError if
    there is an error, or if it takes more than ``deadline`` seconds.
    """
    arguments = {"count": count, "connections": connections, "depth": depth, "deadline": deadline}
    return _run("replay", port, request, arguments, zero_at, deadline + _SPARE_SECONDS)


def paced(
    port: int,
    request: Path,
    *,
    count: int,
    rate: int,
    connections: int = 1,
    zero_at: Sequence[int] = (),
) -> Report:
    """Send the request ``rate`` times a second, answered or not; latency from when it was due."""
    arguments = {"count": count, "connections": connections, "rate": rate}
    return _run("paced", port, request, arguments, zero_at, count / rate + _SPARE_SECONDS)


@contextmanager
def idle(port: int, requests: Path, connections: int, seconds: float = 120.0) -> Iterator[None]:
    """Hold ``connections`` that have each sent ``requests`` once, for the body of the ``with``."""
    command = [
        str(compile_generator("idle")),
        f"--port={port}",
        f"--requests={requests}",
        f"--connections={connections}",
    ]
    # `timeout` ends it even if this process is stopped while it waits for "ready".
    guarded = ["timeout", f"{seconds:g}", *command]
    with subprocess.Popen(
        guarded, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdin and process.stdout and process.stderr
        if process.stdout.readline() != "ready\n":
            raise GeneratorError(f"idle on port {port}: {process.stderr.read().strip()}")
        yield
        process.stdin.close()


def _run(
    name: str,
    port: int,
    request: Path,
    arguments: dict[str, int],
    zero_at: Sequence[int],
    seconds: float,
) -> Report:
    command = [str(compile_generator(name)), f"--port={port}", f"--request={request}"]
    command += [f"--{key}={value}" for key, value in arguments.items()]
    if zero_at:
        command.append("--zero-at=" + ",".join(map(str, zero_at)))
    try:
        ended = subprocess.run(
            command, capture_output=True, text=True, timeout=seconds, check=False
        )
    except subprocess.TimeoutExpired as error:
        raise GeneratorError(f"{name} on port {port}: not within {seconds:g} s") from error
    if ended.returncode:
        raise GeneratorError(f"{name} on port {port}: {ended.stderr.strip()}")
    return Report(**json.loads(ended.stdout))


def _compile(command: Sequence[str], sources: Sequence[Path], program: Path) -> None:
    unfinished = program.with_name(f"{program.name}.{os.getpid()}")
    c_files = [str(source) for source in sources if source.suffix == ".c"]
    ended = subprocess.run(
        [*command, "-o", str(unfinished), *c_files], capture_output=True, text=True, check=False
    )
    if ended.returncode:
        raise GeneratorError(f"{program.name} does not compile\n{ended.stderr}")
    # Whoever comes last wins; the programs are the same.
    unfinished.replace(program)
