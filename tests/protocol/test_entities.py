"""The table of the kinds of fields: whole, and without entries for fields that do not exist."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from protocol.entities import ALL_KINDS, OVERLAY, Kind, is_counted, kind_of
from protocol.schema import FieldSpec, StructSpec, message_names, message_spec, message_versions
from tests.protocol.strategies import CASES, Case

STRINGS = {
    Kind.TOPIC_NAME,
    Kind.GROUP_ID,
    Kind.TRANSACTIONAL_ID,
    Kind.RESOURCE_NAME,
    Kind.COORDINATOR_KEY,
    Kind.REGEX,
    Kind.HOST,
    Kind.ERROR_TEXT,
    Kind.PROTOCOL_TYPE,
}
TYPES = {
    **{kind: {"string"} for kind in STRINGS},
    Kind.TOPIC_ID: {"uuid"},
    Kind.RESOURCE_TYPE: {"int8"},
    Kind.KEY_TYPE: {"int8"},
    Kind.NODE_ID: {"int32"},
    Kind.REPLICA_ID: {"int32"},
    Kind.ENDPOINT_NODE: {"int32"},
    Kind.PORT: {"int32", "uint16"},
    Kind.ERROR_CODE: {"error_code", "int16"},
    Kind.SUBSCRIPTION: {"bytes"},
    Kind.ASSIGNMENT: {"bytes"},
    Kind.EMBEDDED: {"bytes"},
    Kind.RECORDS: {"records"},
    Kind.SESSION_ID: {"int32"},
    Kind.SESSION_EPOCH: {"int32"},
    Kind.ACKS: {"int16"},
    Kind.MAX_BYTES: {"int32"},
    Kind.PARTITION: {"int32"},
    Kind.AUTO_CREATION: {"bool"},
}


def fields(struct: StructSpec) -> Iterator[FieldSpec]:
    for field in struct.fields + struct.tagged:
        yield field
        if field.struct is not None:
            yield from fields(field.struct)


def kinds_of(message: str, version: int) -> dict[str, Kind | None]:
    body = message_spec(message, version).body
    return {field.path: kind_of(message, field) for field in fields(body)}


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case[0]}-{case[1]}")
def test_every_field_is_classified(case: Case) -> None:
    assert [path for path, kind in kinds_of(*case).items() if kind is None] == []


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case[0]}-{case[1]}")
def test_kinds_suit_their_types(case: Case) -> None:
    message, version = case
    for field in fields(message_spec(message, version).body):
        kind = kind_of(message, field)
        assert kind is not None
        if kind is Kind.PLAIN:
            assert field.nominal == ""
            assert field.type not in ("error_code", "records")
        else:
            assert field.type in TYPES[kind], field.path


def test_new_fields_are_not_classified_unseen() -> None:
    for wire_type in ("string", "bytes", "uuid"):
        field = FieldSpec("novelty", "novelty", wire_type, False, False, None, "", None)
        assert kind_of("ProduceRequest", field) is None
    number = FieldSpec("novelty", "novelty", "int32", False, False, None, "", None)
    assert kind_of("ProduceRequest", number) is Kind.PLAIN


@pytest.mark.parametrize("message", OVERLAY)
def test_the_overlay_names_only_fields_that_exist(message: str) -> None:
    paths = set[str]()
    for version in message_versions(message):
        paths |= kinds_of(message, version).keys()
    assert set(OVERLAY[message]) <= paths


def test_every_endpoint_says_its_node_first() -> None:
    """Hosts and ports without an ENDPOINT_NODE before them are sent by clients about voters."""
    without_node = set()
    for message in message_names():
        kinds = list(kinds_of(message, message_versions(message)[-1]).items())
        for index, (path, kind) in enumerate(kinds):
            parent = path.rpartition(".")[0]
            before = [
                kind for other, kind in kinds[:index] if parent.startswith(other.rpartition(".")[0])
            ]
            if kind is Kind.HOST and Kind.ENDPOINT_NODE not in before:
                without_node.add(message)
    assert without_node == {
        "AddRaftVoterRequest",
        "BeginQuorumEpochRequest",
        "BrokerRegistrationRequest",
        "ControllerRegistrationRequest",
        "EndQuorumEpochRequest",
        "UpdateRaftVoterRequest",
        "VotersRecord",
    }


def test_every_host_has_its_port() -> None:
    for message in message_names():
        kinds = list(kinds_of(message, message_versions(message)[-1]).values())
        assert kinds.count(Kind.HOST) == kinds.count(Kind.PORT), message


def test_a_sample_of_the_table() -> None:
    assert kinds_of("MetadataResponse", 12)["brokers.node_id"] is Kind.ENDPOINT_NODE
    assert kinds_of("MetadataResponse", 12)["topics.partitions.leader_id"] is Kind.NODE_ID
    assert kinds_of("MetadataResponse", 12)["topics.partitions.isr_nodes"] is Kind.NODE_ID
    assert kinds_of("FetchRequest", 13)["topics.topic_id"] is Kind.TOPIC_ID
    assert kinds_of("FetchRequest", 13)["topics.partitions.partition_max_bytes"] is Kind.PLAIN
    assert kinds_of("ConsumerGroupDescribeResponse", 0)["groups.members.client_host"] is Kind.PLAIN
    assert kinds_of("ReadShareGroupStateRequest", 0)["group_id"] is Kind.GROUP_ID
    assert kinds_of("JoinGroupRequest", 0)["protocols.metadata"] is Kind.SUBSCRIPTION
    assert kinds_of("StreamsGroupHeartbeatRequest", 0)["user_endpoint.host"] is Kind.PLAIN


def test_arrays_of_topics_and_partitions_are_counted() -> None:
    def counted(message: str, version: int) -> list[str]:
        body = message_spec(message, version).body
        return [field.path for field in fields(body) if is_counted(message, field)]

    assert counted("MetadataResponse", 12) == ["topics", "topics.partitions"]
    assert counted("DeleteTopicsRequest", 5) == ["topic_names"]
    assert counted("ProduceRequest", 9) == ["topic_data", "topic_data.partition_data"]
    assert counted("OffsetFetchRequest", 8) == ["groups.topics", "groups.topics.partition_indexes"]
    assert counted("FindCoordinatorResponse", 4) == []


def test_all_kinds_are_those_that_can_be_emitted() -> None:
    assert set(Kind) - ALL_KINDS == {Kind.PLAIN, Kind.TEXT}
    assert set(TYPES) | {Kind.COUNT, Kind.SIZED} == ALL_KINDS
