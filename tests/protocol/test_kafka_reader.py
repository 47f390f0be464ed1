"""The gateway walks the same fields of a request as Kafka reads, one by one, on any bytes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.apis.table import APIS
from gateway.exchanges.formats import REQUEST_KINDS
from protocol import messages
from protocol.entities import Kind
from protocol.errors import ProtocolError
from protocol.primitives import write_uvarint
from protocol.schema import api_key_of, message_spec
from protocol.walkers import Span, walker
from tests.protocol.kafka_reader import Found, Reader
from tests.protocol.oracle import encode
from tests.protocol.strategies import PROFILE, messages_of

CASES = [
    (f"{api.name}Request", version)
    for api in APIS.values()
    for version in range(api.first, api.last + 1)
]

FIRST_WITH_STATE = 15
"""The first Fetch in which replicas identify themselves in a tagged field (KIP-903)."""

DERIVED = frozenset({Kind.SIZED, Kind.COUNT})
"""Kinds of spans that are no field."""


def walked(message: str, version: int, body: bytes) -> list[Found] | None:
    """The fields that the gateway sees, be the request short or long, or None if it forwards
    nothing of it."""
    found = seen(message, version, body, paced=False)
    assert found == seen(message, version, body, paced=True)
    return found


def seen(message: str, version: int, body: bytes, *, paced: bool) -> list[Found] | None:
    spans: list[Span] = []
    walk = walker(message, version, REQUEST_KINDS, whole=True, paced=paced)
    try:
        stop = walk(body, 0, len(body), spans)
    except ProtocolError:
        return None
    if stop != len(body):
        return None
    return [(Kind(kind), value) for kind, _, _, value in spans if kind not in DERIVED]


def read(message: str, version: int, body: bytes) -> list[Found]:
    """The fields that a broker sees."""
    header = api_key_of(message).to_bytes(2, "big") + version.to_bytes(2, "big") + bytes(4)
    header += b"\xff\xff" + (b"\x00" if message_spec(message, version).flexible else b"")
    found = Reader(header + body).request()[3]
    return [
        (kind, len(value or b"") if kind is Kind.RECORDS else value)
        for kind, value in found
        if kind in REQUEST_KINDS
    ]


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case[0]}-{case[1]}")
@PROFILE
@given(data=st.data())
def test_walked_is_read(case: tuple[str, int], data: st.DataObject) -> None:
    tags = data.draw(st.sampled_from([[], [(100, b"new")]]))
    body = bytearray(encode(data.draw(messages_of(case)), tags))
    assert walked(*case, bytes(body)) == read(*case, bytes(body))
    for _ in range(data.draw(st.integers(1, 3))):
        if body:
            at = data.draw(st.integers(0, len(body) - 1))
            body[at] = data.draw(st.sampled_from([0, 1, 2, 127, 128, 255]) | st.integers(0, 255))
    found = walked(*case, bytes(body))
    if found is not None:
        assert found == read(*case, bytes(body))


@pytest.mark.parametrize("version", range(12, 16))
def test_a_known_tagged_field_is_as_long_as_its_size_says(version: int) -> None:
    """Kafka goes on behind the content, so a size may hide a field from a reader that trusts it."""
    case = ("FetchRequest", version)
    body = encode(messages.build(messages.message_class(*case)))[:-1]
    replica = b"\x01\x0d" + bytes(4) + bytes(8) + b"\x00"  # replica_state: broker 0
    cluster_id = b"\x00" + write_uvarint(1 + len(replica)) + b"\x01"
    assert walked(*case, body + b"\x01\x00\x02\x02a") is not None
    assert walked(*case, body + b"\x02" + cluster_id + replica + b"\x64\x00") is None
    if version == FIRST_WITH_STATE:
        found = read(*case, body + b"\x02" + cluster_id + replica + b"\x64\x00")
        assert (Kind.REPLICA_ID, 0) in found
