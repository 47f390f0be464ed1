"""No request, however long, delays the others of its worker: each API at its oldest and newest
version, long in each possible way."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest

from gateway.apis.counting import PRODUCE
from gateway.apis.records import produce
from gateway.apis.table import APIS, put_around
from gateway.catalog.entities import Member, TopicEntry
from gateway.catalog.snapshot import Snapshot
from gateway.error_codes import FETCH_SESSION_ID_NOT_FOUND
from gateway.exchanges.exchange import Exchange
from gateway.fleet.gateway_nodes import GatewayNodes
from gateway.fleet.node_handlers import AROUND
from gateway.names import LogicalName
from gateway.node_ids import FIRST_GATEWAY_ID
from gateway.session.deciding import MAX_TRIES, Deciding
from gateway.traced import MOST_ITEMS
from protocol import messages
from protocol.messages import element_class, make
from tests.pauses import pause_everywhere
from tests.session import fetching, producing
from tests.session.allowing import Allowing
from tests.session.long_requests import (
    TimedPair,
    best,
    longest_listing,
    longest_request,
    values,
    ways,
)
from tests.session.pair import NAMESPACES, raw_frame, request_frame, response_frame, topic_id
from tests.session.samples import request, response
from tests.session.test_tracing import traced

LONGEST_SECONDS = 0.05
"""CPU seconds of the longest callback. Callbacks are made to take 5 ms, and the code between two
pause points may come on top."""

PAGE_SECONDS = 0.02
"""CPU seconds for one page of a list, which is made of few of its items."""

FEW, MANY = 1_000, 4_000

CASES = sorted(
    (row.name, version, way)
    for row in APIS.values()
    for version in {row.first, row.last}
    for way in ways(row.name, version)
)


pytestmark = pytest.mark.usefixtures("quietly")


def timed(api: str, version: int, way: str, items: int) -> TimedPair:
    """A session that has got such a request; walkers were made before."""
    key = next(row.key for row in APIS.values() if row.name == api)
    body = longest_request(api, version, way, items)
    pair = TimedPair()
    pair.send(raw_frame(key, version, body))
    assert pair.to_broker() or pair.to_client(), "it was neither forwarded nor answered"
    return pair


@pytest.mark.alone
@pytest.mark.parametrize(("api", "version", "way"), CASES)
def test_no_callback_is_long(api: str, version: int, way: str) -> None:
    few = timed(api, version, way, FEW)
    many = best(lambda: timed(api, version, way, MANY), LONGEST_SECONDS)
    assert many.longest < LONGEST_SECONDS
    assert many.total < 0.05 + 2 * (MANY / FEW) * few.total, "it costs more than linear"


@pytest.mark.alone
def test_a_trace_makes_no_callback_long() -> None:
    """Of a request whose names are all denied."""
    entity = messages.message_class("MetadataRequest", 9)
    topic = element_class(entity, "topics")
    names = (make(topic, {"name": f"team-a:t{number}"}) for number in range(10 * MANY))
    frame = request_frame("Metadata", 9, make(entity, {"topics": tuple(names)}))

    def measured() -> TimedPair:
        pair = TimedPair(authorizer=Allowing([]))
        with traced() as seen:
            pair.send(frame)
            pair.let_answer()
        assert seen[0].more_items == 10 * MANY - MOST_ITEMS
        return pair

    assert best(measured, LONGEST_SECONDS).longest < LONGEST_SECONDS


@pytest.mark.alone
def test_the_longest_produce_that_is_decided_in_one_go() -> None:
    of_many = len(longest_request("Produce", 3, "topic_data", 2_000))
    items = int(2_000 * produce.API.small_request / of_many) - 50
    size = len(raw_frame(0, 3, longest_request("Produce", 3, "topic_data", items))) - 4
    assert 0.95 * produce.API.small_request < size <= produce.API.small_request
    timed("Produce", 3, "topic_data", 100)
    found = best(lambda: timed("Produce", 3, "topic_data", items), LONGEST_SECONDS)
    assert found.longest < LONGEST_SECONDS


LONGEST = [
    ("Metadata", 9, "topics", 99_000),
    ("CreateTopics", 7, "topics", 30_000),
    ("DeleteTopics", 5, "topic_names", 30_000),
    ("OffsetFetch", 7, "topics", 90_000),
    ("OffsetCommit", 8, "topics.partitions", 300_000),
    ("AddPartitionsToTxn", 3, "v3_and_below_topics", 50_000),
    ("Produce", 13, "topic_data.partition_data", 99_000),
    ("AlterConfigs", 2, "resources.configs", 100_000),
    ("AlterUserScramCredentials", 0, "upsertions", 30_000),
    ("CreateTopics", 7, "topics.configs", 99_000),
    ("DeleteTopics", 1, "topic_names", 99_000),
    ("DescribeConfigs", 4, "resources.configuration_keys", 99_000),
    ("IncrementalAlterConfigs", 1, "resources.configs", 100_000),
]


@pytest.mark.alone
@pytest.mark.parametrize(("api", "version", "way", "items"), LONGEST)
def test_the_longest_requests(api: str, version: int, way: str, items: int) -> None:
    timed(api, version, way, 100)
    found = best(lambda: timed(api, version, way, items), 2 * LONGEST_SECONDS)
    assert found.longest < 2 * LONGEST_SECONDS


@pytest.mark.alone
def test_many_topics_that_the_broker_rejects() -> None:
    """Each error has a text in which names are restored."""
    names = [f"team-a:t{number}" for number in range(4_000)]
    for some in (names[:100], names):
        pair = TimedPair(topics=[name.replace(":", "..") for name in some])
        entity = request("CreateTopics", 5, "team-a:t", topic_id(1))
        many = tuple(replace(entity.topics[0], name=name) for name in some)
        pair.send(request_frame("CreateTopics", 5, replace(entity, topics=many)))
        told = pair.answer("CreateTopics", 5).topics
        assert [topic.error_message for topic in told] == [
            f"Topic '{name}' already exists." for name in some
        ]
    assert pair.longest < LONGEST_SECONDS


@pytest.mark.alone
def test_many_listed_namespaces() -> None:
    """Even if there are few topics, the namespaces that may be described are found in slices."""

    def listed() -> TimedPair:
        namespaces = [f"n{number}" for number in range(40_000)]
        pair, version = TimedPair(namespaces=namespaces, list_namespaces=True), 12
        asked = make(messages.message_class("MetadataRequest", version), {"topics": None})
        pair.ask("Metadata", version, asked)
        cls = messages.message_class("MetadataResponse", version)
        got = pair.reply("Metadata", version, make(cls, {}))
        assert len(got.topics) == 40_000
        return pair

    assert best(listed, LONGEST_SECONDS).longest < LONGEST_SECONDS


@pytest.mark.alone
@pytest.mark.parametrize("cursor", [None, "n20:"])
def test_one_page_of_many_listed_namespaces(cursor: str | None) -> None:
    """Each namespace's place is found in slices, and only a page is made of them: it was a callback
    of 45 ms, which grew with the number of namespaces."""
    asked = messages.message_class("DescribeTopicPartitionsRequest", 0)
    fields: dict[str, object] = {"topics": (), "response_partition_limit": 2_000}
    if cursor is not None:
        at = {"topic_name": cursor, "partition_index": 0}
        fields["cursor"] = make(element_class(asked, "cursor"), at)
    answered = messages.message_class("DescribeTopicPartitionsResponse", 0)
    last = make(element_class(answered, "topics"), {"name": "zz"})
    answer = make(answered, {"topics": (last,)})
    names = [f"n{number}" for number in range(40_000)]
    # In the broker's order, which is the order of flat names.
    flats = sorted(f"{name}.." for name in names)
    first = 0 if cursor is None else flats.index("n20..")
    page = [f"{flat.removesuffix('..')}:" for flat in flats[first : first + 2_001]]

    def listed() -> TimedPair:
        pair = TimedPair(namespaces=names, list_namespaces=True, topics=["zz"])
        pair.ask("DescribeTopicPartitions", 0, make(asked, fields))
        got = pair.reply("DescribeTopicPartitions", 0, answer)
        assert [topic.name for topic in got.topics] == page[:-1]
        assert got.next_cursor.topic_name == page[-1]
        return pair

    assert best(listed, PAGE_SECONDS).longest < PAGE_SECONDS


LONG_PRODUCE = [(1, 1), (1, 4), (4, 1), (200, 1)]
"""Numbers of topics, and of partitions of each."""


@pytest.mark.alone
@pytest.mark.parametrize(("topics", "partitions"), LONG_PRODUCE)
def test_the_largest_produce(topics: int, partitions: int) -> None:
    """100 MiB that arrive in pieces: records are not copied again once they have arrived."""
    frame = producing.large(9, topics, partitions, 99 * 1024 * 1024)
    pair = TimedPair(topics=[f"team-a..t{number}" for number in range(topics)])
    sent = 0
    for start in range(0, len(frame), 256 * 1024):
        pair.send(frame[start : start + 256 * 1024])
        sent += sum(map(len, pair.session.to_broker))
        pair.session.to_broker.clear()
    assert sent == len(frame) + topics
    assert pair.longest < LONGEST_SECONDS


@pytest.mark.alone
@pytest.mark.parametrize("version", [0, 9, 13])
def test_a_short_response_to_a_long_request(version: int) -> None:
    """All denied topics, which are merged into the response, have to be written."""
    pair = timed("Metadata", version, "topics", 100)
    for items in (100, 20_000):
        pair = timed("Metadata", version, "topics", items)
        entity = response("Metadata", version, "t", topic_id(1), "")
        pair.longest = 0.0
        nothing = type(entity)(**{**values(entity), "topics": ()})
        pair.answered(response_frame("Metadata", version, nothing))
        assert len(pair.answer("Metadata", version).topics) == items
    assert pair.longest < LONGEST_SECONDS


LISTED = 20_000


@pytest.mark.alone
@pytest.mark.parametrize(("version", "gateways"), [(1, 0), (12, 0), (12, 2)])
def test_a_listing_of_many_topics(version: int, gateways: int) -> None:
    """Requested by name, and restored; the second time all names are known."""
    flats = [f"team-a..t{number}" for number in range(LISTED)]
    pair = TimedPair(home="team-a", topics=flats)
    pair.log.append(
        [Member(f"gw-{n}", n, {"test": "gateway.example:9201"}) for n in range(1, gateways + 1)]
    )
    put_around(AROUND)
    pair.worker.listed_gateways = GatewayNodes("gw-own", ["test"]).at
    cls = messages.message_class("MetadataRequest", version)
    for _ in range(2):
        pair.longest = 0.0
        pair.send(request_frame("Metadata", version, messages.build(cls, topics=None)))
        assert pair.longest < LONGEST_SECONDS
        sent_as = int.from_bytes(pair.to_broker()[6:8], "big")
        answer = response("Metadata", sent_as, "team-a..t", topic_id(1), "team-a..")
        named = longest_listing(answer, flats)
        pair.answered(response_frame("Metadata", sent_as, named))
        assert pair.longest < LONGEST_SECONDS
        told = pair.answer("Metadata", version)
        assert [topic.name for topic in told.topics] == [flat[8:] for flat in flats]
        assert sum(broker.node_id >= FIRST_GATEWAY_ID for broker in told.brokers) == gateways


@pytest.mark.alone
@pytest.mark.parametrize(
    ("api", "version", "array"),
    [
        ("ListGroups", 5, "groups"),
        ("ListTransactions", 2, "transaction_states"),
        ("DescribeTransactions", 0, "transaction_states"),
        ("DescribeGroups", 6, "groups"),
        ("ConsumerGroupDescribe", 1, "groups"),
        ("OffsetFetch", 7, "topics"),
        ("ListOffsets", 11, "topics"),
        ("ListConfigResources", 1, "config_resources"),
        ("ListPartitionReassignments", 0, "topics"),
        ("ElectLeaders", 2, "replica_election_results"),
        ("AlterPartitionReassignments", 1, "responses"),
    ],
)
def test_a_long_response(api: str, version: int, array: str) -> None:
    pair = TimedPair(topics=["team-a..t"])

    def answered(items: int) -> TimedPair:
        pair.send(request_frame(api, version, request(api, version, "team-a:t", topic_id(1))))
        answer = response(api, version, "team-a..t", topic_id(1), "")
        many = getattr(answer, array) * items
        frame = response_frame(api, version, type(answer)(**{**values(answer), array: many}))
        pair.longest = 0.0
        pair.session.to_broker.clear()
        pair.answered(frame)
        assert len(getattr(pair.answer(api, version), array)) == items
        return pair

    answered(1)
    assert best(lambda: answered(10_000), LONGEST_SECONDS).longest < LONGEST_SECONDS


def test_a_response_behind_a_long_one_waits_for_it() -> None:
    pair = TimedPair(topics=["team-a..t"])
    answer = response("Produce", 9, "team-a..t", topic_id(1), "")
    long = type(answer)(**{**values(answer), "responses": answer.responses * 5_000})
    for number in (1, 2):
        entity = request("Produce", 9, "team-a:t", topic_id(1))
        pair.send(request_frame("Produce", 9, entity, number))
    both = response_frame("Produce", 9, long, 1) + response_frame("Produce", 9, answer, 2)
    pair.session.broker_data(both[:-3])
    assert (pair.session.restoring is not None, pair.to_client()) == (True, b"")
    pair.answered(both[-3:])
    told = pair.to_client()
    sizes = []
    while told:
        sizes.append(int.from_bytes(told[4:8], "big"))
        told = told[4 + int.from_bytes(told[:4], "big") :]
    assert sizes == [1, 2]


def test_requests_behind_a_long_one_wait_for_it() -> None:
    pair = TimedPair()
    body = longest_request("Metadata", 9, "topics", MANY)
    heartbeat = request_frame("Heartbeat", 4, request("Heartbeat", 4, "t", topic_id(1)), 8)
    pair.session.client_data(raw_frame(3, 9, body) + heartbeat)
    pair.session.client_data(heartbeat[:9])
    assert pair.session.waiting is not None
    assert (pair.to_broker(), pair.session.quiet) == (b"", False)
    pair.send(heartbeat[9:])
    seen = pair.let_answer()
    assert seen.endswith(heartbeat + heartbeat)
    assert len(seen) > 2 * len(heartbeat)


def test_a_drain_waits_for_a_long_request_and_no_longer() -> None:
    pair = TimedPair()
    body = longest_request("Metadata", 9, "topics", MANY)
    heartbeat = request_frame("Heartbeat", 4, request("Heartbeat", 4, "t", topic_id(1)), 8)
    pair.session.client_data(raw_frame(3, 9, body) + heartbeat)
    pair.session.finish()
    pair.send(b"")
    seen = pair.to_broker()
    assert seen
    assert not seen.endswith(heartbeat)


def test_a_catalog_that_changes_meanwhile_is_what_counts() -> None:
    """If a namespace is removed while a long request is decided, its topics are unknown."""
    pair = TimedPair()
    names = [f"team-a:t{number}" for number in range(MANY)]
    cls = messages.message_class("MetadataRequest", 4)
    entity = request("Metadata", 4, "team-a:t", topic_id(1))
    many = tuple(type(entity.topics[0])(name=name) for name in names)
    entity = cls(**{**values(entity), "topics": many})
    pair.session.client_data(request_frame("Metadata", 4, entity))
    assert pair.session.waiting is not None
    pair.catalog.snapshot = Snapshot.of(["team-b"])
    pair.catalog_changed()
    pair.send(b"")
    assert b"team-a" not in pair.to_broker()


def changing(pair: TimedPair) -> int:
    """Send a long request while the catalog changes all the time; returns how many changes it
    took."""
    names = tuple({"name": f"team-a:t{number}"} for number in range(MANY))
    entity = request("Metadata", 4, "team-a:t", topic_id(1))
    many = tuple(type(entity.topics[0])(**name) for name in names)
    entity = type(entity)(**{**values(entity), "topics": many})
    pair.session.client_data(request_frame("Metadata", 4, entity))
    changes = 0
    while isinstance(waiting := pair.session.waiting, Deciding):
        while not waiting.slices.step():
            pair.catalog_changed()
            changes += 1
        pair.session.resume()
    return changes


def test_a_catalog_that_changes_all_the_time_is_no_reason_not_to_answer() -> None:
    pair = TimedPair(topics=[f"team-a..t{number}" for number in range(MANY)])
    assert changing(pair) > MAX_TRIES
    assert pair.to_broker().count(b"team-a..t") == MANY


def test_a_fetch_of_what_moves_while_it_is_decided_brings_no_records(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The topic moves at the last pause of the last try, when it has long been let pass."""
    pause_everywhere(monkeypatch)
    names = [f"team-a:t{number}" for number in range(FEW)]
    pair = TimedPair(topics=[name.replace(":", "..") for name in names])
    entity = fetching.request(12, {name: [0] for name in names})
    pair.session.client_data(request_frame("Fetch", 12, entity))
    moved = TopicEntry("team-a..t0", LogicalName("team-b", "moved"))
    pauses: Counter[Exchange] = Counter()
    while isinstance(waiting := pair.session.waiting, Deciding):
        while not waiting.slices.step():
            pauses[waiting.exchange] += 1
            *_, before, now = 0, *pauses.values()
            if len(pauses) == MAX_TRIES and now == before:
                pair.catalog.snapshot = Snapshot.of(NAMESPACES, topics=[moved])
            pair.catalog_changed()
        pair.session.resume()
    assert len(pauses) == MAX_TRIES
    assert b"team-a..t0" in pair.to_broker()
    records = {"team-a..t0": [b"the records"]}
    pair.answered(response_frame("Fetch", 12, fetching.response(12, records)))
    told = pair.answer("Fetch", 12)
    assert (told.error_code, told.responses) == (FETCH_SESSION_ID_NOT_FOUND, ())


