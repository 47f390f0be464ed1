"""Estimates the size of a job's input before Spark starts.

Java's settings are chosen when it starts, and those that suit 50 million records are slow on a few:
most CPU time would be spent on compiling code that runs once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

SMALL_BYTES: Final = 100 * 2**20
"""An input is small up to this many bytes of lines."""

TINY_BYTES: Final = 10 * 2**20
"""Up to this many bytes of lines generated code costs more than it saves."""

_LINES_PER_BYTE: Final = {".jsonl": 1, ".jsonl.gz": 12, ".parquet": 30}
"""By the end of a file's name: estimated bytes of lines for each byte of the file."""

_MOST_FILES: Final = 10_000
"""An input with more files than this is not small."""


def is_small(inputs: Sequence[str]) -> bool:
    """Whether all sources together are small: local paths with at most :data:`SMALL_BYTES`. A topic
    or a remote path is not small."""
    return _is_within(SMALL_BYTES, inputs)


def is_tiny(inputs: Sequence[str]) -> bool:
    """The same with :data:`TINY_BYTES`."""
    return _is_within(TINY_BYTES, inputs)


def _is_within(most: int, inputs: Sequence[str]) -> bool:
    if any(_local(source) is None for source in inputs):
        return False
    left, found = most, False
    for number, (path, weight) in enumerate(_files(inputs)):
        try:
            left -= weight * path.stat().st_size
        except OSError:
            continue  # compressed or removed in this moment
        found = True
        if left < 0 or number >= _MOST_FILES:
            return False
    # If there is no file the path may be one of HDFS.
    return found


def _files(inputs: Sequence[str]) -> Iterator[tuple[Path, int]]:
    for source in inputs:
        top = Path(_local(source) or "").absolute()
        for path in Path(top.anchor).glob(str(top.relative_to(top.anchor))):
            for file in path.rglob("*") if path.is_dir() else (path,):
                for end, weight in _LINES_PER_BYTE.items():
                    if file.name.endswith(end):
                        yield file, weight


def _local(source: str) -> str | None:
    """The path of a source on this machine; None if it is elsewhere."""
    scheme, colon, rest = source.partition(":")
    if not colon or "/" in scheme:
        return source
    return f"/{rest.lstrip('/')}" if scheme == "file" else None
