"""Declarations agree with the message classes, in every version, and every one is complete."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from gateway.apis.table import APIS
from gateway.exchanges.api import Api, declare
from gateway.rules.declaration import TOPIC_ID, Do, ItemShape, Needs, Topics, TopicShape
from protocol import messages
from protocol.messages import element_class, has_field
from protocol.schema import api_key_of
from tests.rules.apis import api_named, topics_of
from tests.rules.samples import topic_class, topic_versions

CASES = [
    pytest.param(api, version, id=f"{api.name}-{version}") for api, version in topic_versions()
]
SHAPES = [
    pytest.param(api, shape, id=f"{api.name}-{shape.last}")
    for api in APIS.values()
    for shape in api.topics
]
ITEMS = [
    pytest.param(api, shape, id=f"{api.name}-{shape.last}")
    for api in APIS.values()
    for shape in api.items
]

OWN_HANDLERS = {
    "ApiVersions": "answers everyone",
    "CreateTopics": "CREATE on the topic or the cluster (changes/base/admin_rights.py)",
    "DeleteTopics": "DELETE, also of all that a namespace holds (changes/base/admin_rights.py)",
    "DescribeConfigs": "by resource (changes/base/admin_rights.py)",
    "AlterConfigs": "by resource (changes/base/admin_rights.py)",
    "IncrementalAlterConfigs": "by resource, and moves (changes/base/admin_rights.py)",
    "DescribeCluster": "only what it tells of operations (rules/authorized_operations.py)",
    "DescribeLogDirs": "DESCRIBE on the cluster, or the home (apis/administrators.py)",
    "ListGroups": "lists what may be described (apis/groups/group_admin.py)",
    "AlterPartitionReassignments": "ALTER on the cluster (apis/topics/partitions_of_cluster.py)",
    "ListPartitionReassignments": "DESCRIBE on the cluster, or the home (apis/administrators.py)",
    "ElectLeaders": "ALTER on the cluster (apis/topics/partitions_of_cluster.py)",
    "DescribeQuorum": "DESCRIBE on the cluster (apis/cluster/describe_quorum.py)",
    "UpdateFeatures": "ALTER on the cluster (apis/cluster/update_features.py)",
    "ListConfigResources": "DESCRIBE_CONFIGS on it (apis/configs/list_config_resources.py)",
    "WriteTxnMarkers": "ALTER on the cluster (apis/transactions/write_txn_markers.py)",
    "ListTransactions": "the same of ids (apis/transactions/transaction_admin.py)",
    "CreateAcls": "ALTER on the cluster, or on the namespace (apis/security/acl_requests.py)",
    "DescribeAcls": "DESCRIBE on cluster, or ALTER on namespace (apis/security/acl_requests.py)",
    "DeleteAcls": "ALTER on the cluster, or on the namespace (apis/security/acl_requests.py)",
    "DescribeClientQuotas": "DESCRIBE_CONFIGS on the cluster (apis/security/principals.py)",
    "DescribeUserScramCredentials": "DESCRIBE on the cluster (apis/security/scram_credentials.py)",
    "AlterUserScramCredentials": "ALTER on the cluster (apis/security/scram_credentials.py)",
    "GetTelemetrySubscriptions": "of oneself (apis/cluster/telemetry.py)",
    "PushTelemetry": "of oneself (apis/cluster/telemetry.py)",
    "SaslHandshake": "is asked before anything is allowed",
    "SaslAuthenticate": "is asked before anything is allowed",
}
"""APIs whose declaration needs nothing, with the reason."""


def test_every_decided_api_needs_something_or_has_its_own_handler() -> None:
    declaring = {api.name for api in APIS.values() if api.needs != Needs()}
    assert {api.name for api in APIS.values()} == declaring | OWN_HANDLERS.keys()
    assert not declaring & OWN_HANDLERS.keys()


def test_an_api_is_found_by_its_key() -> None:
    assert {key: api_key_of(f"{api.name}Request") for key, api in APIS.items()} == {
        key: key for key in APIS
    }
    assert len({api.name for api in APIS.values()}) == len(APIS)


def test_an_api_is_declared_once() -> None:
    before = dict(APIS)
    with pytest.raises(ValueError, match="Heartbeat"):
        declare(replace(api_named("Heartbeat"), span=(0, 3)))
    assert before == APIS


def test_an_api_is_answered_here_if_nothing_of_it_is_for_a_broker() -> None:
    assert {api.name for api in APIS.values() if api.answered_here} == {
        "SaslHandshake",
        "SaslAuthenticate",
        "DescribeAcls",
        "CreateAcls",
        "DeleteAcls",
        "DescribeClientQuotas",
        "DescribeUserScramCredentials",
        "AlterUserScramCredentials",
        "GetTelemetrySubscriptions",
        "PushTelemetry",
    }


# -- topics ---------------------------------------------------------------------------------------


def sides(api: Api, shape: TopicShape) -> Iterator[tuple[str, Topics]]:
    yield f"{api.name}Request", shape.request
    yield f"{api.name}Response", shape.response


def answer_class(api: Api, shape: TopicShape, version: int) -> type:
    """The class that holds the error of a topic, or of its partition."""
    cls = topic_class(shape.response, messages.message_class(f"{api.name}Response", version))
    if shape.response.partitions is not None:
        cls = element_class(cls, shape.response.partitions)
    return cls


@pytest.mark.parametrize(("api", "version"), CASES)
def test_the_fields_of_topics_exist(api: Api, version: int) -> None:
    for message, topics in sides(api, topics_of(api, version)):
        message_class = messages.message_class(message, version)
        entry_class = topic_class(topics, message_class)
        if not topics.name:
            assert issubclass(entry_class, str)
            continue
        assert has_field(entry_class, topics.name) or has_field(entry_class, TOPIC_ID)
        if topics.partitions is None:
            continue
        partition_class = element_class(entry_class, topics.partitions)
        if not topics.index:
            assert issubclass(partition_class, int)
        else:
            assert has_field(partition_class, topics.index)


@pytest.mark.parametrize(("api", "version"), CASES)
def test_the_error_field_exists(api: Api, version: int) -> None:
    shape = topics_of(api, version)
    assert has_field(answer_class(api, shape, version), shape.error_code)


@pytest.mark.parametrize(("api", "shape"), SHAPES)
def test_the_values_beside_an_error_exist_in_the_last_version(api: Api, shape: TopicShape) -> None:
    cls = answer_class(api, shape, api.versions_of(shape)[-1])
    assert all(has_field(cls, attribute) for attribute in shape.error_values)


def test_every_decided_api_that_holds_topics_says_where_in_every_version() -> None:
    for api in APIS.values():
        decided = list(api.versions)
        shaped = [v for v in decided if api.topic_shape(v) is not None]
        assert shaped == (decided if api.topics else [])
        spans = [v for shape in api.topics for v in api.versions_of(shape)]
        assert spans == shaped, "the spans of versions do not overlap"


def test_paths_to_more_topics_exist() -> None:
    for api in APIS.values():
        for path in api.seen:
            cls = messages.message_class(f"{api.name}Response", api.last)
            for attribute in path:
                cls = element_class(cls, attribute)
            assert issubclass(cls, str) or has_field(cls, TOPIC_ID) or has_field(cls, "topic")


def test_responses_to_requests_without_topics_that_hold_some() -> None:
    seen = {api.name for api in APIS.values() if api.seen}
    assert seen == {
        *("ConsumerGroupHeartbeat", "ConsumerGroupDescribe"),
        *("ShareGroupHeartbeat", "ShareGroupDescribe", "StreamsGroupHeartbeat"),
        "DescribeTransactions",
    }
    assert not any(api.topics for api in APIS.values() if api.seen)


def test_other_versions_have_no_topics() -> None:
    assert api_named("DeleteTopics").topic_shape(0) is None
    assert api_named("Heartbeat").topic_shape(0) is None


# -- groups, coordinator keys, config resources ---------------------------------------------------


@pytest.mark.parametrize(("api", "shape"), ITEMS)
def test_the_fields_of_items_exist(api: Api, shape: ItemShape) -> None:
    for version in api.versions_of(shape):
        request = messages.message_class(f"{api.name}Request", version)
        response = messages.message_class(f"{api.name}Response", version)
        item = element_class(request, shape.asked)
        assert all(has_field(item, name) for name in shape.asked_by)
        assert shape.asked_by or issubclass(item, str)
        answer = element_class(response, shape.answered)
        assert all(has_field(answer, name) for name in (*shape.answered_by, "error_code"))
        assert all(has_field(answer, name) for name in shape.error_values)


def test_the_apis_that_list_items() -> None:
    assert {api.name for api in APIS.values() if api.items} == {
        "OffsetFetch",
        "FindCoordinator",
        "DescribeGroups",
        "DeleteGroups",
        "ConsumerGroupDescribe",
        "ShareGroupDescribe",
        "StreamsGroupDescribe",
        "DescribeShareGroupOffsets",
        "DescribeTransactions",
        "DescribeConfigs",
        "AlterConfigs",
        "IncrementalAlterConfigs",
    }


# -- fields beside errors -------------------------------------------------------------------------


def test_what_stands_beside_an_error_exists_in_some_version() -> None:
    for api in APIS.values():
        classes = [
            messages.message_class(f"{api.name}Response", version)
            for version in range(api.first, api.last + 1)
        ]
        for field in api.beside_error:
            assert any(has_field(cls, field) for cls in classes), (api.name, field)


def test_every_way_of_naming_is_decided() -> None:
    for api in APIS.values():
        assert {api.named, api.by_id, api.null} != {Do.ABSENT}, api.name
