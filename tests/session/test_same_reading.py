"""The gateway and the broker read a frame alike.

Honest requests reach the broker as they would through a parser without shortcuts: with the same
header, and with the body's names changed. If other bytes reach it, a broker reads only names that
the client may reach: the bytes are read again at the broker's side, as Kafka reads them.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import Any, Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gateway.exchanges.exchange import Unanswerable
from gateway.rules.declaration import PLACEHOLDER
from protocol.entities import Kind
from protocol.errors import ProtocolError
from protocol.headers import request_header_version
from protocol.primitives import MAX_INT16, legacy_string
from protocol.records import batch_facts
from protocol.schema import api_key_of, message_versions
from tests.examples import examples
from tests.protocol.kafka_reader import Found, Reader, Rejected
from tests.protocol.oracle import encode, renamed
from tests.session import samples
from tests.session.allowing import Allowing
from tests.session.mutating import MUTATED, QUICK, pieces
from tests.session.mutations import Mutation, framed, mutated
from tests.session.pair import Pair, topic_id
from tests.session.producing import batch, produce

OWN: Final = "team-a..orders"
FOREIGN: Final = "team-b..secret"
HOME: Final = b"team-a.."
NO_NAME: Final = PLACEHOLDER.encode()
"""The topic that Metadata v0 requests instead of none, because its empty list means all topics."""
NO_ID: Final = bytes(16)

CASES = [pytest.param(*case, id=f"{case[0]}-v{case[1]}") for case in samples.decided()]

CLIENT_IDS: Final = (None, b"", b"a", b"ab", b"\xff\xff", b"\x00", b"c" * MAX_INT16)
HEADER_TAGS: Final = (b"\x00", b"\x01\x05\x02ab", b"\x02\x00\x00\x01\x01x")
"""Tagged fields of a flexible header: an empty list, and some that no header has."""

TOPIC: Final = 2
KEY_TYPES: Final = (0, 1)
"""Groups and transactional ids; the key (2) of a share partition has a topic's id in its text."""

EMBEDDED: Final = {
    Kind.SUBSCRIPTION: "ConsumerProtocolSubscription",
    Kind.ASSIGNMENT: "ConsumerProtocolAssignment",
}

NAMELESS: Final = frozenset(
    {
        *(Kind.ACKS, Kind.RECORDS, Kind.AUTO_CREATION, Kind.MAX_BYTES, Kind.PARTITION),
        *(Kind.SESSION_ID, Kind.SESSION_EPOCH, Kind.NODE_ID, Kind.PROTOCOL_TYPE),
    }
)
"""Kinds that can have no name, expression or message in them. A field of any other kind is asserted
to have only names that the client may reach, so if a new version of Kafka brings a kind, the test
fails until it is handled."""

RENAMED: Final = frozenset(
    {Kind.TOPIC_NAME, Kind.GROUP_ID, Kind.TRANSACTIONAL_ID, Kind.COORDINATOR_KEY}
)


def frame(
    api: str, version: int, body: bytes, client_id: bytes | None, tags: bytes, number: int = 7
) -> bytes:
    """A request frame with any possible header."""
    api_key = api_key_of(f"{api}Request")
    header = api_key.to_bytes(2, "big") + version.to_bytes(2, "big") + number.to_bytes(4, "big")
    header += legacy_string(client_id)
    if request_header_version(api_key, version) >= 2:
        header += tags
    return framed(header + body)


class Step:
    """A client's request, and the request that a broker is to get for it."""

    def __init__(self, asked: bytes, forwarded: bytes) -> None:
        self.asked = asked
        self.forwarded = forwarded


def step(api: str, version: int, entity: Any, header: tuple[bytes | None, bytes]) -> Step:
    """A request in the names of a home. kio writes both bodies, the gateway's code neither."""

    def to_flat(kind: Kind, name: str) -> str:
        return HOME.decode() + name if kind in RENAMED else name

    flat = renamed(f"{api}Request", version, entity, to_flat)
    return Step(
        frame(api, version, encode(entity), *header), frame(api, version, encode(flat), *header)
    )


HEADERS = st.tuples(st.sampled_from(CLIENT_IDS), st.sampled_from(HEADER_TAGS))
BATCHES = st.sampled_from([b"", b"x", batch(1), batch(3) + bytes(20_000)])


