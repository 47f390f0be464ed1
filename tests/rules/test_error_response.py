"""A response that rejects everything can be read in every version, and has no other content."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest

from gateway.apis.table import APIS
from gateway.exchanges.api import Api
from gateway.rules.declaration import Do
from gateway.rules.partial import error_response
from protocol import messages
from protocol.errors import ProtocolError
from protocol.messages import element_class, has_field, make
from tests.rules.apis import api_named
from tests.rules.samples import Asked, ask, error_codes, names_topics_by

NOT_COORDINATOR = 16
CLUSTER_AUTHORIZATION_FAILED = 31
UNSUPPORTED_VERSION = 35
FETCH_SESSION_ID_NOT_FOUND = 70

PRODUCE = api_named("Produce")

VERSIONS = [
    pytest.param(api, version, id=f"{api.name}-{version}")
    for api in APIS.values()
    if Do.ANSWER not in (api.named, api.null)
    for version in range(api.first, api.last + 1)
]
"""APIs that the gateway answers as a whole make their own errors."""


NO_ERROR_FIELD = {("DescribeLogDirs", 1), ("DescribeLogDirs", 2)}
"""Responses that are empty if nothing may be described (KafkaApis)."""


def request_with_two_items(api: Api, version: int) -> bytes:
    """A request for two topics, groups or resources, if the API has any."""
    request_class = messages.message_class(f"{api.name}Request", version)
    if api.topics:
        by_name, _ = names_topics_by(api, version)
        asked = (Asked("a:t"), Asked("a:u"))
        if not by_name:
            asked = (Asked(None, UUID(int=1)), Asked(None, UUID(int=2)))
        return ask(api, version, asked, acks=-1)
    if api.name == "WriteTxnMarkers":
        topics = [{"name": name, "partition_indexes": (0,)} for name in ("a:t", "a:u")]
        marker = {"producer_id": 7, "topics": topics}
        return messages.write(make(request_class, {"markers": [marker, marker]}))
    items = api.item_shape(version)
    if items is None:
        return messages.write(messages.build(request_class))
    values: dict[str, Any] = {items.asked: ("g", "h")}
    if items.asked_by:
        cls = element_class(request_class, items.asked)
        entries = ({"resource_type": 2, "resource_name": name} for name in ("a:t", "a:u"))
        values = {items.asked: tuple(make(cls, entry) for entry in entries)}
    return messages.write(make(request_class, values))


def rejected(api: Api, version: int, code: int, message: str | None = None) -> Any:
    body = request_with_two_items(api, version)
    answer = error_response(api, version, body, code, message)
    return messages.parse(f"{api.name}Response", version, answer)


@pytest.mark.parametrize(("api", "version"), VERSIONS)
def test_every_error_code_is_the_given_one(api: Api, version: int) -> None:
    codes = error_codes(rejected(api, version, CLUSTER_AUTHORIZATION_FAILED, "no"))
    expected = set() if (api.name, version) in NO_ERROR_FIELD else {CLUSTER_AUTHORIZATION_FAILED}
    assert set(codes) == expected


@pytest.mark.parametrize(("api", "version"), VERSIONS)
def test_the_message_goes_where_there_is_room(api: Api, version: int) -> None:
    for text in ("no", None):
        response = rejected(api, version, CLUSTER_AUTHORIZATION_FAILED, text)
        if has_field(type(response), "error_message"):
            assert response.error_message == text


def test_items_are_answered_one_by_one_where_there_is_no_other_place() -> None:
    configs_response = rejected(api_named("DescribeConfigs"), 4, 31, "no")
    assert [(r.resource_name, r.error_message) for r in configs_response.results] == [
        ("a:t", "no"),
        ("a:u", "no"),
    ]
    groups = rejected(api_named("DescribeGroups"), 6, 31).groups
    assert [(g.group_id, g.group_state, g.error_message) for g in groups] == [
        ("g", "", None),
        ("h", "", None),
    ]
    assert [t.name for t in rejected(api_named("CreateTopics"), 7, 31).topics] == ["a:t", "a:u"]
    offsets = rejected(api_named("OffsetFetch"), 1, 31).topics[0].partitions[0]
    assert (offsets.committed_offset, offsets.metadata) == (-1, "")
    assert rejected(api_named("OffsetFetch"), 7, 31).topics == ()
    assert [g.group_id for g in rejected(api_named("OffsetFetch"), 9, 31).groups] == ["g1", "g2"]


def test_a_fetch_error_stands_in_the_partitions_for_old_clients() -> None:
    for version, topics in ((6, 2), (12, 2), (13, 0)):
        response = rejected(api_named("Fetch"), version, CLUSTER_AUTHORIZATION_FAILED)
        assert len(response.responses) == topics
        assert getattr(response, "session_id", 0) == 0


def test_a_fetch_session_error_names_no_partition() -> None:
    response = rejected(api_named("Fetch"), 12, FETCH_SESSION_ID_NOT_FOUND)
    assert (response.error_code, response.responses) == (FETCH_SESSION_ID_NOT_FOUND, ())


def test_nobody_coordinates() -> None:
    for version in range(4):
        response = rejected(api_named("FindCoordinator"), version, NOT_COORDINATOR)
        assert (response.node_id, response.host, response.port) == (-1, "", -1)
    for version in range(4, 7):
        for found in rejected(api_named("FindCoordinator"), version, NOT_COORDINATOR).coordinators:
            assert (found.node_id, found.host, found.port) == (-1, "", -1)


def test_nobody_joins() -> None:
    for version in range(10):
        response = rejected(api_named("JoinGroup"), version, NOT_COORDINATOR)
        assert (response.generation_id, response.member_id, response.leader) == (-1, "", "")
        assert response.protocol_name == (None if version >= 7 else "")


def test_no_producer_id() -> None:
    response = rejected(api_named("InitProducerId"), 4, NOT_COORDINATOR)
    assert (response.producer_id, response.producer_epoch) == (-1, -1)


def test_a_rejection_of_all_topics_has_metadatas_own_error() -> None:
    cls = messages.message_class("MetadataRequest", 13)
    body = messages.write(messages.build(cls, topics=None))
    answer = error_response(api_named("Metadata"), 13, body, CLUSTER_AUTHORIZATION_FAILED)
    response = messages.parse("MetadataResponse", 13, answer)
    assert (response.error_code, response.topics) == (CLUSTER_AUTHORIZATION_FAILED, ())


def test_produce_without_acks_has_no_answer() -> None:
    body = ask(PRODUCE, 9, (Asked("a:t"),), acks=0)
    assert error_response(PRODUCE, 9, body, CLUSTER_AUTHORIZATION_FAILED) == b""


@pytest.mark.parametrize("version", [4, 5, 99])
def test_an_unknown_api_versions_is_answered_in_version_0(version: int) -> None:
    answer = error_response(api_named("ApiVersions"), version, b"\xff", UNSUPPORTED_VERSION)
    response = messages.parse("ApiVersionsResponse", 0, answer)
    assert response.error_code == UNSUPPORTED_VERSION
    (own,) = response.api_keys
    assert (own.api_key, own.min_version, own.max_version) == (18, 0, 4)


def test_produce_of_a_version_without_definition_is_rejected() -> None:
    body = b"\x00\x01" + bytes(4) + b"\x00\x00\x00\x01\x00\x01t" + bytes(4)
    answer = error_response(PRODUCE, 0, body, UNSUPPORTED_VERSION)
    assert answer == b"\x00\x00\x00\x01\x00\x01t" + bytes(4)


def test_an_unknown_version_is_a_protocol_error() -> None:
    with pytest.raises(ProtocolError):
        error_response(api_named("Heartbeat"), 99, b"", NOT_COORDINATOR)


def test_an_unreadable_request_is_a_protocol_error() -> None:
    with pytest.raises(ProtocolError):
        error_response(api_named("CreateTopics"), 7, b"\x05", NOT_COORDINATOR)
