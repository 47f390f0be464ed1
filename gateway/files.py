"""Files that an operator names: configurations, secrets, keys, certificates, exports.

All of them are read here, whole and bounded. A device or a socket is rejected before it is opened:
/dev/zero never ends, and to open some devices changes what they do.

What a command line names is read once, by the process that was started: ``read_input`` takes a
pipe as well, for :data:`PIPE_SECONDS`. What a configuration names is read by the supervisor, by
every worker, and again by each of them after a change: ``read_file`` takes regular files only,
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
    """A file cannot be read; the text is the reason, as ``os.strerror`` would have it."""


def input_path(text: str) -> Path:
    """The path that a command line names; ``-`` is standard input."""
    return _STDIN if text == "-" else Path(text)


def read_file(path: Path, most: int) -> bytes:
    """The content of a regular file. Raises UnreadableFile, also if it has over ``most`` bytes, and
    for a path that other processes do not have, as /dev/stdin."""
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
            # Not opened: a socket, as sshd gives, cannot be, and a file goes on where it is.
            return _read(os.dup(0), most, pipe=True, sockets=True)
        _is_regular(path.stat())
        return _read(os.open(path, _FLAGS), most, pipe=True)


def read_text(path: Path, most: int, read: Reader = read_file) -> str:
    """Like :func:`read_file`, or like ``read``, of UTF-8 text."""
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
    """The rest of a regular file, or of what else may be; closes the descriptor."""
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
    if data is None:  # some of /proc: to read on would wait
        raise UnreadableFile("it has nothing to read")
    return data


def _read_pipe(descriptor: int, most: int) -> bytes:
    """What is written until the end, or until it is over ``most`` bytes."""
    poll = select.poll()
    poll.register(descriptor, select.POLLIN)
    ends = monotonic() + PIPE_SECONDS
    data = bytearray()
    while len(data) <= most:
        left = ends - monotonic()
        # A FIFO that has had no writer yet is not at its end: Linux does not wake for it.
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
    """True for a regular file, False for a pipe. Raises OSError for a directory, UnreadableFile for
    everything else."""
    if stat.S_ISDIR(found.st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    if not stat.S_ISREG(found.st_mode) and not stat.S_ISFIFO(found.st_mode):
        kind = "socket" if stat.S_ISSOCK(found.st_mode) else "device"
        raise UnreadableFile(f"it is a {kind}, not a file")
    return stat.S_ISREG(found.st_mode)


def _is_of_this_process(path: Path) -> bool:
    """True if the path leads, by links perhaps, through descriptors: a worker has other ones."""
    for _ in range(_MOST_LINKS):
        directory = f"{path.parent.resolve()}/"
        if directory.startswith(("/proc/", "/dev/fd/")):
            return True
        if not path.is_symlink():
            return False
        path = path.parent / path.readlink()
    return False
