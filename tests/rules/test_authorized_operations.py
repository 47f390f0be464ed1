"""The operations that a client gets as authorized (KIP-430): the operations of the broker's
response that the ACLs allow it, or no operations if none were requested."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.acl_model import CLUSTER, Operation
from gateway.apis.table import APIS
from gateway.catalog.entities import Alias, TopicEntry
from gateway.catalog.snapshot import Snapshot
from gateway.exchanges.api import Api
from gateway.names import LogicalName
from gateway.rules import authorized_operations
from gateway.rules.authorized_operations import NOT_ASKED
from gateway.views.authorized_access import AuthorizedAccess
from gateway.views.view import View, ViewSettings
from protocol import messages
from protocol.errors import ProtocolError
from protocol.messages import element_class, has_field, make
from tests.rules.apis import api_named
from tests.session.allowing import Allowing

READ, WRITE, CREATE, DESCRIBE = (
    1 << Operation[name] for name in ("READ", "WRITE", "CREATE", "DESCRIBE")
)
TOPIC_OPERATIONS = [
    Operation[name]
    for name in ("READ", "WRITE", "CREATE", "DELETE", "ALTER", "DESCRIBE", "ALTER_CONFIGS")
]
ALL = sum(1 << operation for operation in TOPIC_OPERATIONS)

METADATA = api_named("Metadata")

MOVED = TopicEntry(
    "old", LogicalName("team-a", "orders"), aliases=(Alias(LogicalName("", "old"), 1 << 60),)
)

FIELDS = {
    ("Metadata", "include_topic_authorized_operations"): range(8, 14),
    ("Metadata", "include_cluster_authorized_operations"): range(8, 11),
    ("DescribeGroups", "include_authorized_operations"): range(3, 7),
    ("DescribeCluster", "include_cluster_authorized_operations"): range(3),
    ("ConsumerGroupDescribe", "include_authorized_operations"): range(2),
}
"""The versions that can request them, by KIP-430, KIP-700 (the cluster's move from Metadata to
DescribeCluster) and KIP-848."""


def access(*allowed: str, home: str = "") -> AuthorizedAccess:
    view = View(ViewSettings("test", home=home), Snapshot.of(["team-a", "team-b"], topics=[MOVED]))
    return AuthorizedAccess(view, "User:alice", "10.0.0.1", Allowing(allowed))


def asked(api: Api, version: int, **values: object) -> bool:
    cls = messages.message_class(f"{api.name}Request", version)
    return authorized_operations.requested(api, version, messages.write(make(cls, values)))[0]


def cut(api: Api, version: int, values: dict[str, Any], of: AuthorizedAccess) -> Any:
    body = messages.write(make(messages.message_class(f"{api.name}Response", version), values))
    return messages.parse(
        f"{api.name}Response", version, authorized_operations.cut(api, version, body, of)
    )


def entries(api: Api, version: int, array: str, *values: dict[str, Any]) -> tuple[Any, ...]:
    cls = element_class(messages.message_class(f"{api.name}Response", version), array)
    return tuple(make(cls, value) for value in values)


def topic_bits(told: int, name: str, of: AuthorizedAccess, version: int = 13) -> int:
    topics = entries(
        METADATA,
        version,
        "topics",
        {"name": name, "topic_authorized_operations": told},
    )
    answer = cut(METADATA, version, {"topics": topics}, of)
    return int(answer.topics[0].topic_authorized_operations)


@pytest.mark.parametrize(("name", "field"), FIELDS)
def test_a_request_asks_by_its_field(name: str, field: str) -> None:
    api = api_named(name)
    for version in range(api.first, api.last + 1):
        can_ask = version in FIELDS[name, field]
        assert has_field(messages.message_class(f"{api.name}Request", version), field) == can_ask
        assert asked(api, version, **{field: True}) == can_ask
        assert not asked(api, version)


@pytest.mark.parametrize("version", range(8, 11))
def test_those_of_topics_are_asked_for_by_a_field_of_their_own(version: int) -> None:
    cls = messages.message_class("MetadataRequest", version)
    for topics, cluster in ((True, True), (True, False), (False, True), (False, False)):
        values = {
            "include_topic_authorized_operations": topics,
            "include_cluster_authorized_operations": cluster,
        }
        body = messages.write(make(cls, values))
        found = authorized_operations.requested(METADATA, version, body)
        assert found == (topics or cluster, topics)


def test_partitions_are_described_with_operations_unasked() -> None:
    assert asked(api_named("DescribeTopicPartitions"), 0)


def test_no_other_request_asks() -> None:
    for api in APIS.values():
        assert (api.operations is not None) == any(
            "authorized_operations" in field
            for version in range(api.first, api.last + 1)
            for field in _all_fields(messages.message_class(f"{api.name}Response", version))
        ), api.name


def _all_fields(cls: type) -> set[str]:
    found = set(cls.__dataclass_fields__)  # type: ignore[attr-defined]
    for array in ("topics", "groups"):
        if has_field(cls, array) and hasattr(element_class(cls, array), "__dataclass_fields__"):
            found |= set(element_class(cls, array).__dataclass_fields__)  # type: ignore[attr-defined]
    return found


def test_a_request_that_cannot_be_read() -> None:
    with pytest.raises(ProtocolError):
        authorized_operations.requested(METADATA, 9, b"\x05")


@given(
    told=st.sets(st.sampled_from(TOPIC_OPERATIONS)),
    allowed=st.sets(st.sampled_from(TOPIC_OPERATIONS)),
)
def test_what_is_told_is_what_both_allow(told: set[Operation], allowed: set[Operation]) -> None:
    rights = [f"{operation.name} TOPIC team-b:x" for operation in allowed]
    alice = access(
        *rights, *([] if Operation.DESCRIBE in allowed else ["not DESCRIBE TOPIC team-b:x"])
    )
    bits = sum(1 << operation for operation in told)
    both = sum(1 << operation for operation in told & allowed)
    assert topic_bits(bits, "team-b:x", alice) == both


@pytest.mark.parametrize("version", range(8, 14))
def test_topics_each_have_their_own(version: int) -> None:
    alice = access("READ TOPIC team-b:x", "DESCRIBE TOPIC y")
    assert topic_bits(ALL, "team-b:x", alice, version) == READ
    assert topic_bits(ALL, "y", alice, version) == DESCRIBE
    assert topic_bits(ALL, "team-b:y", alice, version) == 0


def test_what_was_not_asked_for_is_not_told() -> None:
    assert topic_bits(NOT_ASKED, "y", access("READ TOPIC y")) == NOT_ASKED


@pytest.mark.parametrize(
    ("code", "of_topics", "told"),
    [(3, True, READ | DESCRIBE), (29, True, NOT_ASKED), (3, False, NOT_ASKED)],
)
def test_a_topic_that_was_answered_here_has_them_too(code: int, of_topics: bool, told: int) -> None:
    """For every topic that may be described, whether or not it exists (KafkaApis)."""
    body = messages.write(
        make(
            messages.message_class("MetadataResponse", 13),
            {
                "topics": entries(
                    METADATA,
                    13,
                    "topics",
                    {
                        "name": "y",
                        "error_code": code,
                        "topic_authorized_operations": NOT_ASKED,
                    },
                )
            },
        )
    )
    alice = access("READ TOPIC y", "DESCRIBE TOPIC y")
    answer = authorized_operations.cut(METADATA, 13, body, alice, of_topics=of_topics)
    (topic,) = messages.parse("MetadataResponse", 13, answer).topics
    assert topic.topic_authorized_operations == told


def test_a_topic_is_asked_about_by_its_own_name() -> None:
    alice = access("READ TOPIC team-a:orders", "WRITE TOPIC old")
    assert topic_bits(ALL, "old", alice) == READ
    assert topic_bits(ALL, "orders", access("READ TOPIC team-a:orders", home="team-a")) == READ


def test_nothing_is_told_of_what_names_nothing_here() -> None:
    assert topic_bits(ALL, ":team-b:x", access("READ TOPIC team-b:x", home="team-a")) == NOT_ASKED
    nameless = entries(METADATA, 13, "topics", {"name": None, "topic_authorized_operations": ALL})
    answer = cut(METADATA, 13, {"topics": nameless}, access())
    assert answer.topics[0].topic_authorized_operations == NOT_ASKED


@pytest.mark.parametrize(
    ("name", "version"),
    [("DescribeGroups", v) for v in range(3, 7)] + [("ConsumerGroupDescribe", v) for v in range(2)],
)
def test_groups_are_the_homes(name: str, version: int) -> None:
    api = api_named(name)
    groups = entries(
        api,
        version,
        "groups",
        {"group_id": "app", "authorized_operations": READ | DESCRIBE},
        {"group_id": "other", "authorized_operations": NOT_ASKED},
    )
    alice = access("READ GROUP team-a:app", "DESCRIBE GROUP app", home="team-a")
    answer = cut(api, version, {"groups": groups}, alice)
    assert [group.authorized_operations for group in answer.groups] == [READ, NOT_ASKED]


@pytest.mark.parametrize(
    ("name", "version"),
    [("Metadata", v) for v in range(8, 11)] + [("DescribeCluster", v) for v in range(3)],
)
def test_the_cluster_is_told_to_whom_may_describe_it(name: str, version: int) -> None:
    api = api_named(name)

    def told(bits: int, *allowed: str) -> int:
        values = {"cluster_authorized_operations": bits}
        return int(cut(api, version, values, access(*allowed)).cluster_authorized_operations)

    both = CREATE | DESCRIBE
    assert told(both | WRITE, f"CREATE {CLUSTER}", f"DESCRIBE {CLUSTER}") == both
    assert told(both, f"CREATE {CLUSTER}") == 0
    assert told(NOT_ASKED, f"DESCRIBE {CLUSTER}") == NOT_ASKED


def test_the_rest_of_an_answer_stays() -> None:
    topics = entries(
        api_named("DescribeTopicPartitions"),
        0,
        "topics",
        {"name": "y", "error_code": 5, "is_internal": True, "topic_authorized_operations": ALL},
    )
    answer = cut(
        api_named("DescribeTopicPartitions"), 0, {"topics": topics}, access("WRITE TOPIC y")
    )
    (topic,) = answer.topics
    assert (topic.name, topic.error_code, topic.is_internal) == ("y", 5, True)
    assert topic.topic_authorized_operations == WRITE
