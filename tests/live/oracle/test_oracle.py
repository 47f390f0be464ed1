"""Plain Kafka is the oracle of a gateway without namespaces: responses are equal byte for byte.

Only the addresses differ (KIP-37: Backwards compatibility). Requests that only read are sent to
both about the same topic. Requests that change something are sent twice: about a topic directly,
and about its twin, of an equally long name, through the gateway. ApiVersions is left out, because
the gateway serves fewer APIs (docs/apis.md).
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta

import pytest

from bench.record_batches import record_batch
from devkit.broker import KafkaCluster
from devkit.gateway_config import HOST, Listener
from protocol import messages
from tests.live.oracle import comparison
from tests.live.oracle.comparison import TWIN, Pair, Twins, Values
from tests.live.support import clients
from tests.live.support.fixtures import own_gateway, own_kafka
from tests.live.support.wire import Wire

TIMEOUT = timedelta(seconds=60)
TOPIC = 2
"""The resource type of configs."""
SET = 0
NAMED_BY_ID = 12


kafka = own_kafka()
"""A broker of this file's own, so that listings of all topics and groups are short."""
gateway = own_gateway(Listener("plain", "no namespace at all"))


@pytest.fixture(scope="module")
def pair(kafka: KafkaCluster, servers: str) -> Iterator[Pair]:
    _prepare(kafka)
    shown = clients.any_broker(servers)
    with Wire(kafka.bootstrap_servers) as direct, Wire(shown) as through:
        assert kafka.bootstrap_servers.startswith(HOST)
        yield Pair(kafka, direct, through, kafka.bootstrap_servers, shown)


def _prepare(kafka: KafkaCluster) -> None:
    """Create two topics with records, and a group with offsets."""
    clients.create(kafka.bootstrap_servers, "orders", "team-a..orders", partitions=3)
    clients.await_stored(kafka, "orders", "team-a..orders")
    clients.produce(kafka.bootstrap_servers, "orders", ["one", "two"])
    clients.consume(kafka.bootstrap_servers, "orders", 2, "app")


# -- reads ---------------------------------------------------------------------------------------

_PARTITION = {"partition_index": 0, "partition": 0, "timestamp": -1, "current_leader_epoch": -1}
_FETCHED = {"partition": 0, "fetch_offset": 0, "partition_max_bytes": 1_000_000}
_TOPICS = [{"name": "orders", "partitions": [_PARTITION]}]
_BY_TOPIC = [{"topic": "orders", "partitions": [{"partition": 0, "leader_epoch": 0}]}]
_CONFIGS = {"resource_type": TOPIC, "resource_name": "orders", "configuration_keys": None}

READS: list[tuple[str, Values]] = [
    ("Metadata", {"topics": [{"name": "orders"}], "include_topic_authorized_operations": True}),
    # The name of a namespace's topic, if there were the namespace: here it is an ordinary topic.
    ("Metadata", {"topics": [{"name": "team-a..orders"}, {"name": "orders"}]}),
    ("ListOffsets", {"replica_id": -1, "topics": _TOPICS, "timeout": TIMEOUT}),
    (
        "Fetch",
        {
            "topics": [{"topic": "orders", "topic_id": "orders", "partitions": [_FETCHED]}],
            "min_bytes": 1,
            "max_wait": timedelta(milliseconds=500),
        },
    ),
    ("OffsetForLeaderEpoch", {"replica_id": -1, "topics": _BY_TOPIC}),
    ("FindCoordinator", {"key": "app", "coordinator_keys": ("app", "other")}),
    ("ListGroups", {}),
    # Filtered, because the broker has the catalog's transactions, too.
    ("ListTransactions", {"state_filters": ("PrepareEpochFence", "nonsense")}),
    ("DescribeTransactions", {"transactional_ids": ("app", "other")}),
    ("DescribeGroups", {"groups": ("app", "other"), "include_authorized_operations": True}),
    ("ConsumerGroupDescribe", {"group_ids": ("app",)}),
    (
        "OffsetFetch",
        {
            "group_id": "app",
            "topics": [{"name": "orders", "partition_indexes": (0, 1)}],
            "groups": [
                {
                    "group_id": "app",
                    "topics": [
                        {"name": "orders", "topic_id": "orders", "partition_indexes": (0, 1)}
                    ],
                }
            ],
        },
    ),
    (
        "DescribeConfigs",
        {"resources": [_CONFIGS], "include_synonyms": True, "include_documentation": True},
    ),
    ("DescribeConfigs", {"resources": [{**_CONFIGS, "configuration_keys": ("retention.ms",)}]}),
    ("DescribeConfigs", {"resources": [{**_CONFIGS, "resource_name": "missing"}]}),
    ("DescribeTopicPartitions", {"topics": [{"name": "orders"}, {"name": "team-a..orders"}]}),
]


