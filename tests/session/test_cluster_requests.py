"""Requests of operators about the whole cluster, in a session: a catalog that is out of date,
rights that are revoked, a home in another volume, topics that are named many times."""

from __future__ import annotations

from time import process_time
from typing import Any

import pytest

from gateway.apis.topics.reassignments import MAX_BYTES
from gateway.exchanges.exchange import Exchange
from gateway.session.naming import leaves_behind
from protocol.errors import ProtocolError
from tests.session.allowing import Allowing
from tests.session.long_requests import TimedPair, best
from tests.session.pair import Pair, request_frame, response_frame
from tests.session.test_trees import message, tree_pair

LIST, ALTER, ELECT = "ListPartitionReassignments", "AlterPartitionReassignments", "ElectLeaders"
NOT_AVAILABLE, FORBIDDEN, INVALID_REQUEST = 5, 31, 42
QUORUM = [{"topic_name": "__cluster_metadata", "partitions": [{"partition_index": 0}]}]
OF_CLUSTER: list[tuple[str, int, dict[str, Any]]] = [
    (LIST, 0, {"topics": None}),
    (ALTER, 1, {"topics": []}),
    (ELECT, 2, {"topic_partitions": None}),
    ("DescribeQuorum", 2, {"topics": QUORUM}),
    ("UpdateFeatures", 2, {}),
    ("ListConfigResources", 1, {}),
]
WHOLE = pytest.mark.parametrize(("api", "version", "values"), OF_CLUSTER)
LONGEST_SECONDS = 0.05

pytestmark = pytest.mark.usefixtures("quietly")


def sent(pair: Pair, api: str, version: int, **values: object) -> Any:
    """The request that the broker gets; None: it gets none."""
    return pair.ask(api, version, message(f"{api}Request", version, **values))


@WHOLE
def test_nothing_is_told_while_the_catalog_is_out_of_date(
    api: str, version: int, values: dict[str, Any]
) -> None:
    pair = Pair(authorizer=Allowing([f"{each} CLUSTER kafka-cluster" for each in RIGHTS]))
    pair.close_view()
    assert sent(pair, api, version, **values) is None
    assert pair.answer(api, version).error_code == NOT_AVAILABLE


RIGHTS = ("ALTER", "DESCRIBE", "DESCRIBE_CONFIGS")


@WHOLE
def test_a_request_in_flight_ends_with_the_right_that_it_uses(
    api: str, version: int, values: dict[str, Any]
) -> None:
    pair = Pair(authorizer=Allowing([f"{each} CLUSTER kafka-cluster" for each in RIGHTS]))
    assert sent(pair, api, version, **values) is not None
    pair.catalog_changed()
    assert not pair.reset
    pair.authorizer = Allowing(["DESCRIBE TOPIC team-a:orders"])
    pair.catalog_changed()
    assert pair.reset


@pytest.mark.parametrize(
    ("api", "version", "values"),
    [each for each in OF_CLUSTER if each[0] in (LIST, ELECT, "ListConfigResources")],
)
def test_a_list_is_not_empty_since_the_catalog_is_out_of_date(
    api: str, version: int, values: dict[str, Any]
) -> None:
    pair = Pair()
    assert sent(pair, api, version, **values) is not None
    pair.close_view()
    answer = pair.reply(api, version, message(f"{api}Response", version))
    assert answer.error_code == NOT_AVAILABLE


def test_a_response_without_a_place_for_the_error_ends_the_connection() -> None:
    pair = Pair()
    assert sent(pair, ELECT, 0, topic_partitions=None) is not None
    pair.close_view()
    with pytest.raises(ProtocolError):
        pair.reply(ELECT, 0, message(f"{ELECT}Response", 0))


@WHOLE
def test_a_home_in_another_volume_counts(api: str, version: int, values: dict[str, Any]) -> None:
    if api in (LIST, "ListConfigResources"):
        return  # a home has these, too
    pair = tree_pair("ny", home="team-a")
    assert sent(pair, api, version, **values) is None
    assert pair.answer(api, version).error_code == FORBIDDEN


def test_descriptions_leave_nothing_behind() -> None:
    for api, version, values in OF_CLUSTER:
        pair = Pair(topics=["team-a..orders"])
        assert sent(pair, api, version, **values) is not None
        (exchange,) = pair.session.under_way
        assert isinstance(exchange, Exchange)
        assert leaves_behind(exchange) is (api in (ALTER, ELECT)), api


