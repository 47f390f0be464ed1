"""Rolling files: lines are appended to a plain file, which is compressed once it is full.

Names are ``STEM-SEQUENCE.jsonl``, with ``.gz`` once compressed. Sequence numbers are milliseconds
since 1970, or more: they increase, and no number is used twice, even if all files have been
removed, because readers know by the name which files they have read. Reading every ``*.jsonl*``
reads every line once. All calls block, so they are made by a writer's thread
(gateway/sinks/record_writer.py).
"""

from __future__ import annotations

import fcntl
import gzip
import logging
import os
import re
import shutil
import time
import zlib
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

log = logging.getLogger(__name__)

PLAIN = ".jsonl"
COMPRESSED = ".jsonl.gz"
_UNFINISHED = ".gz.tmp"  # *.jsonl* does not match it; its lines are also in the plain file
_COMPRESSION = 6


class RollingFiles:
    """The files of a process. ``max_files`` are kept besides the file that is being written."""

    def __init__(
        self,
        directory: Path,
        stem: str,
        max_file_bytes: int,
        max_files: int,
        *,
        what: str,
        mode: int = 0o644,
        clock: Callable[[], float] = time.time,
    ) -> None:
        """``stem`` is the names' part before the sequence number, which differs for each process.

        ``what`` is the log's word for the files, ``mode`` their permissions; ``clock`` returns
        seconds since 1970.
        """
        self._directory = directory
        self._stem = stem
        self._max_file_bytes = max_file_bytes
        self._max_files = max_files
        self._what = what
        self._mode = mode
        self._clock = clock
        self._number = 0
        self._name = re.compile(rf"{re.escape(stem)}-(\d{{8,}}){re.escape(PLAIN)}(\.gz)?")
        self._path: Path | None = None
        self._file: int | None = None
        self._size = 0

    def prepare(self) -> None:
        """Make the directory and the first file. Raises OSError if they cannot be made."""
        self._directory.mkdir(parents=True, exist_ok=True)
        self._open()

    def tidy(self) -> None:
        """Compress files that an earlier process left behind, and remove the oldest files."""
        for path in self._directory.glob(f"{self._stem}-*{_UNFINISHED}"):
            path.unlink(missing_ok=True)
        for _, path in self._finished():
            if path.suffix != ".gz" and _is_abandoned(path):
                self._compress(path)
        self._remove_oldest()

    def write(self, lines: bytes) -> None:
        """Append whole lines. Raises OSError; the file has no part of them then."""
        if self._file is None or os.fstat(self._file).st_nlink == 0:
            self._reopen()
        if self._size and self._size + len(lines) > self._max_file_bytes:
            self._roll()
        self._append(lines)

    def close(self) -> None:
        """Close the file; the next process compresses it. An empty file is removed."""
        if self._file is not None:
            os.close(self._file)
            if self._path is not None and not self._size:
                self._path.unlink(missing_ok=True)
        self._file = self._path = None

    def _append(self, lines: bytes) -> None:
        assert self._file is not None
        rest = memoryview(lines)
        try:
            while rest:
                rest = rest[os.write(self._file, rest) :]
        except OSError:
            # Truncated: a part of a line would spoil the next line, too.
            with suppress(OSError):
                os.ftruncate(self._file, self._size)
            raise
        self._size += len(lines)

    def _roll(self) -> None:
        full = self._path
        self.close()
        self._open()
        if full is not None:
            self._compress(full)
        self._remove_oldest()

    def _reopen(self) -> None:
        """Open a new file after the file was removed, or an earlier try to open a file failed."""
        self.close()
        self.prepare()

    def _open(self) -> None:
        # The clock may be set back, so numbers that this process has used, or finds, are not used
        # again.
        used = max(self._number, *(number for number, _ in self._own()), 0)
        self._number = max(used, int(self._clock() * 1000) - 1)
        while True:
            self._number += 1
            path = self._directory / f"{self._stem}-{self._number:08d}{PLAIN}"
            with suppress(FileExistsError):
                flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC
                self._file = os.open(path, flags, self._mode)
                break
        # The lock shows other processes that this file is not abandoned; some file systems have no
        # locks.
        with suppress(OSError):
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        self._path = path
        self._size = 0

    def _own(self) -> list[tuple[int, Path]]:
        """This process's files, oldest first."""
        found = ((self._name.fullmatch(path.name), path) for path in self._directory.iterdir())
        return sorted((int(match[1]), path) for match, path in found if match)

    def _finished(self) -> list[tuple[int, Path]]:
        return [(number, path) for number, path in self._own() if path != self._path]

    def _remove_oldest(self) -> None:
        finished = self._finished()
        for _, path in finished[: max(0, len(finished) - self._max_files)]:
            path.unlink(missing_ok=True)

    def _compress(self, path: Path) -> None:
        """Replace a plain file by a compressed file; if that fails, the plain file stays."""
        compressed = path.with_suffix(COMPRESSED)
        unfinished = path.with_suffix(_UNFINISHED)
        size = path.stat().st_size
        if size == 0 or (compressed.exists() and _is_whole(compressed, size)):
            path.unlink(missing_ok=True)
            return
        try:
            unfinished.touch(self._mode)
            with path.open("rb") as source, gzip.open(unfinished, "wb", _COMPRESSION) as target:
                shutil.copyfileobj(source, target, 1024 * 1024)
            # On the disk before the plain file is removed, so that a crash of the machine does not
            # cost both.
            with unfinished.open("rb") as written:
                os.fsync(written.fileno())
            unfinished.replace(compressed)
        except OSError as error:
            what = self._what
            log.warning("%s: %s stays as it is, compressing failed: %s", what, path, error)
            with suppress(OSError):
                unfinished.unlink(missing_ok=True)
        else:
            path.unlink(missing_ok=True)


def _is_whole(compressed: Path, size: int) -> bool:
    """Whether a compressed file holds so many bytes; a file that a crash has cut short does not."""
    found = 0
    try:
        with gzip.open(compressed) as file:
            while piece := file.read(1024 * 1024):
                found += len(piece)
    except (OSError, EOFError, zlib.error):
        return False
    return found == size


def _is_abandoned(path: Path) -> bool:
    """Whether no process has the file open for writing."""
    with path.open("rb") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return False
    return True
