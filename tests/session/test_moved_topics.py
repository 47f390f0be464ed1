"""Topics that were moved: they have a new name and a new virtual topic id, and are unchanged for
the broker."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest

from gateway.catalog.entities import Alias, Namespace, TopicEntry
from gateway.decision import Denied
from gateway.exchanges.exchange import Unanswerable
from gateway.names import LogicalName
from protocol import messages
from protocol.messages import element_class, make
from tests.session import fetching, samples
from tests.session.pair import Pair, frames, response_frame, topic_id

FLAT = "team-a..orders"
OLD, NEW = LogicalName("team-a", "orders"), LogicalName("team-b", "orders")
VIRTUAL = UUID(int=77)
SESSION_NOT_FOUND, UNKNOWN_TOPIC_ID, FENCED_MEMBER_EPOCH = 70, 100, 110
LATER = 2**50


def entry(*, alias: bool = False) -> TopicEntry:
    aliases = (Alias(OLD, LATER, None),) if alias else ()
    return TopicEntry(FLAT, NEW, VIRTUAL.bytes, aliases)


def move(pair: Pair, *, alias: bool = False) -> None:
    pair.log.append([entry(alias=alias)])
    pair.catalog_changed()


@pytest.fixture
def moved() -> Pair:
    return Pair(topics=[FLAT, "plain"], entries=[entry()])


@pytest.fixture
def aliased() -> Pair:
    return Pair(topics=[FLAT, "plain"], entries=[entry(alias=True)])


def metadata(pair: Pair, *names: str) -> dict[str, UUID | None]:
    """Topic id by name, as the client gets them."""
    cls = messages.message_class("MetadataRequest", 12)
    topic = element_class(cls, "topics")
    asked = tuple(make(topic, {"name": name}) for name in names)
    seen = pair.ask("Metadata", 12, make(cls, {"topics": asked}))
    answer = messages.message_class("MetadataResponse", 12)
    entity = element_class(answer, "topics")
    ids = {name.decode(): pair.facts.index.id_of(name) for name in pair.facts.index.names()}
    topics = tuple(
        make(entity, {"name": topic.name, "topic_id": UUID(bytes=ids[topic.name])})
        for topic in seen.topics
    )
    got = pair.reply("Metadata", 12, make(answer, {"topics": topics}))
    return {topic.name: topic.topic_id for topic in got.topics}


def test_metadata_tells_the_virtual_id(moved: Pair) -> None:
    assert metadata(moved, "team-b:orders", "plain") == {
        "team-b:orders": VIRTUAL,
        "plain": topic_id(2),
    }


def test_an_alias_has_its_own_id_also_beside_the_new_name(aliased: Pair) -> None:
    assert metadata(aliased, "team-a:orders") == {"team-a:orders": topic_id(1)}
    assert metadata(aliased, "team-b:orders", "team-a:orders", "plain") == {
        "team-b:orders": VIRTUAL,
        "team-a:orders": topic_id(1),
        "plain": topic_id(2),
    }


def by_id(pair: Pair, *ids: UUID) -> list[tuple[str, UUID]]:
    """Names and ids that Metadata returns for these ids."""
    cls = messages.message_class("MetadataRequest", 12)
    topic = element_class(cls, "topics")
    asked = tuple(make(topic, {"name": None, "topic_id": each}) for each in ids)
    seen = pair.ask("Metadata", 12, make(cls, {"topics": asked}))
    answer = messages.message_class("MetadataResponse", 12)
    entity = element_class(answer, "topics")
    names = {UUID(bytes=pair.facts.index.id_of(n)): n.decode() for n in pair.facts.index.names()}
    topics = tuple(
        make(entity, {"name": names[each.topic_id], "topic_id": each.topic_id})
        for each in seen.topics
    )
    got = pair.reply("Metadata", 12, make(answer, {"topics": topics}))
    return [(each.name, each.topic_id) for each in got.topics if not int(each.error_code)]


@pytest.mark.parametrize("home", ["", "team-a"])
def test_metadata_by_id_answers_the_name_that_goes_with_the_id(home: str) -> None:
    pair = Pair(topics=[FLAT, "plain"], entries=[entry(alias=True)], home=home)
    assert by_id(pair, topic_id(1)) == [("orders" if home else "team-a:orders", topic_id(1))]
    shown = [] if home else [("team-b:orders", VIRTUAL)]
    assert by_id(pair, VIRTUAL) == shown


def test_offsets_by_the_id_of_an_alias_from_the_home_it_is_in() -> None:
    pair = Pair(topics=[FLAT], entries=[entry(alias=True)], home="team-a")
    pair.ask("OffsetFetch", 10, samples.request("OffsetFetch", 10, "orders", topic_id(1)))
    reply = samples.response("OffsetFetch", 10, FLAT, topic_id(1), "team-a..")
    (group,) = pair.reply("OffsetFetch", 10, reply).groups
    assert [topic.topic_id for topic in group.topics] == [topic_id(1)]


def fetch(pair: Pair, topic: Any, version: int = 15, others: int = 0, **values: Any) -> Any:
    """Fetch a topic and ``others`` more, the topics of :func:`beside`."""
    numbers = range(100, others + 100)  # 77 is the moved topic's new id
    more: list[Any] = [*numbers] if isinstance(topic, int) else [f"t{n}" for n in numbers]
    asked = {key: [0] for key in [topic, *more]}
    return pair.ask("Fetch", version, fetching.request(version, asked, **values))


def beside(others: int) -> Pair:
    """A session with a topic, and others that do not move."""
    numbers = range(2, others + 100) if others else ()
    return Pair(topics=[FLAT, *(f"t{number}" for number in numbers)])


@pytest.mark.parametrize("pieces", [1, 40, 10_000])
def test_a_fetch_by_the_virtual_id_reaches_the_topic(moved: Pair, pieces: int) -> None:
    sent = fetch(moved, 77)
    assert sent.topics[0].topic_id == topic_id(1)
    data = response_frame("Fetch", 15, fetching.response(15, {1: [b"records" * 20]}))
    for at in range(0, len(data), pieces):
        moved.session.broker_data(data[at : at + pieces])
    (topic,) = moved.answer("Fetch", 15).responses
    assert topic.topic_id == VIRTUAL
    assert topic.partitions[0].records == b"records" * 20


def test_the_brokers_id_is_unknown_once_the_topic_has_moved(moved: Pair) -> None:
    assert fetch(moved, 1) is None
    (topic,) = moved.answer("Fetch", 15).responses
    assert topic.partitions[0].error_code == UNKNOWN_TOPIC_ID


def test_both_ids_of_one_topic_in_one_fetch(aliased: Pair) -> None:
    request = fetching.request(15, {77: [0], 1: [1]})
    seen = aliased.ask("Fetch", 15, request)
    assert [topic.topic_id for topic in seen.topics] == [topic_id(1)]
    got = aliased.reply("Fetch", 15, fetching.response(15, {1: [b"records"]}))
    errors = {
        topic.topic_id: [int(partition.error_code) for partition in topic.partitions]
        for topic in got.responses
    }
    assert errors == {VIRTUAL: [0], topic_id(1): [42]}


@pytest.mark.parametrize("others", [0, 300])
@pytest.mark.parametrize("version", [7, 12, 13, 15])
@pytest.mark.parametrize("alias", [False, True])
def test_a_move_ends_open_fetch_sessions_unless_an_alias_remains(
    version: int, alias: bool, others: int
) -> None:
    pair = beside(others)
    by_id = version > 12
    fetch(pair, 1 if by_id else "team-a:orders", version, others, session_epoch=0)
    answered: Any = 1 if by_id else FLAT
    pair.reply("Fetch", version, fetching.response(version, {answered: [b"records"]}, session_id=5))
    move(pair, alias=alias)
    again = fetching.request(version, {}, session_id=5, session_epoch=1)
    seen = pair.ask("Fetch", version, again)
    if alias:
        assert seen.session_id == 5
        got = pair.reply("Fetch", version, fetching.response(version, {answered: [b"more"]}))
        (topic,) = got.responses
        assert (topic.topic_id if by_id else topic.topic) == (
            topic_id(1) if by_id else "team-a:orders"
        )
    else:
        assert seen is None
        assert pair.answer("Fetch", version).error_code == SESSION_NOT_FOUND


@pytest.mark.parametrize("version", [7, 12, 13, 15])
@pytest.mark.parametrize(("pieces", "others"), [(3, 0), (10_000, 0), (10_000, 300)])
def test_a_fetch_in_flight_brings_nothing_of_a_topic_that_moved(
    version: int, pieces: int, others: int
) -> None:
    pair = beside(others)
    fetch(pair, 1 if version > 12 else "team-a:orders", version, others, session_epoch=0)
    move(pair)
    answered: Any = 1 if version > 12 else FLAT
    entity = fetching.response(version, {answered: [b"secret" * 50]}, session_id=5)
    data = response_frame("Fetch", version, entity)
    for at in range(0, len(data), pieces):
        pair.session.broker_data(data[at : at + pieces])
    got = pair.answer("Fetch", version)
    assert (got.error_code, got.responses) == (SESSION_NOT_FOUND, ())


def test_before_fetch_sessions_the_connection_ends_instead() -> None:
    pair = Pair(topics=[FLAT])
    fetch(pair, "team-a:orders", 4)
    move(pair)
    with pytest.raises(Unanswerable, match="moved or deleted"):
        pair.reply("Fetch", 4, fetching.response(4, {FLAT: [b"secret"]}))
    assert frames(pair.to_client()) == []


def test_a_fetch_in_flight_of_another_topic_is_not_touched() -> None:
    pair = Pair(topics=[FLAT, "plain"])
    fetch(pair, 2)
    move(pair)
    got = pair.reply("Fetch", 15, fetching.response(15, {2: [b"records"]}))
    assert got.responses[0].partitions[0].records == b"records"


def test_what_has_begun_to_arrive_goes_on() -> None:
    pair = Pair(topics=[FLAT])
    fetch(pair, 1)
    data = response_frame("Fetch", 15, fetching.response(15, {1: [b"records" * 50]}))
    pair.session.broker_data(data[:100])
    move(pair)
    pair.session.broker_data(data[100:])
    assert pair.answer("Fetch", 15).responses[0].partitions[0].records == b"records" * 50


def test_produce_by_the_virtual_id(moved: Pair) -> None:
    entity = samples.request("Produce", 13, "team-b:orders", VIRTUAL, acks=-1)
    seen = moved.ask("Produce", 13, entity)
    assert [topic.topic_id for topic in seen.topic_data] == [topic_id(1)]
    cls = messages.message_class("ProduceResponse", 13)
    topic = element_class(cls, "responses")
    partition = make(element_class(topic, "partition_responses"), {"index": 0})
    values = {"topic_id": topic_id(1), "partition_responses": (partition,)}
    got = moved.reply("Produce", 13, make(cls, {"responses": (make(topic, values),)}))
    assert [topic.topic_id for topic in got.responses] == [VIRTUAL]


def test_produce_by_the_brokers_id_is_rejected_once_the_topic_has_moved(moved: Pair) -> None:
    entity = samples.request("Produce", 13, "team-b:orders", topic_id(1), acks=-1)
    assert moved.ask("Produce", 13, entity) is None
    (topic,) = moved.answer("Produce", 13).responses
    assert topic.partition_responses[0].error_code == UNKNOWN_TOPIC_ID


@pytest.mark.parametrize("api", ["OffsetCommit", "OffsetFetch"])
def test_offsets_by_the_virtual_id(moved: Pair, api: str) -> None:
    seen = moved.ask(api, 10, samples.request(api, 10, "team-b:orders", VIRTUAL))
    topics = seen.topics if api == "OffsetCommit" else seen.groups[0].topics
    assert [topic.topic_id for topic in topics] == [topic_id(1)]


def heartbeat(pair: Pair, epoch: int, *names: str) -> Any:
    cls = messages.message_class("ConsumerGroupHeartbeatRequest", 1)
    values: dict[str, object] = {"group_id": "app", "member_id": "m", "member_epoch": epoch}
    if names:
        values |= {"subscribed_topic_names": names}
    else:
        values |= {"subscribed_topic_names": None, "topic_partitions": None}
    return pair.ask("ConsumerGroupHeartbeat", 1, messages.build(cls, **values))


def assign(pair: Pair, number: int) -> UUID | None:
    """Let the broker assign a topic by its own id; returns the id that the client gets."""
    cls = messages.message_class("ConsumerGroupHeartbeatResponse", 1)
    assignment = element_class(cls, "assignment")
    topic = element_class(assignment, "topic_partitions")
    owned = make(topic, {"topic_id": topic_id(number), "partitions": (0,)})
    values = {"member_id": "m", "member_epoch": 1}
    made = make(assignment, {"topic_partitions": (owned,)})
    got = pair.reply("ConsumerGroupHeartbeat", 1, make(cls, {**values, "assignment": made}))
    told: UUID | None = got.assignment.topic_partitions[0].topic_id
    return told


def test_an_assignment_has_the_id_of_the_name_subscribed_to(moved: Pair, aliased: Pair) -> None:
    heartbeat(moved, 0, "team-b:orders")
    assert assign(moved, 1) == VIRTUAL
    heartbeat(aliased, 0, "team-a:orders")
    assert assign(aliased, 1) == topic_id(1)
    heartbeat(aliased, 1)
    assert assign(aliased, 1) == topic_id(1)


def test_a_move_fences_the_members_that_knew_the_topic_by_its_old_name() -> None:
    pair = Pair(topics=[FLAT])
    heartbeat(pair, 0, "team-a:orders")
    assert assign(pair, 1) == topic_id(1)
    move(pair)
    assert heartbeat(pair, 1) is None
    got = pair.answer("ConsumerGroupHeartbeat", 1)
    assert got.error_code == FENCED_MEMBER_EPOCH
    assert "must join again" in got.error_message
    assert heartbeat(pair, 0, "team-a:orders").subscribed_topic_names == ()


def test_an_alias_spares_the_members() -> None:
    pair = Pair(topics=[FLAT])
    heartbeat(pair, 0, "team-a:orders")
    assert assign(pair, 1) == topic_id(1)
    move(pair, alias=True)
    assert heartbeat(pair, 1) is not None


def test_a_group_is_described_with_the_virtual_id(moved: Pair) -> None:
    api, version = "ConsumerGroupDescribe", 1
    moved.ask(api, version, samples.request(api, version, "team-b:orders", VIRTUAL))
    cls = messages.message_class(f"{api}Response", version)
    group = element_class(cls, "groups")
    member = element_class(group, "members")
    assignment = element_class(member, "assignment")
    topic = element_class(assignment, "topic_partitions")
    owned = make(topic, {"topic_id": topic_id(1), "topic_name": FLAT, "partitions": (0,)})
    made = make(assignment, {"topic_partitions": (owned,)})
    values = {"assignment": made, "target_assignment": made, "subscribed_topic_names": (FLAT,)}
    entity = make(cls, {"groups": (make(group, {"members": (make(member, values),)}),)})
    got = moved.reply(api, version, entity).groups[0].members[0]
    assert got.subscribed_topic_names == ("team-b:orders",)
    for part in (got.assignment, got.target_assignment):
        assert part.topic_partitions[0].topic_id == VIRTUAL
        assert part.topic_partitions[0].topic_name == "team-b:orders"


def test_an_assignment_outside_the_home_is_not_told() -> None:
    pair = Pair(topics=[FLAT, "team-a..more"], home="team-a")
    heartbeat(pair, 0, "orders", "more")
    assert assign(pair, 1) == topic_id(1)
    pair.log.append([entry()])
    pair.catalog_changed()
    # A member of version 0 that this worker does not know is not fenced.
    cls = messages.message_class("ConsumerGroupHeartbeatRequest", 0)
    values = {"group_id": "app", "member_id": "other", "member_epoch": 5}
    nothing = {"subscribed_topic_names": None, "topic_partitions": None}
    assert pair.ask("ConsumerGroupHeartbeat", 0, messages.build(cls, **values, **nothing))
    cls = messages.message_class("ConsumerGroupHeartbeatResponse", 0)
    assignment = element_class(cls, "assignment")
    topic = element_class(assignment, "topic_partitions")
    both = tuple(make(topic, {"topic_id": topic_id(n), "partitions": (0,)}) for n in (1, 2))
    made = make(assignment, {"topic_partitions": both})
    got = pair.reply("ConsumerGroupHeartbeat", 0, make(cls, {"assignment": made}))
    assert [each.topic_id for each in got.assignment.topic_partitions] == [topic_id(2)]


def test_a_session_by_id_that_is_given_the_other_id_of_a_topic_ends(aliased: Pair) -> None:
    fetch(aliased, 1, session_epoch=0)
    aliased.reply("Fetch", 15, fetching.response(15, {1: [b"records"]}, session_id=5))
    assert fetch(aliased, 77, session_id=5, session_epoch=1) is None
    assert aliased.answer("Fetch", 15).error_code == SESSION_NOT_FOUND


def test_an_alias_ends_with_the_namespace_of_its_topic(aliased: Pair) -> None:
    aliased.log.append([Namespace("team-b", deleting=1)])
    aliased.catalog_changed()
    assert isinstance(aliased.view.resolve(b"team-a:orders"), Denied)


def batch(producer_id: int) -> bytes:
    """A batch header of magic 2; only the fields that are read are set."""
    header = bytearray(61)
    header[16] = 2
    header[43:51] = producer_id.to_bytes(8, "big", signed=True)
    header[57:61] = (1).to_bytes(4, "big")
    return bytes(header)


def produce(pair: Pair, version: int, key: Any, producer_id: int) -> Any:
    cls = messages.message_class("ProduceRequest", version)
    topic = element_class(cls, "topic_data")
    partition = element_class(topic, "partition_data")
    records = make(partition, {"index": 0, "records": batch(producer_id)})
    name = {"topic_id": key} if isinstance(key, UUID) else {"name": key}
    asked = make(topic, {**name, "partition_data": (records,)})
    return pair.ask("Produce", version, make(cls, {"acks": -1, "topic_data": (asked,)}))


@pytest.mark.parametrize(
    ("version", "first", "second"),
    [(12, "team-a:orders", "team-b:orders"), (12, "plain", ":plain"), (13, topic_id(1), VIRTUAL)],
)
def test_a_producer_with_sequence_numbers_keeps_to_one_name(
    version: int, first: Any, second: Any
) -> None:
    """Otherwise the broker would take the second name's batches for repetitions of the first
    name's."""
    pair = Pair(topics=[FLAT, "plain"], entries=[entry(alias=True)])
    assert produce(pair, version, first, 7) is not None
    assert produce(pair, version, second, 7) is None
    payload = frames(pair.to_client())
    assert payload == [], "the answer waits for the first one's"
    other = Pair(topics=[FLAT, "plain"], entries=[entry(alias=True)])
    assert produce(other, version, first, -1) is not None
    assert produce(other, version, second, -1) is not None, "without them there is nothing to fear"


def test_a_topic_that_is_made_again_is_another_one() -> None:
    """A producer that goes on by the new id numbers its batches from 0, and so does the broker."""
    pair = Pair(topics=["plain"])
    assert produce(pair, 13, topic_id(1), 7) is not None
    pair.facts.index.forget(b"plain", topic_id(1).bytes)
    pair.facts.index.learn(b"plain", topic_id(9).bytes)
    assert produce(pair, 13, topic_id(9), 7) is not None


def test_a_second_name_without_sequence_numbers_beside_a_rejected_topic() -> None:
    pair = Pair(topics=[FLAT], entries=[entry(alias=True)])
    assert produce(pair, 12, "team-a:orders", 7) is not None
    cls = messages.message_class("ProduceRequest", 12)
    topic = element_class(cls, "topic_data")
    records = make(element_class(topic, "partition_data"), {"records": batch(-1)})
    asked = tuple(
        make(topic, {"name": name, "partition_data": (records,)})
        for name in ("nowhere:x", "team-b:orders")
    )
    seen = pair.ask("Produce", 12, make(cls, {"acks": -1, "topic_data": asked}), 8)
    assert [each.name for each in seen.topic_data] == [FLAT]
