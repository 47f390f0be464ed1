"""gateway.rules.node_numbers: every broker node id of every served message, and no other field."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, is_dataclass, replace
from typing import Any, get_type_hints

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gateway.apis.table import APIS
from gateway.rules.node_numbers import (
    MOST,
    has_nodes,
    node_spans,
    numbered,
    real_edits,
    real_node_id,
)
from protocol import messages
from protocol.errors import ProtocolError
from protocol.messages import make
from protocol.schema import field_type
from protocol.splice import splice
from tests.protocol.strategies import messages_of

# Node ids of brokers in Kafka 4.3's message definitions (entityType brokerId, and ids beside the
# address of a broker): the names of their fields in kio's classes.
NODE_FIELDS = {
    "leader_id",
    "replica_nodes",
    "isr_nodes",
    "offline_replicas",
    "eligible_leader_replicas",
    "last_known_elr",
    "controller_id",
    "node_id",
    "broker_id",
    "broker_ids",
    "preferred_read_replica",
    "replicas",
    "adding_replicas",
    "removing_replicas",
    "replica_id",
}

WITH_NODES = {
    "ProduceResponse": 10,
    "FetchResponse": 11,
    "MetadataResponse": 0,
    "FindCoordinatorResponse": 0,
    "DescribeClusterResponse": 0,
    "DescribeTopicPartitionsResponse": 0,
    "ShareFetchResponse": 1,
    "ShareAcknowledgeResponse": 1,
    "DescribeQuorumResponse": 0,
    "ListPartitionReassignmentsResponse": 0,
    "AlterPartitionReassignmentsRequest": 0,
    "CreateTopicsRequest": 0,
    "CreatePartitionsRequest": 0,
}
"""The messages that hold them, with the first version."""


def served(end: str) -> Iterator[tuple[str, int]]:
    for api in APIS.values():
        for version in api.versions:
            try:
                messages.message_class(f"{api.name}{end}", version)
            except LookupError:
                continue
            yield f"{api.name}{end}", version


CASES = sorted([*served("Request"), *served("Response")])
RESPONSES = [case for case in CASES if has_nodes(*case) and case[0].endswith("Response")]
REQUESTS = [case for case in CASES if has_nodes(*case) and case[0].endswith("Request")]


def moved(entity: Any, number: int) -> Any:
    """An entity with the number in every node id, by the names of fields alone."""
    changes: dict[str, Any] = {}
    hints = get_type_hints(type(entity))
    for each in fields(entity):
        value = getattr(entity, each.name)
        inner, _, array = field_type(hints[each.name])
        if each.name in NODE_FIELDS and not is_dataclass(inner):
            changes[each.name] = tuple(map(_moved(number), value)) if array and value else value
            if not array:
                changes[each.name] = _moved(number)(value)
        elif is_dataclass(value):
            changes[each.name] = moved(value, number)
        elif array and is_dataclass(inner) and value is not None:
            changes[each.name] = tuple(moved(one, number) for one in value)
    return replace(entity, **changes)


def _moved(number: int) -> Any:
    return lambda value: type(value)(value + number * 65_536 if value >= 0 else value)


def with_ids(entity: Any, ids: st.DataObject) -> Any:
    """An entity whose node ids are brokers' ids: 16 bits, or negative."""
    one = st.sampled_from([-1, 0, 1, 2, 255, 256, 65_535])
    changes: dict[str, Any] = {}
    hints = get_type_hints(type(entity))
    for each in fields(entity):
        value = getattr(entity, each.name)
        inner, _, array = field_type(hints[each.name])
        if each.name in NODE_FIELDS and not is_dataclass(inner):
            if array and value is not None:
                changes[each.name] = tuple(inner(ids.draw(one)) for _ in value)
            elif not array:
                changes[each.name] = inner(ids.draw(one))
        elif is_dataclass(value):
            changes[each.name] = with_ids(value, ids)
        elif array and is_dataclass(inner) and value is not None:
            changes[each.name] = tuple(with_ids(item, ids) for item in value)
    return replace(entity, **changes)


def test_the_messages_with_node_ids_are_those_of_the_definitions() -> None:
    found: dict[str, int] = {}
    for message, version in CASES:
        if has_nodes(message, version):
            found.setdefault(message, version)
    assert found == WITH_NODES


@pytest.mark.parametrize("case", RESPONSES, ids=str)
@given(data=st.data(), number=st.sampled_from([1, 3, 16_383]))
@settings(max_examples=15, deadline=None)
def test_node_ids_alone_get_the_number(
    case: tuple[str, int], data: st.DataObject, number: int
) -> None:
    entity = with_ids(data.draw(messages_of(case)), data)
    body = messages.write(entity)
    changed = numbered(*case, body, number)
    assert messages.parse(*case, changed) == moved(entity, number)
    assert changed == messages.write(moved(entity, number))
    assert numbered(*case, body, 0) is body


@pytest.mark.parametrize("case", REQUESTS, ids=str)
@given(data=st.data(), number=st.sampled_from([1, 3, 16_383]))
@settings(max_examples=15, deadline=None)
def test_virtual_ids_of_a_request_become_the_clusters_own(
    case: tuple[str, int], data: st.DataObject, number: int
) -> None:
    entity = with_ids(data.draw(messages_of(case)), data)
    body = messages.write(moved(entity, number))
    spans = node_spans(*case, body, 0, len(body), whole=True)
    assert splice(body, 0, len(body), real_edits(spans, number)) == messages.write(entity)
    assert real_edits(spans, 0) == []


@pytest.mark.parametrize("number", [1, 16_383])
def test_ids_of_other_clusters_are_no_brokers_here(number: int) -> None:
    other = 7
    for node_id in (0, 1, 65_535, (other << 16) + 1, 2**30 - 1, 2**31 - 1):
        if node_id >> 16 != number:
            assert real_node_id(number, node_id) > 65_535
    assert real_node_id(number, (number << 16) + 65_535) == 65_535
    assert real_node_id(number, -1) == -1


def test_a_request_with_too_many_is_rejected() -> None:
    cls = messages.message_class("CreateTopicsRequest", 7)
    topic_cls = messages.element_class(cls, "topics")
    assignment_cls = messages.element_class(topic_cls, "assignments")
    ids = tuple(range(MOST + 1))
    topic = make(topic_cls, {"assignments": (make(assignment_cls, {"broker_ids": ids}),)})
    body = messages.write(make(cls, {"topics": (topic,)}))
    with pytest.raises(ProtocolError, match="more than 200000 brokers"):
        node_spans("CreateTopicsRequest", 7, body, 0, len(body), whole=True)


def test_bytes_behind_a_body_are_rejected() -> None:
    body = messages.write(make(messages.message_class("FindCoordinatorResponse", 1), {}))
    with pytest.raises(ProtocolError, match="bytes after its end"):
        numbered("FindCoordinatorResponse", 1, body + b"x", 1)
