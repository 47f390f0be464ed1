"""Node numbers: broker node ids in messages, as the cluster has them and as clients see them.

Pure. In a tree, clients know brokers by virtual node ids: the number of the cluster above the
16 bits of the broker's own id (:mod:`gateway.node_ids`). The schema defines the fields that hold
node ids. An id has four bytes, so no length changes. A negative id stands for no broker.
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
"""The bit that is or-ed into an id without a number, so that the id is above every virtual node id
and no broker has it."""

MOST: Final = 200_000
"""The most node ids in one request."""

_AT_ONCE: Final = 32 * 1024
"""Bytes that are walked in one go; a longer message may take several slices."""

_INT32: Final = Struct(">i")


@cache
def has_nodes(message: str, version: int) -> bool:
    """Whether a message of this version (``MetadataResponse``) holds node ids of brokers."""
    return _holds(message, message_spec(message, version).body)


def numbered(message: str, version: int, body: bytes, number: int) -> bytes:
    """A response body with virtual node ids in place of the cluster's own ids. ``number`` is the
    cluster's number; 0 changes nothing. Raises ProtocolError."""
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
    """Edits that put virtual node ids in place of the node ids among the spans. Spans of other
    kinds are skipped."""
    return [
        (start, stop, _INT32.pack(virtual_node_id(number, value)))
        for kind, start, stop, value in (spans if len(spans) <= FEW else paced(spans))
        if kind in _NODES and value >= 0
    ]


def real_edits(spans: Sequence[Span], number: int) -> list[Edit]:
    """Edits that put a cluster's own node ids in place of virtual node ids, in a client's request.

    An id with another cluster's number does not change. An id without a number becomes larger than
    any broker's id, so the cluster responds that it has no such broker.
    """
    return [
        (start, stop, _INT32.pack(real_node_id(number, value)))
        for kind, start, stop, value in (spans if len(spans) <= FEW else paced(spans))
        if kind == NODE_ID and real_node_id(number, value) != value
    ]


def real_node_id(number: int, node_id: int) -> int:
    """The node id that a virtual id stands for in the cluster with this number. If the virtual id
    stands for no broker of the cluster, the result is an id that no broker has."""
    if not number or node_id < 0:
        return node_id
    if node_id >> MOUNTED_BITS == number:
        return node_id & MAX_MOUNTED_NODE_ID
    return node_id if node_id > MAX_MOUNTED_NODE_ID else node_id | NOBODY


def node_spans(
    message: str, version: int, buf: bytes, start: int, end: int, *, whole: bool = False
) -> list[Span]:
    """The node ids in a body that ends at ``end``. ``whole``: the body is a client's request, which
    is parsed as a broker parses it (:func:`protocol.walkers.walker`) and may hold :data:`MOST` ids.

    Raises ProtocolError, also if bytes follow the body.
    """
    walk = walker(message, version, NODE_KINDS, whole=whole, paced=end - start > _AT_ONCE)
    spans: list[Span] = _Few() if whole else []
    stop = walk(buf, start, end, spans)
    if stop != end:
        raise ProtocolError(f"{message} v{version} has {end - stop} bytes after its end")
    return spans


class _Few(list[Span]):
    """A list of at most :data:`MOST` spans."""

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


def with_numbers(
    message: str,
    version: int,
    buf: bytes,
    start: int,
    end: int,
    result: list[Edit] | bytes,
    number: int,
) -> list[Edit] | bytes:
    """The result of a response handler, with virtual node ids. Raises ProtocolError."""
    if isinstance(result, bytes):
        return numbered(message, version, result, number)
    edits = number_edits(message, version, buf, start, end, number)
    return sorted([*result, *edits])
