"""Responses in place of a volume that cannot be reached, read by kio.

Metadata and coordinators are as in DESIGN.md (The tree); other errors stand where Kafka's
AbstractRequest.getErrorResponse puts them, but for each item, so that others are answered.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any
from uuid import UUID

import pytest

from gateway.apis.table import APIS
from gateway.exchanges.api import Api
from gateway.referrals.questions import Outcome
from gateway.rules.division import Remembered
from gateway.tree.volume_down import (
    code_when_down,
    code_when_not_referred,
    failed,
)
from gateway.tree.volume_parts import divide, merge
from tests.rules.apis import api_named
from tests.rules.volume_cases import OSLO, OWN, ByPrefix, answer, answered, asked

LEADER_NOT_AVAILABLE, REQUEST_TIMED_OUT, COORDINATOR_NOT_AVAILABLE = 5, 7, 15
UNKNOWN_TOPIC_OR_PARTITION, INVALID_REQUEST = 3, 42
TOPIC_DENIED, GROUP_DENIED, CLUSTER_DENIED, TRANSACTIONAL_ID_DENIED = 29, 30, 31, 53
SPLIT = sorted(api.name for api in APIS.values() if api.division is not None)
SENTENCE = "The cluster at :oslo cannot be reached; try again later."
ID, OTHER = UUID(int=1), UUID(int=2)
REMEMBERED: dict[str, Remembered] = {"oslo/clicks": (ID.bytes, 3), "oslo/old": (None, 1)}

METADATA = api_named("Metadata")
DESCRIPTION = api_named("DescribeTopicPartitions")
COORDINATOR = api_named("FindCoordinator")

ADMIN: dict[str, tuple[dict[str, object], str]] = {
    "CreateTopics": ({"topics": [{"name": "a"}, {"name": "b"}]}, "topics"),
    "CreatePartitions": ({"topics": [{"name": "a"}, {"name": "b"}]}, "results"),
    "DeleteTopics": ({"topics": [{"name": "a"}, {"topic_id": ID}]}, "responses"),
    "DescribeConfigs": (
        {"resources": [{"resource_type": 2, "resource_name": name} for name in "ab"]},
        "results",
    ),
    "AlterConfigs": (
        {"resources": [{"resource_type": 2, "resource_name": name} for name in "ab"]},
        "responses",
    ),
    "IncrementalAlterConfigs": (
        {"resources": [{"resource_type": 2, "resource_name": name} for name in "ab"]},
        "responses",
    ),
    "CreateAcls": ({"creations": [{"resource_type": 2}, {"resource_type": 3}]}, "results"),
    "DeleteAcls": ({"filters": [{"resource_type_filter": 2}, {}]}, "filter_results"),
}


def test_each_user_whose_password_cannot_be_altered_is_told() -> None:
    api = api_named("AlterUserScramCredentials")
    deleted = [{"name": name, "mechanism": 1} for name in ("alice", "bob")]
    body = asked(api, 0, {"deletions": deleted, "upsertions": ()})
    results = answered(api, 0, failed(api, 0, body, REQUEST_TIMED_OUT, SENTENCE)).results
    assert [(one.user, int(one.error_code), one.error_message) for one in results] == [
        ("alice", REQUEST_TIMED_OUT, SENTENCE),
        ("bob", REQUEST_TIMED_OUT, SENTENCE),
    ]


def recall(names: Iterable[str] | None, ids: Iterable[bytes]) -> Mapping[str, Remembered]:
    """The seen topics among the requested topics, as a volume recalls them."""
    wanted = {*(REMEMBERED if names is None else names)}
    by_id = {*ids}
    return {name: seen for name, seen in REMEMBERED.items() if name in wanted or seen[0] in by_id}


def when_down(api: Api, version: int, body: bytes) -> bytes:
    assert api.division is not None
    assert api.division.when_down is not None
    return api.division.when_down(version, body, recall)


def down(version: int, values: dict[str, object]) -> Any:
    body = asked(METADATA, version, values)
    return answered(METADATA, version, when_down(METADATA, version, body))


@pytest.mark.parametrize("version", METADATA.versions)
def test_a_topic_that_was_seen_has_its_partitions_without_leader(version: int) -> None:
    (topic,) = down(version, {"topics": [{"name": "oslo/clicks"}]}).topics
    assert (topic.name, int(topic.error_code)) == ("oslo/clicks", 0)
    assert [int(each.partition_index) for each in topic.partitions] == [0, 1, 2]
    assert {int(each.error_code) for each in topic.partitions} == {LEADER_NOT_AVAILABLE}
    assert {int(each.leader_id) for each in topic.partitions} == {-1}
    if version >= 10:
        assert topic.topic_id == ID


@pytest.mark.parametrize("version", METADATA.versions)
def test_a_topic_never_seen_has_no_leader_yet(version: int) -> None:
    (topic,) = down(version, {"topics": [{"name": "oslo/new"}]}).topics
    assert (topic.name, int(topic.error_code)) == ("oslo/new", LEADER_NOT_AVAILABLE)
    assert topic.partitions == ()


@pytest.mark.parametrize("version", [10, 12, 13])
def test_topics_by_id_are_remembered_too(version: int) -> None:
    ids = [{"topic_id": each, "name": None} for each in (OTHER, ID)]
    unknown, known = down(version, {"topics": ids}).topics
    assert (unknown.topic_id, int(unknown.error_code)) == (OTHER, LEADER_NOT_AVAILABLE)
    assert (known.topic_id, known.name, len(known.partitions)) == (ID, "oslo/clicks", 3)


@pytest.mark.parametrize("version", METADATA.versions)
def test_all_topics_are_all_that_are_remembered(version: int) -> None:
    found = down(version, {"topics": () if version == 0 else None}).topics
    assert [(topic.name, len(topic.partitions)) for topic in found] == [
        ("oslo/clicks", 3),
        ("oslo/old", 1),
    ]


@pytest.mark.parametrize("version", METADATA.versions[1:])
def test_no_topics_are_none(version: int) -> None:
    assert down(version, {"topics": ()}).topics == ()


def test_another_volumes_topics_are_answered_beside_one_that_is_down() -> None:
    names = ByPrefix()
    body = asked(METADATA, 13, {"topics": [{"name": "oslo/clicks"}, {"name": "b"}]})
    parts = divide(METADATA, 13, body, names)
    assert parts is not None
    answers = {
        OSLO: when_down(METADATA, 13, parts.bodies[OSLO]),
        OWN: answer(METADATA, 13, "topics", [{"name": "b"}], cluster_id="ours"),
    }
    merged = answered(METADATA, 13, merge(METADATA, parts, answers))
    assert [topic.name for topic in merged.topics] == ["oslo/clicks", "b"]
    assert merged.cluster_id == "ours"


def test_a_description_goes_on_at_its_cursor_and_is_cut_to_a_page() -> None:
    topics = [{"name": "oslo/old"}, {"name": "oslo/clicks"}, {"name": "oslo/new"}]
    cursor = {"topic_name": "oslo/clicks", "partition_index": 1}
    values = {"topics": topics, "response_partition_limit": 1, "cursor": cursor}
    body = asked(DESCRIPTION, 0, values)
    parts = divide(DESCRIPTION, 0, body, ByPrefix())
    assert parts is not None
    whole = when_down(DESCRIPTION, 0, parts.bodies[OSLO])
    shown = {topic.name: topic for topic in answered(DESCRIPTION, 0, whole).topics}
    assert [int(one.partition_index) for one in shown["oslo/clicks"].partitions] == [1, 2]
    assert int(shown["oslo/new"].error_code) == LEADER_NOT_AVAILABLE
    # Java's client fails on null in their place.
    assert shown["oslo/old"].partitions[0].eligible_leader_replicas == ()
    page = answered(DESCRIPTION, 0, merge(DESCRIPTION, parts, {OSLO: whole}))
    assert sum(len(topic.partitions) for topic in page.topics) == 1


@pytest.mark.parametrize("version", COORDINATOR.versions)
def test_coordinators_are_not_available(version: int) -> None:
    body = asked(COORDINATOR, version, {"key": "g", "coordinator_keys": ["g", "h"]})
    code = code_when_down(COORDINATOR)
    response = answered(COORDINATOR, version, failed(COORDINATOR, version, body, code, SENTENCE))
    found = response.coordinators if version >= 4 else (response,)
    assert {int(each.error_code) for each in found} == {COORDINATOR_NOT_AVAILABLE}
    assert {(int(each.node_id), each.host) for each in found} == {(-1, "")}
    if version >= 4:
        assert [each.key for each in found] == ["g", "h"]


@pytest.mark.parametrize(
    ("name", "version"),
    [(name, version) for name in ADMIN for version in api_named(name).versions],
)
def test_an_operators_request_times_out_item_by_item(name: str, version: int) -> None:
    api = api_named(name)
    values, array = ADMIN[name]
    body = asked(api, version, {**values, "topic_names": ["a", "b"]})
    response = answered(api, version, failed(api, version, body, code_when_down(api), SENTENCE))
    found = getattr(response, array)
    assert [int(each.error_code) for each in found] == [REQUEST_TIMED_OUT] * 2
    assert {getattr(each, "error_message", SENTENCE) for each in found} == {SENTENCE}


def test_each_user_of_an_alteration_times_out_once() -> None:
    """As AlterUserScramCredentialsRequest.getErrorResponse does."""
    api = api_named("AlterUserScramCredentials")
    deletions = [{"name": "alice", "mechanism": 1}, {"name": "bob", "mechanism": 1}]
    body = asked(api, 0, {"deletions": deletions, "upsertions": [{"name": "alice"}]})
    response = answered(api, 0, failed(api, 0, body, code_when_down(api), SENTENCE))
    found = [(one.user, int(one.error_code), one.error_message) for one in response.results]
    assert found == [(user, REQUEST_TIMED_OUT, SENTENCE) for user in ("alice", "bob")]


@pytest.mark.parametrize("name", SPLIT)
def test_every_request_that_is_divided_can_fail(name: str) -> None:
    api = api_named(name)
    for version in api.versions:
        answered(api, version, failed(api, version, asked(api, version, {}), 7, SENTENCE))


def test_a_filter_of_acls_times_out_as_a_whole() -> None:
    api = api_named("DescribeAcls")
    body = asked(api, 3, {"resource_type_filter": 2})
    response = answered(api, 3, failed(api, 3, body, code_when_down(api), SENTENCE))
    assert (int(response.error_code), response.error_message) == (REQUEST_TIMED_OUT, SENTENCE)


def test_failed_metadata_leaves_the_error_of_all_to_other_volumes() -> None:
    body = asked(METADATA, 13, {"topics": [{"name": "la:tracking/a"}]})
    response = answered(METADATA, 13, failed(METADATA, 13, body, LEADER_NOT_AVAILABLE, SENTENCE))
    assert int(response.error_code) == 0
    assert [int(topic.error_code) for topic in response.topics] == [LEADER_NOT_AVAILABLE]


# -- requests that other gateways do not answer ----------------------------------------------------

LOOKUPS = {"Metadata", "DescribeTopicPartitions"}
OF_TOPICS = LOOKUPS | {
    "AlterConfigs",
    "CreatePartitions",
    "CreateTopics",
    "DeleteTopics",
    "DescribeConfigs",
    "IncrementalAlterConfigs",
}


@pytest.mark.parametrize("name", SPLIT)
def test_what_is_for_no_volume_or_not_for_this_client_has_kafkas_error(name: str) -> None:
    """If a right on a topic is missing, TOPIC_AUTHORIZATION_FAILED (KafkaApis, AclApis); on ACLs
    and on the cluster, CLUSTER_AUTHORIZATION_FAILED."""
    api = api_named(name)
    version = api.versions[-1]
    body = asked(api, version, {})
    coordinator, topics = name == "FindCoordinator", name in OF_TOPICS

    def code(outcome: Outcome) -> int:
        return code_when_not_referred(api, version, body, outcome)

    denied = GROUP_DENIED if coordinator else TOPIC_DENIED if topics else CLUSTER_DENIED
    assert code(Outcome.DENIED) == denied
    missing = UNKNOWN_TOPIC_OR_PARTITION if topics else INVALID_REQUEST
    assert code(Outcome.NO_SUCH_MOUNT) == (COORDINATOR_NOT_AVAILABLE if coordinator else missing)
    rejected = UNKNOWN_TOPIC_OR_PARTITION if name in LOOKUPS else INVALID_REQUEST
    assert code(Outcome.REJECTED) == (COORDINATOR_NOT_AVAILABLE if coordinator else rejected)


@pytest.mark.parametrize("version", COORDINATOR.versions)
def test_a_coordinator_that_is_denied_has_the_error_of_its_kind(version: int) -> None:
    """Java's producer knows only TRANSACTIONAL_ID_AUTHORIZATION_FAILED (TransactionManager)."""
    for key_type, code in ((0, GROUP_DENIED), (1, TRANSACTIONAL_ID_DENIED)):
        if key_type and not version:
            continue  # only groups
        values = {"key": "k", "coordinator_keys": ["k"], "key_type": key_type}
        body = asked(COORDINATOR, version, values)
        found = code_when_not_referred(COORDINATOR, version, body, Outcome.DENIED)
        assert found == code
        response = answered(COORDINATOR, version, failed(COORDINATOR, version, body, found, "no"))
        coordinators = response.coordinators if version >= 4 else (response,)
        assert [int(each.error_code) for each in coordinators] == [code]
