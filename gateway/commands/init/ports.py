"""The ports that a gateway takes: free ports, with room for brokers to come.

Each listener has a bootstrap port, a port for each place in ``node_ids``, and another in reserve
for ``gateway_port``. Listeners begin whole hundreds apart, because such ports are easy to remember.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import ExitStack
from itertools import groupby
from typing import Final, NamedTuple

from gateway.commands.errors import CommandError, UsageError
from gateway.config.addresses import MAX_PORT
from gateway.config_file.binding import IN_USE, try_to_bind
from gateway.node_ids import MAX_NODE_ID, NodeIdRanges

FIRST_PORT: Final = 9192
METRICS_PORT: Final = 9404
METRICS_HOST: Final = "127.0.0.1"

_STEP: Final = 100
_HIGHEST_CHOSEN: Final = 32_767  # outgoing connections on Linux take ports above this
_SMALL: Final = 10  # ids from 1 up to this count as a group, also if few of the brokers are up
_ROOM: Final = 5
_MOST_ROOM: Final = 50

Probe = Callable[[str, int], str | None]
"""(host, port) -> the reason why the port cannot be bound, or None if it can."""


class Ports(NamedTuple):
    """The ports of a gateway: each listener's bootstrap port by its name, the number of brokers'
    places behind each, and the port of the metrics."""

    listeners: Mapping[str, int]
    places: int
    metrics: int

    def brokers(self, listener: str) -> range:
        """The brokers' ports of a listener."""
        first = self.listeners[listener] + 1
        return range(first, first + self.places)

    def reserve(self, listener: str) -> int:
        """The port behind the brokers' ports, which ``gateway_port`` may take."""
        return self.listeners[listener] + 1 + self.places


def ranges_for(node_ids: Collection[int]) -> list[str]:
    """``node_ids`` with every broker that exists, and places for more: as many again, from 5 to 50
    for each group of ids that are near each other."""
    ids = sorted(node_ids) or [1]
    groups: list[list[int]] = [[ids[0]]]
    for node in ids[1:]:
        if node - groups[-1][-1] > _SMALL:
            groups.append([])
        groups[-1].append(node)
    firsts = [group[0] for group in groups]
    if 1 < firsts[0] <= _SMALL:
        firsts[0] = 1
    texts = []
    for group, first, next_first in zip(
        groups, firsts, [*firsts[1:], MAX_NODE_ID + 1], strict=True
    ):
        room = min(max(_ROOM, len(group)), _MOST_ROOM)
        last = min(group[-1] + room, next_first - 1)
        texts.append(f"{first}-{last}" if last > first else str(first))
    return texts


def why_taken(host: str, port: int) -> str | None:
    """The reason why a port cannot be bound on this machine, if it cannot."""
    with ExitStack() as bound:
        return try_to_bind(host, port, bound)


def bindable(host: str) -> str:
    """Check a bind address, and return it unchanged. Raises CommandError if it
    is not this machine's."""
    reason = why_taken(host, 0)
    if reason is not None:
        raise CommandError(
            f"--bind: '{host}' cannot be bound: {reason}; give an address of this machine"
        )
    return host


def choose(
    host: str,
    listeners: Sequence[str],
    node_ids: Sequence[str],
    first: int | None = None,
    probe: Probe = why_taken,
) -> Ports:
    """Free ports for the listeners of these names on a bind address.

    Without ``first`` the first free ports are taken; with it the first listener has exactly
    this port, and the others follow. Raises CommandError if no ports are left, or if the
    requested ports are taken.
    """
    places = NodeIdRanges.parse(node_ids).size
    size = places + 2
    stride = -(-size // _STEP) * _STEP
    if first is None:
        starts = _first_fit(host, len(listeners), size, stride, FIRST_PORT, probe)
    else:
        if first + stride * (len(listeners) - 1) + size - 1 > MAX_PORT:
            stride = size
        starts = [first + stride * place for place in range(len(listeners))]
        _check(host, listeners, starts, size, stride, probe)
    taken = [range(start, start + size) for start in starts]
    return Ports(dict(zip(listeners, starts, strict=True)), places, _metrics_port(taken, probe))


def _first_fit(
    host: str, count: int, size: int, stride: int, first: int, probe: Probe
) -> list[int]:
    starts: list[int] = []
    start = first
    while len(starts) < count:
        if start + size - 1 > _HIGHEST_CHOSEN:
            raise CommandError(
                f"no {count} blocks of {size} free ports between {FIRST_PORT} and"
                f" {_HIGHEST_CHOSEN} on '{host}', one port for each place in node_ids; give --port,"
                " or one port for all brokers (docs/tls.md)"
            )
        reason = _why_block_taken(host, range(start, start + size), probe)
        if reason is None:
            starts.append(start)
            start += stride
        elif reason == IN_USE:
            start += _STEP
        else:
            raise CommandError(f"port {start} cannot be bound on '{host}': {reason}; give --port")
    return starts


def _check(
    host: str, listeners: Sequence[str], starts: Sequence[int], size: int, stride: int, probe: Probe
) -> None:
    """Raises CommandError unless all of these ports can be bound."""
    if starts[-1] + size - 1 > MAX_PORT:
        raise UsageError(
            f"--port {starts[0]}: {len(starts)} listeners of {size} ports each, one for each place"
            f" in node_ids, go beyond {MAX_PORT}; give a lower one"
        )
    for name, start in zip(listeners, starts, strict=True):
        for port in range(start, start + size):
            reason = probe(host, port)
            if reason is None:
                continue
            text = f"port {port} of listener '{name}' cannot be bound on '{host}': {reason}"
            if reason != IN_USE:
                raise CommandError(f"{text}; give another --port or --bind")
            other = _another(host, starts, size, stride, probe)
            step = "another --port" if other is None else f"--port {other}"
            raise CommandError(f"{text}; free it, or give {step}")


def _another(host: str, starts: Sequence[int], size: int, stride: int, probe: Probe) -> int | None:
    """A first port, the next or else the lowest, from which on all ports are free."""
    length = stride * (len(starts) - 1) + size
    after = range(starts[0], MAX_PORT - length, _STEP)
    for first in (*after, *range(FIRST_PORT, starts[0], _STEP)):
        blocks = (
            range(first + offset, first + offset + size) for offset in range(0, length, stride)
        )
        if all(_why_block_taken(host, block, probe) is None for block in blocks):
            return int(first)
    return None


def _why_block_taken(host: str, block: Iterable[int], probe: Probe) -> str | None:
    return next((reason for port in block if (reason := probe(host, port)) is not None), None)


def _metrics_port(taken: Sequence[range], probe: Probe) -> int:
    for port in range(METRICS_PORT, _HIGHEST_CHOSEN):
        if not any(port in block for block in taken) and probe(METRICS_HOST, port) is None:
            return port
    raise CommandError(f"no port for metrics is free on {METRICS_HOST} from {METRICS_PORT} on")


def shown(node_ids: Iterable[int]) -> str:
    """The ids as text: ``1-3, 11``."""
    ids = enumerate(sorted(node_ids))
    runs = [[node for _, node in run] for _, run in groupby(ids, lambda pair: pair[1] - pair[0])]
    return ", ".join(
        f"{run[0]}-{run[-1]}" if len(run) > 2 else ", ".join(map(str, run)) for run in runs
    )
