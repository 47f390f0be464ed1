from __future__ import annotations

from dataclasses import fields as dataclass_fields
from typing import Any

import pytest
from kio.schema.index import api_key_map

from protocol.errors import ProtocolError
from protocol.schema import (
    FieldSpec,
    StructSpec,
    api_key_of,
    message_class,
    message_names,
    message_spec,
    message_versions,
    request_name,
    response_name,
)
from tests.protocol.strategies import CASES, Case


def field(message: str, version: int, path: str) -> FieldSpec:
    def find(struct: StructSpec) -> list[FieldSpec]:
        found = []
        for one in struct.fields + struct.tagged:
            if one.path == path:
                found.append(one)
            if one.struct is not None:
                found += find(one.struct)
        return found

    (only,) = find(message_spec(message, version).body)
    return only


def test_every_api_has_a_request_and_a_response_of_the_same_versions() -> None:
    for api_key in api_key_map:
        request, response = request_name(api_key), response_name(api_key)
        assert request.removesuffix("Request") == response.removesuffix("Response")
        assert api_key_of(request) == api_key_of(response) == api_key
        assert message_versions(request) == message_versions(response)


def test_names_are_kafka_s() -> None:
    assert (request_name(0), response_name(1)) == ("ProduceRequest", "FetchResponse")
    assert {"ConsumerProtocolSubscription", "ConsumerProtocolAssignment"} <= set(message_names())
    assert not {"RequestHeader", "ResponseHeader"} & set(message_names())


def test_create_topics_begins_at_version_0() -> None:
    assert message_versions("CreateTopicsRequest") == tuple(range(8))
    assert message_versions("ProduceRequest") == tuple(range(3, 14))


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case[0]}-{case[1]}")
def test_a_spec_is_of_its_version(case: Case) -> None:
    spec = message_spec(*case)
    cls: Any = message_class(*case)
    assert (spec.name, spec.version, spec.flexible) == (*case, cls.__flexible__)
    assert {one.name for one in spec.fields} == {one.name for one in dataclass_fields(cls)}
    assert all(one.tag is None for one in spec.body.fields)


def test_null_belongs_to_the_wire_not_to_kio() -> None:
    assert field("MetadataRequest", 1, "topics").nullable
    assert not field("MetadataRequest", 0, "topics").nullable
    assert field("MetadataResponse", 12, "topics.name").nullable
    assert not field("MetadataResponse", 12, "topics.topic_id").nullable
    assert field("BrokerHeartbeatRequest", 1, "offline_log_dirs").type == "uuid"


def test_structs_arrays_and_tags() -> None:
    cursor = field("DescribeTopicPartitionsRequest", 0, "cursor")
    assert (cursor.type, cursor.array, cursor.nullable) == ("struct", False, True)
    endpoints = field("FetchResponse", 16, "node_endpoints")
    assert (endpoints.type, endpoints.array, endpoints.tag) == ("struct", True, 0)
    names = field("DeleteTopicsRequest", 5, "topic_names")
    assert (names.type, names.array, names.nominal) == ("string", True, "TopicName")
    assert field("MetadataResponse", 12, "brokers.node_id").nominal == "BrokerId"
    assert field("MetadataResponse", 12, "brokers.host").nominal == ""


def test_what_does_not_exist_is_rejected() -> None:
    for ask in (
        lambda: request_name(4),
        lambda: response_name(-1),
        lambda: api_key_of("NoSuchRequest"),
        lambda: api_key_of("ConsumerProtocolSubscription"),
        lambda: message_versions("NoSuchRequest"),
        lambda: message_class("CreateTopicsRequest", 8),
        lambda: message_spec("ProduceRequest", 2),
    ):
        with pytest.raises(ProtocolError):
            ask()
