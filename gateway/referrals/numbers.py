"""Numbers of the clusters behind other gateways: recorded once, and expected from then on.

A number stands in the node ids of its cluster (:mod:`gateway.node_ids`). Clients would take the
broker of one cluster for that of another if two clusters had the same number.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from gateway.mounts import MAX_NUMBER
from gateway.node_ids import MOUNTED_BITS
from protocol.entities import Kind
from protocol.errors import ProtocolError
from protocol.walkers import Span, walker

_NODE_KINDS: Final = frozenset({Kind.NODE_ID, Kind.ENDPOINT_NODE})

_AT_ONCE: Final = 32 * 1024
"""Bytes that are walked in one go; longer messages may take several slices."""


class Numbers:
    """The numbers of mounts: this gateway's own ones, and those recorded of others."""

    def __init__(self, own: Mapping[str, int], known: Mapping[str, int] = MappingProxyType({})):
        """``own`` are those of the configuration. ``known`` are those recorded earlier; those that
        contradict ``own``, or others before them, are left out."""
        self._own = dict(own)
        self._known: dict[str, int] = {}
        self._taken = set(self._own.values())
        for mount, number in known.items():
            self.believes(mount, number)

    @property
    def known(self) -> Mapping[str, int]:
        """The recorded ones, without this gateway's own; the first recorded first."""
        return MappingProxyType(self._known)

    def believes(self, mount: str, number: int) -> bool:
        """Whether a mount has the number. At first sight it is recorded; it is not believed if the
        mount has another one, if another mount has it, or if no mount can have it."""
        recorded = self._own.get(mount) or self._known.get(mount)
        if recorded is not None:
            return recorded == number
        if not 1 <= number <= MAX_NUMBER or number in self._taken:
            return False
        self._known[mount] = number
        self._taken.add(number)
        return True


def bears_number(api_name: str, version: int, body: bytes, number: int) -> bool:
    """Whether every node id in a response body bears the number; negative ones stand for no broker.

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
        if node_id >= 0 and node_id >> MOUNTED_BITS != self._number:
            raise _OtherNumberError
