"""Illegal topic names get the same errors from plain Kafka and from the gateway.

The test covers every version that both serve, of every API that names topics.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import timedelta

import pytest

from bench.record_batches import record_batch
from devkit.broker import KafkaCluster
from protocol import messages
from tests.live.oracle import comparison
from tests.live.oracle.answers import comparable
from tests.live.oracle.comparison import Pair, Values
from tests.live.support import by_hand, clients
from tests.live.support.by_hand import TIMEOUT
from tests.live.support.wire import Wire

ILLEGAL = ("my orders", "or/ders", "tab\tbed", "größe", ".", "..", "a" * 250, "a" * 2_000)

LONGEST_LEGAL = "a" * 249

GROUP = "names"

NO_OFFSET = "OffsetFetch"
"""A broker returns offset -1 for any topic, but the gateway rejects illegal topics."""


@pytest.fixture(scope="module")
def pair(kafka: KafkaCluster, colon: str) -> Iterator[Pair]:
    """A listener with namespaces, where names without a colon are as legal as anywhere."""
    shown = clients.any_broker(colon)
    with Wire(kafka.bootstrap_servers) as direct, Wire(shown) as through:
        by_hand.await_coordinators(direct, [GROUP], [GROUP])
        yield Pair(kafka, direct, through, kafka.bootstrap_servers, shown)


_PARTITION: Values = {
    "partition_index": 0,
    "partition": 0,
    "timestamp": -1,
    "current_leader_epoch": -1,
    "fetch_offset": 0,
    "partition_max_bytes": 1_000,
    "committed_offset": 1,
    "committed_metadata": "",
}


def _topics(name: str, **more: object) -> Values:
    return {"topics": [{"name": name, "topic": name, **more}], "timeout": TIMEOUT}


def _partitions(name: str) -> Values:
    return _topics(name, partitions=[_PARTITION])


def _resource(name: str, **more: object) -> Values:
    return {"resources": [{"resource_type": 2, "resource_name": name, **more}]}


_OUTSIDE = {"generation_id": -1, "generation_id_or_member_epoch": -1, "member_id": ""}
_SET = [{"name": "segment.ms", "value": "60000", "config_operation": 0}]
_BATCH = {"index": 0, "records": record_batch(1, 20)}

ASKED: dict[str, Callable[[str], Values]] = {
    "Produce": lambda name: {
        "acks": -1,
        "timeout": TIMEOUT,
        "topic_data": [{"name": name, "partition_data": [_BATCH]}],
    },
    "Fetch": lambda name: {
        **_partitions(name),
        "replica_id": -1,
        "max_wait": timedelta(milliseconds=1),
        "max_bytes": 1_000,
        "session_epoch": -1,
    },
    "ListOffsets": lambda name: {**_partitions(name), "replica_id": -1},
    "Metadata": lambda name: {**_topics(name), "allow_auto_topic_creation": False},
    "OffsetCommit": lambda name: {**_partitions(name), "group_id": GROUP, **_OUTSIDE},
    "CreateTopics": lambda name: _topics(name, num_partitions=1, replication_factor=1),
    "DeleteTopics": lambda name: {**_topics(name), "topic_names": (name,)},
    "DeleteRecords": _partitions,
    "OffsetForLeaderEpoch": lambda name: {**_partitions(name), "replica_id": -1},
    "AddPartitionsToTxn": lambda name: {
        "v3_and_below_transactional_id": GROUP,
        "v3_and_below_topics": [{"name": name, "partitions": (0,)}],
    },
    "TxnOffsetCommit": lambda name: {
        **_partitions(name),
        "group_id": GROUP,
        "transactional_id": GROUP,
        **_OUTSIDE,
    },
    "DescribeConfigs": lambda name: _resource(name, configuration_keys=None),
    "AlterConfigs": lambda name: _resource(name, configs=_SET),
    "CreatePartitions": lambda name: _topics(name, count=2, assignments=None),
    "IncrementalAlterConfigs": lambda name: _resource(name, configs=_SET),
    "OffsetDelete": lambda name: {**_partitions(name), "group_id": GROUP},
    "DescribeTopicPartitions": lambda name: _topics(name),
    "DescribeProducers": lambda name: _topics(name, partition_indexes=(0,)),
}

TOLD_IN_OUR_WORDS = frozenset(
    {
        "Produce",
        "CreateTopics",
        "DeleteTopics",
        "CreatePartitions",
        "DescribeConfigs",
        "DescribeProducers",
        "AlterConfigs",
        "IncrementalAlterConfigs",
    }
)
"""APIs whose responses have an error message, which is more detailed than a broker's."""


@pytest.mark.parametrize("api", ASKED)
@pytest.mark.parametrize("name", ILLEGAL, ids=lambda name: f"{name[:10]}-{len(name)}")
def test_an_illegal_name_is_answered_as_by_the_broker(pair: Pair, api: str, name: str) -> None:
    versions = pair.versions(api)
    if api in ("Produce", "Fetch"):
        versions = [version for version in versions if version <= 12]  # later versions have ids
    assert versions
    for version in versions:
        body = comparison.request_body(api, version, ASKED[api](name), {})
        answer, expected = pair.answers(api, version, body)
        if api in TOLD_IN_OUR_WORDS or api == "DescribeTopicPartitions":
            found, wanted = (_codes(api, version, each) for each in (answer, expected))
            assert found == wanted, comparison.both_responses(api, version, answer, expected)
        else:
            assert answer == expected, comparison.both_responses(api, version, answer, expected)


def test_the_longest_legal_name_is_only_missing(pair: Pair) -> None:
    for version in pair.versions("Metadata"):
        if version < 4:
            continue  # they cannot prevent its creation
        body = comparison.request_body("Metadata", version, ASKED["Metadata"](LONGEST_LEGAL), {})
        answer, expected = pair.answers("Metadata", version, body)
        assert answer == expected, comparison.both_responses("Metadata", version, answer, expected)
        (topic,) = comparison.response("Metadata", version, answer).topics
        assert int(topic.error_code) == clients.UNKNOWN_TOPIC_OR_PARTITION


def _codes(api: str, version: int, answer: bytes) -> object:
    parsed = messages.parse(f"{api}Response", version, answer)
    found = comparable(parsed, {})
    for topic in found.get("topics", ()):
        topic.pop("topic_authorized_operations", None)  # not returned for a missing topic
    return found
