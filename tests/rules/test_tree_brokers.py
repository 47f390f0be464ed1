"""gateway.rules.tree_brokers: the same list of brokers in every response, read by kio."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from devkit.exact_messages import exactly
from gateway.apis.cluster import describe_cluster
from gateway.apis.topics import metadata_in_tree
from gateway.rules.tree_brokers import Broker
from protocol import messages
from protocol.messages import has_field
from protocol.schema import message_versions

BROKERS = [Broker(1 << 16 | 1, "gw", 9093, None), Broker(2 << 16 | 7, "gw", 9094, "ny")]
TOPICS = st.lists(st.from_regex(r"[a-z]{1,8}", fullmatch=True), unique=True, max_size=5)


@pytest.mark.parametrize("version", message_versions("MetadataResponse"))
@given(names=TOPICS)
def test_metadata_has_the_trees_brokers_and_its_own_topics(version: int, names: list[str]) -> None:
    values: dict[str, Any] = {
        "brokers": [{"node_id": 3, "host": "kafka-3", "port": 9092}],
        "topics": [{"name": name, "partitions": [{"partition_index": 0}]} for name in names],
        "controller_id": 3,
        "cluster_id": "theirs",
    }
    known = _known("MetadataResponse", version, values)
    body = messages.write(exactly(messages.message_class("MetadataResponse", version), known))
    assert metadata_in_tree.node_ids(version, body) == {3}
    before: Any = messages.parse("MetadataResponse", version, body)
    made = metadata_in_tree.replaced(version, body, BROKERS, "ours", 1 << 16 | 1)
    after: Any = messages.parse("MetadataResponse", version, made)
    assert after.topics == before.topics
    assert [(b.node_id, b.host, b.port) for b in after.brokers] == [each[:3] for each in BROKERS]
    if version >= 1:
        assert after.controller_id == 1 << 16 | 1
        assert [b.rack for b in after.brokers] == [None, "ny"]
    if version >= 2:
        assert after.cluster_id == "ours"


@pytest.mark.parametrize("version", message_versions("DescribeClusterResponse"))
def test_a_cluster_is_described_by_the_trees_brokers(version: int) -> None:
    cls = messages.message_class("DescribeClusterResponse", version)
    values = {"brokers": [{"broker_id": 3, "host": "kafka-3", "port": 9092}], "controller_id": 3}
    body = messages.write(exactly(cls, {"cluster_id": "theirs", **values}))
    made = describe_cluster.replaced(version, body, BROKERS, "ours", 1 << 16 | 1)
    after: Any = messages.parse("DescribeClusterResponse", version, made)
    assert [(b.broker_id, b.host, b.port, b.rack) for b in after.brokers] == BROKERS
    assert (after.cluster_id, after.controller_id) == ("ours", 1 << 16 | 1)


@pytest.mark.parametrize("version", message_versions("DescribeClusterResponse"))
def test_an_error_stays_as_it_is(version: int) -> None:
    cls = messages.message_class("DescribeClusterResponse", version)
    body = messages.write(exactly(cls, {"error_code": 31, "cluster_id": ""}))
    assert describe_cluster.replaced(version, body, BROKERS, "ours", 1) == body


def _known(name: str, version: int, values: dict[str, Any]) -> dict[str, Any]:
    cls = messages.message_class(name, version)
    return {key: value for key, value in values.items() if has_field(cls, key)}
