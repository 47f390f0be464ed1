"""Node numbers: broker node ids in messages, as the cluster has them and as clients see them.

Pure. In a tree clients know brokers by virtual node ids, which have the number of their cluster
above 16 bits of the broker's own id (:mod:`gateway.node_ids`). Which fields hold node ids the
schema says; ids are four bytes, so that no length changes. Negative ones stand for no broker.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from struct import Struct
from typing import Final

from gateway.mounts import MAX_MOUNTED_NODE_ID
from gateway.node_ids import MOUNTED_BITS, virtual_node_id
from protocol.entities import Kind, kind_of
from protocol.errors import ProtocolError
from protocol.pausing import FEW, paced
from protocol.schema import StructSpec, message_spec
from protocol.splice import Edit
from protocol.walkers import Span, walker

NODE_ID: Final = int(Kind.NODE_ID)
ENDPOINT_NODE: Final = int(Kind.ENDPOINT_NODE)

_NODES: Final = (NODE_ID, ENDPOINT_NODE)
NODE_KINDS: Final = frozenset({Kind.NODE_ID, Kind.ENDPOINT_NODE})

NOBODY: Final = 1 << 30
"""Or-ed into an id without a number: above every virtual node id, so no broker has it."""

MOST: Final = 200_000
"""Node ids that one request may hold."""

_AT_ONCE: Final = 32 * 1024
"""Bytes that are walked in one go; longer messages may take several slices."""

_INT32: Final = Struct(">i")


@cache
def has_nodes(message: str, version: int) -> bool:
    """Whether a message of this version (``MetadataResponse``) holds node ids of brokers."""
    return _holds(message, message_spec(message, version).body)


def numbered(message: str, version: int, body: bytes, number: int) -> bytes:
    """A response body with virtual node ids in place of the cluster's own, whose number is
    ``number``; 0 changes nothing. Raises ProtocolError."""
    if not number:
        return body
    spans = node_spans(message, version, body, 0, len(body))
    out = bytearray(body)
    for _, start, _, value in spans if len(spans) <= FEW else paced(spans):
        _INT32.pack_into(out, start, virtual_node_id(number, value))
    return bytes(out)


def number_edits(
    message: str, version: int, buf: bytes, start: int, end: int, number: int
) -> list[Edit]:
    """Edits that put virtual node ids in a response. Raises ProtocolError."""
    return node_edits(node_spans(message, version, buf, start, end), number)


def node_edits(spans: Sequence[Span], number: int) -> list[Edit]:
    """Edits that put virtual node ids in place of those among the spans, which may be of others
    too."""
    return [
        (start, stop, _INT32.pack(virtual_node_id(number, value)))
        for kind, start, stop, value in (spans if len(spans) <= FEW else paced(spans))
        if kind in _NODES and value >= 0
    ]


def real_edits(spans: Sequence[Span], number: int) -> list[Edit]:
    """Edits that put a cluster's own node ids in place of virtual ones, in a client's request.

    An id with another number stays as it is, and one without a number becomes larger than any:
    the cluster has no such broker and says so.
    """
    return [
        (start, stop, _INT32.pack(real_node_id(number, value)))
        for kind, start, stop, value in (spans if len(spans) <= FEW else paced(spans))
        if kind == NODE_ID and real_node_id(number, value) != value
    ]


def real_node_id(number: int, node_id: int) -> int:
    """The node id that a virtual one stands for in the cluster with this number; an id that no
    broker of it has where it stands for none."""
    if not number or node_id < 0:
        return node_id
    if node_id >> MOUNTED_BITS == number:
        return node_id & MAX_MOUNTED_NODE_ID
    return node_id if node_id > MAX_MOUNTED_NODE_ID else node_id | NOBODY


def node_spans(
    message: str, version: int, buf: bytes, start: int, end: int, *, whole: bool = False
) -> list[Span]:
    """The node ids in a body that ends at ``end``. ``whole`` is for a client's request, read as a
    broker reads it (:func:`protocol.walkers.walker`), which may have :data:`MOST` of them.

    Raises ProtocolError, also for bytes behind it.
    """
    walk = walker(message, version, NODE_KINDS, whole=whole, paced=end - start > _AT_ONCE)
    spans: list[Span] = _Few() if whole else []
    stop = walk(buf, start, end, spans)
    if stop != end:
        raise ProtocolError(f"{message} v{version} has {end - stop} bytes after its end")
    return spans


class _Few(list[Span]):
    """A list of spans that holds no more than :data:`MOST`."""

    def append(self, span: Span) -> None:
        if len(self) >= MOST:
            raise ProtocolError(f"a request names more than {MOST} brokers")
        super().append(span)


def _holds(message: str, struct: StructSpec) -> bool:
    return any(
        kind_of(message, field) in NODE_KINDS
        or (field.struct is not None and _holds(message, field.struct))
        for field in struct.fields + struct.tagged
    )
