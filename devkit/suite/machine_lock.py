"""A lock that lets one suite at a time run on a machine, because two suites that share its
processors make each other slow, and red by chance."""

from __future__ import annotations

import fcntl
import os
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final, TextIO

from devkit.paths import PROJECT_ROOT
from devkit.waiting import progress

LOCK: Final = Path(tempfile.gettempdir()) / "kafka-namespace-gateway-suite.lock"


@contextmanager
def machine(command: str, lock: Path = LOCK) -> Iterator[None]:
    """Keep every other suite of this machine out while the body of the ``with`` runs.

    If a suite runs, waits for it, and prints its command, its directory, its process and its start
    time. The lock ends with the process that holds it, however that ends.
    """
    # Another user of the machine may take the lock as well; its text is only for people.
    with os.fdopen(os.open(lock, os.O_RDWR | os.O_CREAT, 0o666), "r+", encoding="utf-8") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            with progress(f"waiting for {_holder(file)}"):
                fcntl.flock(file, fcntl.LOCK_EX)
        file.seek(0)
        file.truncate()
        since = time.strftime("%H:%M:%S")
        file.write(f"{command} in {PROJECT_ROOT} (process {os.getpid()}, since {since})")
        file.flush()
        yield


def _holder(file: TextIO) -> str:
    file.seek(0)
    return file.read() or "another suite of this machine"
