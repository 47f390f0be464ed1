"""The directories in which the development kit keeps downloads and build products."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

PROJECT_ROOT = Path(__file__).resolve().parent.parent


def cache_dir() -> Path:
    """The directory for downloads and build products, created if it is missing.

    It is ``.cache/`` in the project, or ``$KAFKA_GATEWAY_CACHE``, so that clones can share a cache.
    """
    override = os.environ.get("KAFKA_GATEWAY_CACHE")
    directory = Path(override) if override else PROJECT_ROOT / ".cache"
    directory.mkdir(parents=True, exist_ok=True)
    return directory


@contextmanager
def one_at_a_time(what: str) -> Iterator[None]:
    """Wait until no other thread or process of this checkout holds ``what``, and keep others
    out."""
    with (cache_dir() / f"{what}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
