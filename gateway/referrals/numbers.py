"""Numbers of the clusters behind other gateways: recorded once, and expected from then on.

A number stands in the node ids of its cluster (:mod:`gateway.node_ids`). Clients would take the
broker of one cluster for that of another if two clusters had the same number.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from types import MappingProxyType
from typing import Final

from gateway.mounts import MAX_NUMBER
from gateway.node_ids import MOUNTED_BITS
from protocol.entities import Kind
from protocol.errors import ProtocolError
from protocol.walkers import Span, walker

_NODE_KINDS: Final = frozenset({Kind.NODE_ID, Kind.ENDPOINT_NODE})

_NOBODY: Final = -1

_AT_ONCE: Final = 32 * 1024
"""Bytes that are walked in one go; longer messages may take several slices."""


class Numbers:
    """The numbers of mounts: those of the configuration, and those recorded of others.

    A number belongs to the mount that had it first. Another one that answers with it is not
    believed, and is noted as ``contested``: one of the two is wrong, and which one only operators
    know. Once the first one answers with a number that nobody has, the contested one is free.
    """

    def __init__(
        self,
        own: Mapping[str, int],
        known: Mapping[str, int] = MappingProxyType({}),
        *,
        settled: Mapping[str, int] = MappingProxyType({}),
        recorded: Collection[str] | None = None,
    ) -> None:
        """``own`` are this gateway's, ``settled`` those that the configuration gives other mounts
        (``tree.numbers``). ``known`` are those recorded earlier; those that contradict the
        configuration, or others before them, are left out. ``recorded`` are the mounts whose
        numbers are recorded at all: those that clients here can reach (None: every one).
        ``on_change`` is called when a mount has got another number."""
        self._own = dict(own)
        self._fixed = {**settled, **own}
        self._holders = {number: mount for mount, number in self._fixed.items()}
        self._recorded = recorded
        self._known = {mount: number for mount, number in settled.items() if mount not in own}
        self.on_change: Callable[[], None] | None = None
        self._contested: set[int] = set()
        for mount, number in known.items():
            self.believes(mount, number)
        self._contested.clear()

    @property
    def known(self) -> Mapping[str, int]:
        """Those of other gateways' mounts: the configuration's, then the recorded ones, the first
        recorded first."""
        return MappingProxyType(self._known)

    def of(self, mount: str) -> int | None:
        """The number of a mount, or None if it is not known."""
        return self._own.get(mount) or self._known.get(mount)

    def holder(self, number: int) -> str | None:
        """The mount that has a number, or None if none has."""
        return self._holders.get(number)

    def believes(self, mount: str, number: int) -> bool:
        """Whether a mount has the number. At first sight it is recorded; it is not believed if the
        mount has another one that nobody else lays claim to, if another mount has it, or if no
        mount can have it."""
        before = self.of(mount)
        if before == number:
            return True
        if mount in self._fixed or not 1 <= number <= MAX_NUMBER:
            return False
        if number in self._holders:
            self._contested.add(number)
            return False
        if before is not None and before not in self._contested:
            return False
        if before is None and self._recorded is not None and mount not in self._recorded:
            return True
        self._known[mount] = number
        self._holders[number] = mount
        if before is not None:
            del self._holders[before]
            self._contested.discard(before)
            if self.on_change is not None:
                self.on_change()
        return True


def bears_number(api_name: str, version: int, body: bytes, number: int) -> bool:
    """Whether every node id in a response body bears the number; -1 stands for no broker.

    ``api_name`` is Kafka's (``Metadata``). A body that is not this API's in this version does not.
    """
    try:
        walk = walker(
            f"{api_name}Response",
            version,
            _NODE_KINDS,
            whole=True,
            paced=len(body) > _AT_ONCE,
        )
        return walk(body, 0, len(body), _Bearing(number)) == len(body)
    except (ProtocolError, _OtherNumberError):
        return False


class _OtherNumberError(Exception):
    """A node id does not bear the number."""


class _Bearing(list[Span]):
    """Looks at the spans of a walk, and keeps none of them, however many there are."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self._number = number

    def append(self, span: Span) -> None:
        node_id = span[3]
        if node_id < _NOBODY or (node_id >= 0 and node_id >> MOUNTED_BITS != self._number):
            raise _OtherNumberError
