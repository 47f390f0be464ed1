"""Numbers of the clusters behind other gateways: recorded once, and expected from then on.

A number stands in the node ids of its cluster (:mod:`gateway.node_ids`). If two clusters had the
same number, clients would take a broker of one cluster for a broker of the other.
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
    """The numbers of mounts: the configured numbers, and the recorded numbers of other mounts.

    A number belongs to the mount that had it first. If another mount answers with the number, it is
    not believed, and the number is noted as ``contested``: one of the two mounts is wrong, and only
    operators know which. If the first mount then answers with a number that no mount has, the
    contested number is free.
    """

    def __init__(
        self,
        own: Mapping[str, int],
        known: Mapping[str, int] = MappingProxyType({}),
        *,
        settled: Mapping[str, int] = MappingProxyType({}),
        recorded: Collection[str] | None = None,
    ) -> None:
        """``own`` has this gateway's numbers, ``settled`` the configured numbers of other mounts
        (``tree.numbers``), ``known`` the numbers recorded earlier: a known number that contradicts
        the configuration, or an earlier known number, is left out. ``recorded`` has the mounts
        whose numbers are recorded, which are the mounts that clients here can reach (None: all
        mounts). ``on_change`` is called when a mount has got another number."""
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
        """The numbers of other gateways' mounts: first the configured numbers, then the recorded
        numbers in the order of recording."""
        return MappingProxyType(self._known)

    def of(self, mount: str) -> int | None:
        """The number of a mount; None if it is not known."""
        return self._own.get(mount) or self._known.get(mount)

    def holder(self, number: int) -> str | None:
        """The mount that has a number; None if no mount has it."""
        return self._holders.get(number)

    def believes(self, mount: str, number: int) -> bool:
        """Whether a mount has the number, which is recorded at first sight. Not believed if the
        mount has another number that no other mount claims, if another mount has the number, or if
        no mount can have it."""
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

    ``api_name`` is Kafka's (``Metadata``). False for a body that is not of this API and version.
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
    """Checks the spans of a walk and keeps none of them, so it stays small."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self._number = number

    def append(self, span: Span) -> None:
        node_id = span[3]
        if node_id < _NOBODY or (node_id >= 0 and node_id >> MOUNTED_BITS != self._number):
            raise _OtherNumberError