@st.composite
def produces(draw: st.DrawFn) -> Step:
    """A Produce, mostly of a single topic and partition, which streams."""
    version = draw(st.integers(3, 12))
    topics = draw(st.sampled_from([["orders"], ["orders"], ["orders", "x"], ["y", "orders"]]))
    records: list[bytes | None] = [draw(BATCHES)]
    if draw(st.integers(0, 3)) == 0:
        records.append(draw(BATCHES))
    entity = produce({name: list(records) for name in topics}, version)
    return step("Produce", version, entity, draw(HEADERS))


PLAIN: Final = (
    *(("OffsetFetch", 5), ("OffsetFetch", 6), ("Heartbeat", 0), ("Heartbeat", 4)),
    *(("EndTxn", 0), ("EndTxn", 3), ("ListOffsets", 1), ("ListOffsets", 6)),
    *(("Fetch", 4), ("Fetch", 11), ("Fetch", 12)),
)


@st.composite
def others(draw: st.DrawFn) -> Step:
    """A request of another API, in which each name is in a field of its own."""
    api, version = draw(st.sampled_from(PLAIN))
    entity = samples.request(api, version, "orders", topic_id(1))
    return step(api, version, entity, draw(HEADERS))


@settings(QUICK, max_examples=examples(400))
@given(
    steps=st.lists(produces() | others(), min_size=1, max_size=4),
    cuts=st.lists(st.floats(0, 1), max_size=6),
    bytewise=st.booleans(),
)
def test_honest_requests(steps: list[Step], cuts: list[float], bytewise: bool) -> None:
    pair = Pair(home="team-a", topics=[OWN, "team-a..x", "team-a..y"])
    asked = b"".join(one.asked for one in steps)
    if bytewise and len(asked) < 2_000:
        cuts = [at / len(asked) for at in range(len(asked))]
    sent = b""
    for piece in pieces(asked, cuts):
        pair.send(piece)
        if not pair.session.streaming:  # a broker answers only requests that it has wholly read
            sent += pair.let_answer()
    assert sent + pair.let_answer() == b"".join(one.forwarded for one in steps)


def forwarded(pair: Pair) -> Iterator[list[Found]]:
    """What a broker reads in each whole frame that it was sent; it drops a connection if it cannot
    read a frame."""
    data = pair.to_broker()
    while len(data) >= 4 and len(data) >= 4 + int.from_bytes(data[:4], "big"):
        size = int.from_bytes(data[:4], "big")
        try:
            yield Reader(data[4 : 4 + size]).request()[3]
        except Rejected:
            return
        data = data[4 + size :]


def assert_own(found: list[Found], topics: set[bytes], groups: set[bytes], ids: set[bytes]) -> None:
    """Assert that no other names are in a frame; ``groups`` and ``topics`` that end in a dot are
    prefixes."""

    def within(value: bytes, allowed: set[bytes]) -> bool:
        return value in allowed or any(
            one[-1:] == b"." and value.startswith(one) for one in allowed
        )

    resource_type = TOPIC
    # A Produce has acks; brokers authorize its transactional id only if its batches are
    # transactional.
    plain = any(kind is Kind.ACKS for kind, _ in found) and not any(
        kind is Kind.RECORDS and is_transactional(value) for kind, value in found
    )
    for kind, value in found:
        if kind is Kind.RESOURCE_TYPE:
            resource_type = value
        elif kind is Kind.REPLICA_ID:
            assert value < 0, found
        elif not value:
            continue  # an empty name belongs to no client
        elif kind is Kind.TOPIC_NAME:
            assert within(value, topics), (value, found)
        elif kind is Kind.RESOURCE_NAME:
            assert resource_type == TOPIC, found  # names of other resources are the broker's own
            assert within(value, topics), (value, found)
        elif kind is Kind.KEY_TYPE:
            assert value in KEY_TYPES, found
        elif kind is Kind.TOPIC_ID:
            assert value in ids | {NO_ID}, found
        elif kind is Kind.TRANSACTIONAL_ID and plain:
            continue
        elif kind in (Kind.GROUP_ID, Kind.TRANSACTIONAL_ID, Kind.COORDINATOR_KEY):
            assert within(value, groups), (value, found)
        else:
            assert kind in NAMELESS or kind in EMBEDDED, found


