"""A decision is never older than the broker's work on it: a request waits undecided behind others,
and if the catalog changes, requests in flight or still arriving are checked again."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

import pytest

from gateway.catalog.entities import Change, Freeze, Link, Namespace, TopicEntry
from gateway.catalog.freezes import Frozen
from gateway.config.policies import PolicySettings
from gateway.names import LogicalName
from gateway.policies.tree import Policies
from protocol import messages
from protocol.entities import Kind
from protocol.messages import element_class, make
from tests.protocol.kafka_reader import Reader
from tests.session import fetching, samples
from tests.session.allowing import Allowing
from tests.session.pair import Pair, frames, request_frame, topic_id
from tests.session.producing import batch, produce

FLAT, NAME = "team-a..orders", "team-a:orders"
OTHER_FLAT, OTHER = "team-a..x", "team-a:x"
FORBIDDEN = 29

OPERATIONS: Final = [
    "READ",
    "WRITE",
    "DESCRIBE",
    "DELETE",
    "ALTER",
    "CREATE",
    "ALTER_CONFIGS",
    "DESCRIBE_CONFIGS",
]
IDS: Final = [
    f"{operation} {resource}"
    for operation in OPERATIONS
    for resource in ("GROUP app", "TRANSACTIONAL_ID tx")
]


def on(*names: str) -> list[str]:
    """Texts that allow every operation on these topics."""
    return [f"{operation} TOPIC {name}" for name in names for operation in OPERATIONS]


ON_CLUSTER: Final = ["DESCRIBE CLUSTER kafka-cluster", "ALTER CLUSTER kafka-cluster"]
ALL: Final = [*on(NAME, OTHER, "plain"), *IDS, *ON_CLUSTER]


AS_SENT: Final = Policies(
    PolicySettings.model_validate({"everywhere": {"producer": {"acks": "observe"}}})
)
"""Policies that forward acks=0 unchanged, so that brokers do not respond."""


def a_pair() -> Pair:
    topics = [FLAT, OTHER_FLAT, "plain"]
    return Pair(topics=topics, authorizer=Allowing(ALL), policies=AS_SENT)


def allow(pair: Pair, allowed: list[str]) -> None:
    """Allow only these operations from now on."""
    pair.authorizer = Allowing(allowed)
    pair.catalog_changed()


def fetch(correlation_id: int, name: str = "plain") -> bytes:
    """A request that a broker holds back as long as there are no records."""
    entity = fetching.request(12, {name: [0]}, session_epoch=-1)
    return request_frame("Fetch", 12, entity, correlation_id)


def asked(api: str, version: int, correlation_id: int) -> bytes:
    name = samples.forwarded(api, NAME)
    number = 3 if name == samples.PLAIN else 1
    entity = samples.request(api, version, name, topic_id(number))
    return request_frame(api, version, entity, correlation_id)


NAMING: Final = frozenset(
    {Kind.TOPIC_NAME, Kind.TOPIC_ID, Kind.GROUP_ID, Kind.TRANSACTIONAL_ID, Kind.COORDINATOR_KEY}
)
EFFECTS: Final = [case for case in samples.decided() if case[0] != "Fetch"]


def named(payload: bytes) -> set[Any]:
    """The names that a broker reads in a request."""
    return {value for kind, value in Reader(payload).request()[3] if kind in NAMING and value}


@pytest.mark.parametrize(("api", "version"), EFFECTS)
def test_nothing_is_decided_before_the_broker_has_done_what_stands_before(
    api: str, version: int
) -> None:
    pair = a_pair()
    pair.send(fetch(1) + asked(api, version, 2))
    assert [payload[4:8] for payload in frames(pair.to_broker())] == [(1).to_bytes(4, "big")]
    allow(pair, on("plain"))
    pair.reset = False
    sent = frames(pair.let_answer())
    assert not any(named(payload) & {FLAT.encode(), b"app", b"tx"} for payload in sent)


@pytest.mark.parametrize(("api", "version"), EFFECTS)
def test_what_is_in_flight_ends_with_its_right(api: str, version: int) -> None:
    pair = a_pair()
    pair.send(asked(api, version, 2))
    sent = frames(pair.to_broker())
    allow(pair, [one for one in ALL if "GROUP" not in one])
    groups_alone = pair.reset
    allow(pair, [])
    concerns = any(named(payload) for payload in sent)
    assert pair.reset or not concerns, named(sent[0])
    uses_groups = any(b"app" in named(payload) for payload in sent)
    assert groups_alone == uses_groups


@pytest.mark.parametrize(("api", "version"), EFFECTS)
def test_what_is_still_allowed_goes_on(api: str, version: int) -> None:
    pair = a_pair()
    pair.send(asked(api, version, 2))
    allow(pair, [*ALL, "READ TOPIC team-b:new"])
    assert not pair.reset
    pair.log.append([Namespace("team-c"), TopicEntry("z", LogicalName("team-c", "z"))])
    pair.catalog_changed()
    assert not pair.reset


MOVED: Final = TopicEntry(FLAT, LogicalName("team-b", "orders"), topic_id(77).bytes)
GONE: Final = Namespace("team-a", deleting=1)
CHANGES: Final[list[list[Change]]] = [[MOVED], [GONE]]


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("version", [9, 12, 13])
@pytest.mark.parametrize("acks", [0, 1, -1])
def test_the_end_of_a_request_that_streams_does_not_reach_the_broker(
    change: list[Change], version: int, acks: int
) -> None:
    pair = a_pair()
    records = batch(1) + bytes(150_000)
    name = NAME if version < 13 else "1"
    frame = request_frame("Produce", version, produce({name: [records]}, version, acks))
    pair.send(frame[:60_000])
    assert pair.session.streaming
    pair.log.append(change)
    pair.catalog_changed()
    assert pair.reset
    assert len(pair.to_broker()) < len(frame) - 60_000


def test_a_link_that_is_cut_while_records_arrive() -> None:
    pair = Pair(
        topics=[FLAT],
        entries=[TopicEntry(FLAT, LogicalName("team-a", "orders"))],
        authorizer=Allowing(on("team-b:linked")),
    )
    link = LogicalName("team-b", "linked")
    cut = Link(link, FLAT, topic_id(78).bytes)
    pair.log.append([cut])
    pair.catalog_changed()
    frame = request_frame("Produce", 9, produce({"team-b:linked": [batch(1) + bytes(150_000)]}))
    pair.send(frame[:60_000])
    assert pair.session.streaming
    pair.log.append([replace(cut, gone=NAME)])
    pair.catalog_changed()
    assert pair.reset


@pytest.mark.parametrize("version", [9, 13])
def test_records_without_acks_may_still_be_on_their_way(version: int) -> None:
    pair = a_pair()
    names = (NAME, OTHER) if version < 13 else ("1", "2")
    for name in (*names, names[1]):
        pair.send(request_frame("Produce", version, produce({name: [batch(1)]}, version, acks=0)))
    allow(pair, [*on(NAME, OTHER), "READ TOPIC plain"])
    assert not pair.reset
    allow(pair, on(OTHER))
    assert pair.reset


def test_a_transaction_whose_id_is_not_allowed_any_more() -> None:
    pair = a_pair()
    entity = produce({NAME: [batch(1, transactional=True)]}, transactional_id="tx")
    pair.send(request_frame("Produce", 9, entity))
    assert pair.to_broker()
    allow(pair, on(NAME))
    assert pair.reset


@pytest.mark.parametrize(("acks", "partly"), [(0, False), (-1, False), (-1, True)])
def test_a_transactional_id_that_needs_no_right_ends_nothing(acks: int, partly: bool) -> None:
    """Its batches are not transactional, so KafkaApis does not authorize the id."""
    pair = Pair(topics=[FLAT, OTHER_FLAT], authorizer=Allowing(on(NAME)), policies=AS_SENT)
    names = [NAME, OTHER] if partly else [NAME]
    entity = produce({name: [batch(1)] for name in names}, transactional_id="tx", acks=acks)
    pair.send(request_frame("Produce", 9, entity))
    assert pair.to_broker()
    allow(pair, [*on(NAME), "READ TOPIC plain"])
    assert not pair.reset


def test_what_was_rejected_already_ends_nothing() -> None:
    """The part of a request that was denied from the start is not in flight."""
    pair = Pair(topics=[FLAT, OTHER_FLAT], authorizer=Allowing(on(NAME)))
    pair.send(request_frame("Produce", 9, produce({NAME: [batch(1)], OTHER: [batch(1)]})))
    assert [OTHER_FLAT.encode() in payload for payload in frames(pair.to_broker())] == [False]
    allow(pair, [*on(NAME), "READ TOPIC plain"])
    assert not pair.reset
    allow(pair, on(OTHER))
    assert pair.reset


def test_a_stale_catalog_ends_what_has_not_wholly_arrived_alone() -> None:
    pair = a_pair()
    pair.send(request_frame("Produce", 9, produce({NAME: [batch(1)]})))
    pair.close_view()
    assert not pair.reset
    other = a_pair()
    frame = request_frame("Produce", 9, produce({NAME: [batch(1) + bytes(150_000)]}))
    other.send(frame[:60_000])
    other.close_view()
    assert other.reset


@pytest.mark.parametrize("version", [0, 1, 9, 12])
def test_a_listing_tells_of_what_may_be_seen_when_it_is_answered(version: int) -> None:
    """The client did not name the topic that it may no longer see, so its connection does not
    end."""
    pair = a_pair()
    cls = messages.message_class("MetadataRequest", version)
    topics = () if version == 0 else None
    pair.send(request_frame("Metadata", version, messages.build(cls, topics=topics)))
    (payload,) = frames(pair.to_broker())
    sent = int.from_bytes(payload[2:4], "big")
    allow(pair, on(NAME, "plain"))
    assert not pair.reset
    answer = messages.message_class("MetadataResponse", sent)
    topic = element_class(answer, "topics")
    told = tuple(
        make(topic, {"name": name, "topic_id": topic_id(number)})
        for number, name in enumerate((FLAT, OTHER_FLAT, "plain"), start=1)
    )
    got = pair.reply("Metadata", version, make(answer, {"topics": told}), sent=sent)
    assert {one.name for one in got.topics} == {NAME, "plain"}


@pytest.mark.parametrize("version", [0, 1, 9, 12])
def test_a_listing_of_nothing_goes_on_when_there_is_something(version: int) -> None:
    pair = Pair(topics=[FLAT], authorizer=Allowing([]))
    cls = messages.message_class("MetadataRequest", version)
    topics = () if version == 0 else None
    pair.send(request_frame("Metadata", version, messages.build(cls, topics=topics)))
    assert FLAT.encode() not in pair.to_broker()
    allow(pair, ALL)
    assert not pair.reset


FREEZE: Final = Freeze("f", "run", 9, (NAME,))


@pytest.mark.parametrize("version", [0, 1, 9, 12])
def test_a_listing_shows_what_is_frozen(version: int) -> None:
    """Clients that may see the topic still see it."""
    pair = a_pair()
    cls = messages.message_class("MetadataRequest", version)
    topics = () if version == 0 else None
    request = request_frame("Metadata", version, messages.build(cls, topics=topics))
    frozen = Frozen.of([FREEZE])
    pair.see(pair.view.successor(pair.catalog.snapshot, frozen=frozen))
    pair.send(request)
    (payload,) = frames(pair.to_broker())
    sent = int.from_bytes(payload[2:4], "big")
    answer = messages.message_class("MetadataResponse", sent)
    told = make(element_class(answer, "topics"), {"name": FLAT, "topic_id": topic_id(1)})
    got = pair.reply("Metadata", version, make(answer, {"topics": (told,)}), sent=sent)
    assert [one.name for one in got.topics] == [NAME]


@pytest.mark.parametrize(("api", "version"), EFFECTS)
def test_a_freeze_waits_for_what_is_in_flight(api: str, version: int) -> None:
    pair = a_pair()
    pair.send(asked(api, version, 2))
    pair.see(pair.view.successor(pair.catalog.snapshot, frozen=Frozen.of([FREEZE])))
    assert not pair.reset
