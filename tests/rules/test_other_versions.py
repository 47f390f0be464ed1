"""Requests as another version say the same or are rejected; responses come back as requested."""

from __future__ import annotations

from collections.abc import Mapping
from uuid import UUID

import pytest

from gateway.rules.other_versions import at_version, response_at
from protocol import messages
from protocol.errors import ProtocolError
from tests.rules.apis import api_named
from tests.rules.volume_cases import answer, answered, asked, sent

ID = UUID(int=7)
TOPIC = {"name": "clicks"}
RESOURCE = {"resource_type": 2, "resource_name": "clicks"}
FILTER = {"resource_type_filter": 2, "resource_name_filter": "clicks"}

EXPRESSIBLE: list[tuple[str, dict[str, object]]] = [
    ("Metadata", {"topics": [TOPIC], "allow_auto_topic_creation": True}),
    ("CreateTopics", {"topics": [{**TOPIC, "num_partitions": 3, "replication_factor": 1}]}),
    ("CreatePartitions", {"topics": [{**TOPIC, "count": 4}], "validate_only": True}),
    ("DescribeConfigs", {"resources": [RESOURCE], "include_synonyms": True}),
    ("AlterConfigs", {"resources": [{**RESOURCE, "configs": [{"name": "a", "value": None}]}]}),
    ("IncrementalAlterConfigs", {"resources": [RESOURCE], "validate_only": True}),
    ("DescribeAcls", FILTER),
    ("CreateAcls", {"creations": [{"resource_type": 2, "resource_name": "clicks"}]}),
    ("DeleteAcls", {"filters": [FILTER]}),
    ("DeleteTopics", {"topics": [TOPIC], "topic_names": ["clicks"]}),
    ("FindCoordinator", {"coordinator_keys": ["workers"], "key": "workers"}),
]
"""Requests that every version of their API can express."""

INEXPRESSIBLE: list[tuple[str, int, int, dict[str, object]]] = [
    ("Metadata", 13, 9, {"topics": [{"name": None, "topic_id": ID}]}),
    ("Metadata", 13, 9, {"topics": [{"name": None}]}),
    ("Metadata", 4, 3, {"topics": [TOPIC], "allow_auto_topic_creation": False}),
    ("Metadata", 8, 7, {"topics": [TOPIC], "include_topic_authorized_operations": True}),
    ("Metadata", 1, 0, {"topics": []}),
    ("FindCoordinator", 6, 3, {"coordinator_keys": ["a", "b"]}),
    ("FindCoordinator", 1, 0, {"key": "a", "key_type": 1}),
    ("DeleteTopics", 6, 5, {"topics": [{"name": None, "topic_id": ID}]}),
    ("DeleteTopics", 6, 5, {"topics": [{"name": None}]}),
    ("CreateTopics", 1, 0, {"topics": [], "validate_only": True}),
    (
        "CreateTopics",
        7,
        3,
        {"topics": [{**TOPIC, "num_partitions": -1, "replication_factor": 1}]},
    ),
    ("DescribeConfigs", 4, 2, {"resources": [RESOURCE], "include_documentation": True}),
]
"""Kafka's schemas have no field, or no null, for it in the second version, and it is not ignorable
there; for CreateTopics, see its Builder (KIP-464)."""


@pytest.mark.parametrize(("name", "values"), EXPRESSIBLE, ids=[name for name, _ in EXPRESSIBLE])
def test_a_request_says_the_same_in_every_version(name: str, values: Mapping[str, object]) -> None:
    api = api_named(name)
    for before in api.versions:
        for after in api.versions:
            body = at_version(api, before, after, asked(api, before, values))
            assert sent(api, after, body) == sent(api, after, asked(api, after, values))


@pytest.mark.parametrize(
    ("name", "before", "after", "values"),
    INEXPRESSIBLE,
    ids=lambda each: None if isinstance(each, dict) else str(each),
)
def test_what_a_version_cannot_say_is_rejected(
    name: str, before: int, after: int, values: Mapping[str, object]
) -> None:
    api = api_named(name)
    with pytest.raises(ProtocolError, match=f"{name} version {before} to version {after}: "):
        at_version(api, before, after, asked(api, before, values))


def test_topics_by_id_stay_where_ids_are() -> None:
    api = api_named("Metadata")
    body = asked(api, 13, {"topics": [{"name": None, "topic_id": ID}]})
    assert sent(api, 12, at_version(api, 13, 12, body)).topics[0].topic_id == ID


@pytest.mark.parametrize("version", range(1, 14))
def test_all_topics_are_null_but_in_metadata_v0(version: int) -> None:
    api = api_named("Metadata")
    every = {"topics": None}
    down = at_version(api, version, 0, asked(api, version, every))
    assert sent(api, 0, down).topics == ()
    assert sent(api, version, at_version(api, 0, version, down)).topics is None


@pytest.mark.parametrize("older", range(4))
@pytest.mark.parametrize("newer", [4, 5, 6])
def test_one_coordinator_is_answered_in_either_form(older: int, newer: int) -> None:
    api = api_named("FindCoordinator")
    where = {"node_id": 3, "host": "kafka-3", "port": 9092, "error_code": 0}
    several = answer(api, newer, "coordinators", [{"key": "workers", **where}])
    single = one_coordinator(older, where)
    request = asked(api, newer, {"coordinator_keys": ["workers"]})
    assert response_at(api, older, newer, single, request) == several
    request = asked(api, older, {"key": "workers"})
    assert response_at(api, newer, older, several, request) == single


def one_coordinator(version: int, values: Mapping[str, object]) -> bytes:
    return messages.made("FindCoordinatorResponse", version, values)


def test_an_older_response_says_of_what_it_does_not_know_that_it_is_not_known() -> None:
    api = api_named("CreateTopics")
    old = answer(api, 4, "topics", [{**TOPIC, "error_code": 36, "error_message": "is there"}])
    (topic,) = answered(api, 7, response_at(api, 4, 7, old, b"")).topics
    assert (topic.name, int(topic.error_code), topic.error_message) == ("clicks", 36, "is there")
    # Java's client reports these as not known (CreateTopicsResult.UNKNOWN).
    assert (topic.topic_id, topic.num_partitions, topic.replication_factor) == (None, -1, -1)


def test_a_newer_response_loses_what_an_older_one_does_not_have() -> None:
    api = api_named("Metadata")
    partitions = [{"partition_index": 0, "leader_id": 2, "leader_epoch": 5}]
    entry = {"name": "clicks", "topic_id": ID, "partitions": partitions}
    (topic,) = answered(
        api, 5, response_at(api, 13, 5, answer(api, 13, "topics", [entry]), b"")
    ).topics
    assert (topic.name, topic.partitions[0].leader_id) == ("clicks", 2)


def test_the_same_version_is_the_same_bytes() -> None:
    api = api_named("Metadata")
    assert at_version(api, 12, 12, b"not read") == b"not read"
    assert response_at(api, 12, 12, b"not read", b"") == b"not read"
