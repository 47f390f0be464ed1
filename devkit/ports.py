"""Free TCP ports for processes that cannot choose their own.

A port is only known to be free when it is returned; if a process finds it taken, its starter
retries with another port. The ports are below the range from which operating systems take the local
ports of outgoing connections, so a client's connection does not take them.
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

# The ports given last, in order, which are not given again, because their process may not listen
# yet. At most a fourth of the range, so that there always are other ports.
_given: dict[int, None] = {}
_range = range(_LOWEST, _LOWEST_OF_PARTS)


class NoFreePortError(Exception):
    """No free port, or no block of free ports, was found."""


def keep_to(part: int, parts: int) -> None:
    """Give only ports of a part of the range, which is divided into ``parts`` equal parts.
    Processes that keep to different parts do not take each other's ports, even while a process is
    being restarted.

    Processes that keep to no part have a range of their own, so that a client that a test has left
    behind does not find a demo's broker in place of its own.
    """
    global _range
    size = (_HIGHEST + 1 - _LOWEST_OF_PARTS) // parts
    _range = range(_LOWEST_OF_PARTS + part * size, _LOWEST_OF_PARTS + (part + 1) * size)


def free_port() -> int:
    """A port on which no process listens, at any address, and that was not given lately."""
    return free_ports(1)[0]


def free_ports(count: int) -> range:
    """``count`` consecutive ports on which no process listens and that were not given lately. If
    there is no such large block, some of its ports may have been given lately.

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
    """The ``count`` ports from ``first`` on, or None if a process listens on any of them."""
    block = range(first, first + count)
    return block if all(map(_is_free, block)) else None


def _give(block: range) -> None:
    _given.update(dict.fromkeys(block))
    for port in list(_given)[: max(0, len(_given) - len(_range) // 4)]:
        del _given[port]


def _is_free(port: int) -> bool:
    # A socket on the wildcard address conflicts with a listener on any address. SO_REUSEADDR, like
    # servers, so that closing connections of an earlier listener do not count.
    with contextlib.closing(socket.socket(socket.AF_INET, socket.SOCK_STREAM)) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("", port))
            probe.listen(1)
        except OSError:
            return False
    return True