def assert_embedded_own(found: list[Found], prefix: bytes) -> None:
    """Assert that the bytes of members name only a home's topics. (Kafka applies no ACLs to
    them.)"""
    protocol_type = b"consumer"
    for kind, value in found:
        if kind is Kind.PROTOCOL_TYPE:
            protocol_type = value
        elif kind in EMBEDDED and value and protocol_type == b"consumer":
            names = embedded_names(kind, value)
            assert all(name.startswith(prefix) for name in names), (names, found)


def embedded_names(kind: Kind, value: bytes) -> set[bytes]:
    """The topics that a member's bytes name, as Kafka's ConsumerProtocol reads them by the newest
    version that it knows; empty if it cannot."""
    name, version = EMBEDDED[kind], int.from_bytes(value[:2], "big", signed=True)
    known = min(max(version, 0), max(message_versions(name)))
    try:
        found = Reader(value[2:]).message(name, known)
    except Rejected:
        return set()
    return {name for carried, name in found if carried is Kind.TOPIC_NAME}


def is_transactional(records: bytes | None) -> bool:
    """Whether a broker takes the first batch as transactional."""
    facts = batch_facts(records or b"", 0, len(records or b""))
    return facts is not None and facts[2]


def tried(pair: Pair, data: bytes, cuts: list[float]) -> None:
    """Send bytes that may not be a request at all."""
    with suppress(ProtocolError, Unanswerable):
        for piece in pieces(data, cuts):
            pair.send(piece)


CUTS = st.lists(st.floats(0, 1), max_size=3)
FIRST = st.sampled_from([None, b"", b"test-client"])
"""The client id of an earlier request; if it is None, the connection begins here."""


@pytest.mark.parametrize(("api", "version"), CASES)
@QUICK
@given(mutate=MUTATED, cuts=CUTS, header=HEADERS, before=FIRST, foreign=st.booleans())
def test_a_home_confines_what_brokers_read(
    api: str,
    version: int,
    mutate: list[Mutation],
    cuts: list[float],
    header: tuple[bytes | None, bytes],
    before: bytes | None,
    foreign: bool,
) -> None:
    pair = Pair(home="team-a", topics=[OWN, FOREIGN])
    if before is not None:
        pair.send(frame("Heartbeat", 0, HEARTBEAT, before, b""))
    name, number = (FOREIGN, 2) if foreign else ("orders", 1)
    body = encode(samples.request(api, version, name, topic_id(number)))
    tried(pair, mutated(frame(api, version, body, *header), mutate), cuts)
    for found in forwarded(pair):
        assert_own(found, {HOME, NO_NAME}, {HOME}, {topic_id(1).bytes})
        assert_embedded_own(found, HOME)


HEARTBEAT: Final = legacy_string(b"app") + bytes(4) + legacy_string(b"m")

ALLOWED: Final = tuple(
    f"{operation} {resource}"
    for operation in ("READ", "WRITE", "DESCRIBE", "DELETE", "ALTER", "CREATE", "ALTER_CONFIGS")
    for resource in ("TOPIC team-a:orders", "GROUP app", "TRANSACTIONAL_ID tx")
)


@pytest.mark.parametrize(("api", "version"), CASES)
@QUICK
@given(mutate=MUTATED, cuts=CUTS, header=HEADERS, foreign=st.booleans())
def test_an_authorizer_confines_what_brokers_read(
    api: str,
    version: int,
    mutate: list[Mutation],
    cuts: list[float],
    header: tuple[bytes | None, bytes],
    foreign: bool,
) -> None:
    pair = Pair(topics=[OWN, FOREIGN], authorizer=Allowing(ALLOWED))
    name, number = ("team-b:secret", 2) if foreign else ("team-a:orders", 1)
    body = encode(samples.request(api, version, name, topic_id(number)))
    tried(pair, mutated(frame(api, version, body, *header), mutate), cuts)
    for found in forwarded(pair):
        assert_own(found, {OWN.encode(), NO_NAME}, {b"app", b"tx"}, {topic_id(1).bytes})
