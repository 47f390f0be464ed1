"""Free TCP ports for processes that cannot choose their own.

A port is only known to be free when it is asked for; whoever starts a process on it retries with
another one when the process finds it taken. The ports lie below the range from which operating
systems take the local ports of outgoing connections, so a passing client does not take one.
"""

from __future__ import annotations

import contextlib
import random
import socket

_LOWEST = 10_240
_LOWEST_OF_PARTS = 14_336
_HIGHEST = 32_767
_TRIES = 1_000
_LARGE = 100

# Calls in a row must not answer alike: the first one's process may not listen yet. The last ones,
# in order, up to a fourth of the range: so there always are others.
_given: dict[int, None] = {}
_range = range(_LOWEST, _LOWEST_OF_PARTS)


class NoFreePortError(Exception):
    """No free port, or no block of them, was found."""


def keep_to(part: int, parts: int) -> None:
    """Give ports of one of so many equal parts of a range only: processes that keep to different
    ones do not take each other's, also not one whose process is being restarted.

    Those that keep to none have ports of their own: a client that a test has left behind, and that
    looks for its broker, finds none of a demo's.
    """
    global _range
    size = (_HIGHEST + 1 - _LOWEST_OF_PARTS) // parts
    _range = range(_LOWEST_OF_PARTS + part * size, _LOWEST_OF_PARTS + (part + 1) * size)


def free_port() -> int:
    """One port that nothing listens on, on any address, and that was not given lately."""
    return free_ports(1)[0]


def free_ports(count: int) -> range:
    """``count`` consecutive ports that nothing listens on, none of them given lately. Of a large
    block, which there may be none of, some may have been.

    Raises NoFreePortError if there is no such block.
    """
    for attempt in range(_TRIES):
        first = random.choice(_range[: len(_range) - count + 1])
        block = range(first, first + count)
        is_new = _given.keys().isdisjoint(block) or (count >= _LARGE and attempt > _TRIES // 2)
        if is_new and all(map(_is_free, block)):
            _give(block)
            return block
    raise NoFreePortError(f"no block of {count} free ports between {_range[0]} and {_range[-1]}")


def block_at(first: int, count: int) -> range | None:
    """The ``count`` ports from ``first`` on, if nothing listens on any of them."""
    block = range(first, first + count)
    return block if all(map(_is_free, block)) else None


def _give(block: range) -> None:
    _given.update(dict.fromkeys(block))
    for port in list(_given)[: max(0, len(_given) - len(_range) // 4)]:
        del _given[port]


def _is_free(port: int) -> bool:
    # A socket on the wildcard address meets a listener on any one address. SO_REUSEADDR, as
    # servers set it, so that connections of an earlier listener that still close do not count.
    with contextlib.closing(socket.socket(socket.AF_INET, socket.SOCK_STREAM)) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("", port))
            probe.listen(1)
        except OSError:
            return False
    return True