@pytest.mark.parametrize(
    ("name", "values"), READS, ids=[f"{n}-{name}" for n, (name, _) in enumerate(READS)]
)
def test_reads_are_answered_as_by_the_broker(pair: Pair, name: str, values: Values) -> None:
    """Every version that both sides serve gives equal responses."""
    versions = pair.versions(name)
    assert len(versions) > 0
    ids = {"orders": comparison.id_of(pair.direct, "orders")}
    for version in versions:
        body = comparison.request_body(name, version, values, ids)
        answer, expected = pair.answers(name, version, body)
        assert answer == expected, (
            f"v{version}\n{comparison.both_responses(name, version, answer, expected)}"
        )


def test_a_topic_by_its_id(pair: Pair) -> None:
    """Metadata from v12 on may request a topic by its id (KIP-516); also an unknown id."""
    ids = {"orders": comparison.id_of(pair.direct, "orders"), "nobody": uuid.uuid4()}
    for version in (v for v in pair.versions("Metadata") if v >= NAMED_BY_ID):
        for named in ids:
            values = {"topics": [{"topic_id": named, "name": None}]}
            body = comparison.request_body("Metadata", version, values, ids)
            answer, expected = pair.answers("Metadata", version, body)
            assert answer == expected, comparison.both_responses(
                "Metadata", version, answer, expected
            )


def test_all_topics_but_kafka_s_own(pair: Pair) -> None:
    """The listing is the broker's, without the reserved topics that the gateway hides
    (docs/names.md)."""
    for version in pair.versions("Metadata"):
        body = comparison.request_body(
            "Metadata", version, {"topics": () if version == 0 else None}, {}
        )
        answer, broker_s = pair.answers("Metadata", version, body)
        listed = comparison.response("Metadata", version, broker_s)
        names = [topic.name for topic in listed.topics]
        assert {"orders", "team-a..orders", "__consumer_offsets"} <= {*names}
        kept = tuple(topic for topic in listed.topics if not topic.name.startswith("__"))
        expected = messages.write(replace(listed, topics=kept))
        told = comparison.both_responses("Metadata", version, answer, expected)
        assert comparison.in_order(version, answer) == comparison.in_order(version, expected), (
            f"v{version}\n{told}"
        )


def test_the_cluster(pair: Pair) -> None:
    """Brokers and cluster id are the cluster's own; only addresses differ."""
    for version in pair.versions("DescribeCluster"):
        body = comparison.request_body("DescribeCluster", version, {"endpoint_type": 1}, {})
        answer, expected = pair.answers("DescribeCluster", version, body)
        assert answer == expected


# -- changes -------------------------------------------------------------------------------------


def _creation(**more: object) -> dict[str, object]:
    topic: dict[str, object] = {"name": TWIN, "num_partitions": 2, "replication_factor": 1}
    configs = [{"name": "retention.ms", "value": "-1"}]
    return {"topics": [{**topic, "configs": configs, **more}], "timeout": TIMEOUT}


def _configs(value: str, operation: int = SET) -> dict[str, object]:
    entry = {"name": "segment.ms", "value": value, "config_operation": operation}
    return {"resources": [{"resource_type": TOPIC, "resource_name": TWIN, "configs": [entry]}]}


