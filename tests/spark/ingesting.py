"""spark.ingest as a process, which tests kill."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from devkit.paths import PROJECT_ROOT
from spark.table import Table
from tests.spark import quick_java

SECONDS = 600.0
"""Time limit for a start of Spark and a batch, on a busy machine."""

STREAM = "traffic"

_SUBMIT = f"--conf '{quick_java.DRIVER}={quick_java.OPTIONS}' pyspark-shell"


@contextmanager
def ingesting(
    source: str, table: Path, log: Path, *more: str, env: Mapping[str, str] = {}
) -> Iterator[subprocess.Popen[bytes]]:
    """The job, behind a guard: killed at the end if it still runs, or if the tests are killed.

    Its output goes to ``log``.
    """
    command = [sys.executable, str(PROJECT_ROOT / "devkit" / "guard.py")]
    command += [sys.executable, "-m", "spark.ingest", "--input", source, "--table", str(table)]
    command += ["--master", "local[1]", "--every", "0.2", "--open-every", "1"]
    command += ["--compact-every", "2", "--files-per-batch", "4", *more]
    with log.open("ab") as output:
        process = subprocess.Popen(
            command,
            cwd=PROJECT_ROOT,
            stdin=subprocess.PIPE,
            stderr=output,
            stdout=output,
            env={**os.environ, "PYSPARK_SUBMIT_ARGS": _SUBMIT, **env},
        )
    try:
        yield process
    finally:
        kill(process)


def kill(process: subprocess.Popen[bytes]) -> None:
    """SIGKILL for Python and the JVM at once, unless it has ended; see devkit/guard.py."""
    assert process.stdin
    process.stdin.close()
    process.wait()


def await_batch(table: Table, after: int, process: subprocess.Popen[bytes], log: Path) -> None:
    """Wait until a batch with a higher number is committed."""
    deadline = time.monotonic() + SECONDS
    while last_batch(table) <= after:
        assert process.poll() is None, log.read_text()
        assert time.monotonic() < deadline, log.read_text()
        time.sleep(0.05)


def last_batch(table: Table) -> int:
    """The number of the last committed batch, or -1 before the first."""
    stream = table.snapshot().streams.get(STREAM)
    return stream.batch if stream else -1