LARGE = 45 * 1024 * 1024
"""Bytes of the records of a partition."""


@pytest.mark.alone
@pytest.mark.parametrize("version", [3, 9, 12])
@pytest.mark.parametrize(
    ("second", "forwarded"),
    [("missing:t", True), ("team-a:t\x7f", True), ("team-a:t1", True), (None, False)],
    ids=["denied", "not UTF-8", "allowed", "all denied"],
)
def test_records_are_not_copied_in_one_go(
    version: int, second: str | None, forwarded: bool
) -> None:
    """Whatever is decided of the topics of a large request, and even if its names are not UTF-8."""
    records = producing.batch(3) + bytes(LARGE - 100)
    names = ["team-a:t0", second] if second else ["missing:t", "missing:u"]
    entity = producing.produce({name: [records] for name in names}, version)
    frame = raw_frame(PRODUCE, version, messages.write(entity).replace(b"\x7f", b"\x80"))

    def sent() -> TimedPair:
        pair = TimedPair(topics=["team-a..t0", "team-a..t1"])
        reached: list[bytes | memoryview] = []
        for start in range(0, len(frame), 256 * 1024):
            pair.send(frame[start : start + 256 * 1024])
            reached += pair.session.to_broker
            pair.session.to_broker.clear()
        topics = 2 if second == "team-a:t1" else 1
        assert sum(map(len, reached)) // LARGE == (topics if forwarded else 0)
        assert b"".join(reached).count(bytes(LARGE - 100)) == (topics if forwarded else 0)
        assert bool(pair.to_client()) is not forwarded
        return pair

    assert best(sent, LONGEST_SECONDS).longest < LONGEST_SECONDS
