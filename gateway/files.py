"""Files that an operator names: configurations, secrets, keys, certificates, exports.

All of them are read here, whole and up to a limit. A device or a socket is rejected before it is
opened, because /dev/zero never ends, and opening some devices changes their state.

A file that a command line names is read once, by the process that was started: ``read_input`` also
reads a pipe, for :data:`PIPE_SECONDS`. A file that a configuration names is read by the supervisor,
by every worker, and again by each of them after a change: ``read_file`` reads regular files only,
because a pipe would be empty for all but the first reader, and ``check`` would accept it.
"""

from __future__ import annotations

import errno
import os
import select
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from time import monotonic
from typing import Final, TypeAlias

PIPE_SECONDS: Final = 2.0
"""Seconds that the writer of a pipe may take until it has written all and closed it."""

_STDIN: Final = Path("/dev/stdin")
_FLAGS: Final = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY
_PIECE: Final = 64 * 1024
_MOST_LINKS: Final = 40
_NO_PIPE: Final = "it is a pipe, and this file is read more than once: it has to be a regular one"

Reader: TypeAlias = Callable[[Path, int], bytes]
"""``read_file`` or ``read_input``."""


class UnreadableFile(Exception):
    """A file cannot be read; the text is the reason, in the manner of ``os.strerror``."""


def input_path(text: str) -> Path:
    """The path that a command line names; ``-`` is standard input."""
    return _STDIN if text == "-" else Path(text)


def read_file(path: Path, most: int) -> bytes:
    """The content of a regular file. Raises UnreadableFile, also if it has over ``most`` bytes, or
    if other processes do not have its path, such as /dev/stdin."""
    with _reasons():
        if not _is_regular(path.stat()):
            raise UnreadableFile(_NO_PIPE)
        if _is_of_this_process(path):
            raise UnreadableFile("it leads to what only this process has open; give its own path")
        return _read(os.open(path, _FLAGS), most)


def read_input(path: Path, most: int) -> bytes:
    """The content of a regular file, or all that the writer of a pipe writes. Raises
    UnreadableFile, also if it has over ``most`` bytes or its writer does not end in time."""
    with _reasons():
        if path == _STDIN:
            # Not opened: a socket, as sshd gives, cannot be, and a file is read from its position.
            return _read(os.dup(0), most, pipe=True, sockets=True)
        _is_regular(path.stat())
        return _read(os.open(path, _FLAGS), most, pipe=True)


def read_text(path: Path, most: int, read: Reader = read_file) -> str:
    """The UTF-8 text of a file, read by ``read``; raises as it does, and for other encodings."""
    try:
        return read(path, most).decode()
    except UnicodeDecodeError:
        raise UnreadableFile("it is not text") from None


@contextmanager
def _reasons() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise UnreadableFile(error.strerror or str(error)) from None
    except ValueError:  # NUL, or half of a surrogate pair
        raise UnreadableFile("it is no path") from None


def _read(descriptor: int, most: int, *, pipe: bool = False, sockets: bool = False) -> bytes:
    """The rest of a regular file, or of a pipe or socket if allowed; closes the descriptor."""
    try:
        found = os.fstat(descriptor)
        if (sockets and stat.S_ISSOCK(found.st_mode)) or not _is_regular(found):
            if not pipe:
                raise UnreadableFile(_NO_PIPE)
            data = _read_pipe(descriptor, most)
        else:
            data = _read_regular(descriptor, most)
    finally:
        os.close(descriptor)
    if len(data) > most:
        raise UnreadableFile(f"it has over {most:,} bytes")
    return data


def _read_regular(descriptor: int, most: int) -> bytes:
    with os.fdopen(descriptor, "rb", closefd=False) as file:
        data: bytes | None = file.read(most + 1)
    if data is None:  # some files of /proc: reading on would wait
        raise UnreadableFile("it has nothing to read")
    return data


def _read_pipe(descriptor: int, most: int) -> bytes:
    """All bytes up to the end, or somewhat more than ``most`` bytes."""
    poll = select.poll()
    poll.register(descriptor, select.POLLIN)
    ends = monotonic() + PIPE_SECONDS
    data = bytearray()
    while len(data) <= most:
        left = ends - monotonic()
        # If a FIFO has had no writer yet, it is not at its end: Linux does not wake for it.
        if left <= 0 or not poll.poll(left * 1000):
            raise UnreadableFile(f"it is a pipe whose writer did not end within {PIPE_SECONDS:g} s")
        try:
            piece = os.read(descriptor, _PIECE)
        except BlockingIOError:  # another process has taken it
            continue
        if not piece:
            break
        data += piece
    return bytes(data)


def _is_regular(found: os.stat_result) -> bool:
    """Whether it is a regular file; False for a pipe. Raises OSError for a directory,
    UnreadableFile for everything else."""
    if stat.S_ISDIR(found.st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    if not stat.S_ISREG(found.st_mode) and not stat.S_ISFIFO(found.st_mode):
        kind = "socket" if stat.S_ISSOCK(found.st_mode) else "device"
        raise UnreadableFile(f"it is a {kind}, not a file")
    return stat.S_ISREG(found.st_mode)


def _is_of_this_process(path: Path) -> bool:
    """Whether the path leads, perhaps by links, through descriptors, which differ in a worker."""
    for _ in range(_MOST_LINKS):
        directory = f"{path.parent.resolve()}/"
        if directory.startswith(("/proc/", "/dev/fd/")):
            return True
        if not path.is_symlink():
            return False
        path = path.parent / path.readlink()
    return False