def test_a_topic_that_the_broker_adds_to_the_quorum_ends_the_connection() -> None:
    pair = Pair()
    assert sent(pair, "DescribeQuorum", 0, topics=QUORUM) is not None
    topics = [*QUORUM, {"topic_name": "team-b..x", "partitions": [{"partition_index": 0}]}]
    with pytest.raises(ProtocolError):
        pair.reply("DescribeQuorum", 0, message("DescribeQuorumResponse", 0, topics=topics))


# -- long requests --------------------------------------------------------------------------------

MANY = 4_000


def elect(names: list[str]) -> Any:
    topics = [{"topic": name, "partitions": [number]} for number, name in enumerate(names)]
    return message(f"{ELECT}Request", 2, topic_partitions=topics)


def alter(names: list[str]) -> Any:
    topics = [
        {"name": name, "partitions": [{"partition_index": number, "replicas": [1]}]}
        for number, name in enumerate(names)
    ]
    return message(f"{ALTER}Request", 1, topics=topics)


def listing(names: list[str]) -> Any:
    topics = [{"name": name, "partition_indexes": [number]} for number, name in enumerate(names)]
    return message(f"{LIST}Request", 0, topics=topics)


MADE = {ELECT: (2, elect), ALTER: (1, alter), LIST: (0, listing)}


@pytest.mark.alone
@pytest.mark.parametrize("spelled", ["team-a:orders", "team-a..orders"])
@pytest.mark.parametrize("api", MADE)
def test_one_topic_many_times(api: str, spelled: str) -> None:
    """Each time with another partition: under one spelling, or behind another one."""
    version, made = MADE[api]

    def timed(count: int) -> TimedPair:
        pair = TimedPair(topics=["team-a..orders"])
        pair.send(request_frame(api, version, made(["team-a:orders", *[spelled] * count])))
        assert pair.to_broker()
        return pair

    few = timed(MANY // 4)
    many = best(lambda: timed(MANY), LONGEST_SECONDS)
    assert many.longest < LONGEST_SECONDS
    assert many.total < 0.05 + 3 * 4 * few.total, "it costs more than linear"


@pytest.mark.alone
@pytest.mark.parametrize("api", [ELECT, ALTER])
def test_the_response_to_one_topic_many_times(api: str) -> None:
    version, made = MADE[api]
    array, name, inner, index = {
        ELECT: ("replica_election_results", "topic", "partition_result", "partition_id"),
        ALTER: ("responses", "name", "partitions", "partition_index"),
    }[api]

    longest: list[float] = []

    def timed(count: int) -> float:
        pair = TimedPair(topics=["team-a..orders"])
        names = ["team-a:orders", *["team-a..orders"] * count]
        pair.send(request_frame(api, version, made(names)))
        pair.to_broker()
        partitions = [{index: number} for number in range(count + 1)]
        answer = message(
            f"{api}Response", version, **{array: [{name: "team-a..orders", inner: partitions}]}
        )
        frame = response_frame(api, version, answer)
        before = process_time()
        pair.longest = 0.0
        pair.answered(frame)
        assert len(getattr(pair.answer(api, version), array)) == count + 1
        took = process_time() - before
        longest.append(pair.longest)
        return took

    timed(4_000)  # the walkers are made
    few = timed(1_000)
    assert timed(4_000) < 0.1 + 3 * 4 * few, "it costs more than linear"
    assert min(longest[1:]) < LONGEST_SECONDS


def test_a_request_of_too_many_partitions_ends_the_connection() -> None:
    pair = Pair(topics=["team-a..orders"])
    topics = [{"topic": "team-a:orders", "partitions": list(range(100_001))}]
    with pytest.raises(ProtocolError, match="more than 100000 partitions"):
        pair.send(request_frame(ELECT, 2, message(f"{ELECT}Request", 2, topic_partitions=topics)))


def test_a_list_of_very_many_partitions_is_rejected_before_it_is_read() -> None:
    pair = Pair(topics=["team-a..orders"], home="team-a")
    topics = [{"name": "orders", "partition_indexes": list(range(MAX_BYTES // 4))}]
    assert sent(pair, LIST, 0, topics=topics) is None
    assert pair.answer(LIST, 0).error_code == INVALID_REQUEST


@pytest.mark.parametrize("name", ["1" * 5_000, "01", "-1", "\u0661"])
def test_a_broker_that_has_no_number_is_not_listed(name: str) -> None:
    pair = Pair()
    sent(pair, "ListConfigResources", 1)
    listed = [{"resource_name": each, "resource_type": 4} for each in (name, "1")]
    response = message("ListConfigResourcesResponse", 1, config_resources=listed)
    answer = pair.reply("ListConfigResources", 1, response)
    assert [each.resource_name for each in answer.config_resources] == ["1"]