def test_topics_are_made_changed_and_deleted_alike(pair: Pair) -> None:
    """Errors are equal, too, including the broker's error messages."""
    deletions = pair.versions("DeleteTopics")
    for version in pair.versions("CreateTopics"):
        twins = Twins(pair, f"made-{version}")
        bad = [{"name": "retention.ms", "value": "soon"}]
        twins.same("CreateTopics", version, _creation(configs=bad))
        twins.same("CreateTopics", version, _creation(replication_factor=9))
        twins.same("CreateTopics", version, {**_creation(), "validate_only": True})
        twins.same("CreateTopics", version, _creation())
        twins.await_stored()
        twins.same("CreateTopics", version, _creation())
        growing = min(version, pair.versions("CreatePartitions")[-1])
        for count in (3, 1):
            grown = {"topics": [{"name": TWIN, "count": count, "assignments": None}]}
            twins.same("CreatePartitions", growing, {**grown, "timeout": TIMEOUT})
        for api in ("AlterConfigs", "IncrementalAlterConfigs"):
            altering = min(version, pair.versions(api)[-1])
            twins.same(api, altering, _configs("600000"))
            twins.same(api, altering, _configs("soon"))
        deleting = min(version, deletions[-1])
        deletion = {"topic_names": (TWIN,), "topics": [{"name": TWIN}], "timeout": TIMEOUT}
        twins.same("DeleteTopics", deleting, deletion)
        twins.await_stored(gone=True)
        twins.same("DeleteTopics", deleting, deletion)


def test_records_are_taken_and_given_alike(pair: Pair) -> None:
    twins = Twins(pair, "data")
    twins.same("CreateTopics", 7, _creation())
    twins.await_stored()
    partition = {"index": 0, "records": record_batch(3, 20)}
    data = [{"name": TWIN, "topic_id": TWIN, "partition_data": [partition]}]
    for version in pair.versions("Produce"):
        values = {"acks": -1, "timeout": TIMEOUT, "topic_data": data}
        twins.same("Produce", version, values)
        twins.same("Produce", version, {**values, "acks": 5})
    fetched = [{"topic": TWIN, "topic_id": TWIN, "partitions": [_FETCHED]}]
    for version in pair.versions("Fetch"):
        wait = timedelta(milliseconds=500)
        twins.same("Fetch", version, {"topics": fetched, "min_bytes": 1, "max_wait": wait})
    for version in pair.versions("DeleteRecords"):
        cut = [{"partition_index": 0, "offset": version + 1}]
        topics = [{"name": TWIN, "partitions": cut}]
        twins.same("DeleteRecords", version, {"topics": topics, "timeout": TIMEOUT})


def test_offsets_are_kept_alike(pair: Pair) -> None:
    twins = Twins(pair, "kept")
    twins.same("CreateTopics", 7, _creation())
    twins.await_stored()
    partition = {"partition_index": 0, "committed_offset": 1, "committed_metadata": "m"}
    topics = [{"name": TWIN, "topic_id": TWIN, "partitions": [partition]}]
    for version in pair.versions("OffsetCommit"):
        twins.same("OffsetCommit", version, {"group_id": TWIN, "topics": topics})
    asked = [{"name": TWIN, "topic_id": TWIN, "partition_indexes": (0, 1)}]
    for version in pair.versions("OffsetFetch"):
        group = {"group_id": TWIN, "topics": asked}
        twins.same("OffsetFetch", version, {**group, "groups": [group]})
    for version in pair.versions("OffsetDelete"):
        twins.same("OffsetDelete", version, {"group_id": TWIN, "topics": topics})
    for version in pair.versions("DeleteGroups"):
        twins.same("DeleteGroups", version, {"groups_names": (TWIN,)})


def test_members_of_a_group_are_treated_alike(pair: Pair) -> None:
    """Join, sync, heartbeat, leave: the classic protocol, in every version of JoinGroup."""
    for version in pair.versions("JoinGroup"):
        stem = f"members-{version}"
        direct = comparison.membership(pair.direct, f"{stem}-twin-a", version, pair.versions)
        through = comparison.membership(pair.through, f"{stem}-twin-b", version, pair.versions)
        assert through == [answer.replace(b"twin-a", b"twin-b") for answer in direct]
        assert len(through) > 3
