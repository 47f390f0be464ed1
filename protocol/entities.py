"""What every field carries: the table that the walkers, and through them all rules, go by.

kio's types say most of it (TopicName, GroupId, TransactionalId, BrokerId, error codes). What
they do not say stands in two tables of this package: field names that mean the same in every
message, and an overlay by message and field path (``entity_overlay``). A string, bytes, uuid or
records field, a broker id or an error code that none of these classifies has no kind, which a
test refuses: a new Kafka version cannot bring in a name that nobody looks at.
"""

from __future__ import annotations

from typing import Final

from protocol.entity_overlay import OVERLAY
from protocol.kinds import ALL_KINDS, Kind
from protocol.schema import FieldSpec

__all__ = ["ALL_KINDS", "Kind", "is_counted", "kind_of"]

_BY_NOMINAL: Final = {
    "TopicName": Kind.TOPIC_NAME,
    "GroupId": Kind.GROUP_ID,
    "TransactionalId": Kind.TRANSACTIONAL_ID,
    "BrokerId": Kind.NODE_ID,
}

_BY_TYPE: Final = {"error_code": Kind.ERROR_CODE, "records": Kind.RECORDS}

_BY_NAME: Final[dict[tuple[str, str], Kind]] = {
    **dict.fromkeys(
        (
            ("int32", "partition"),
            ("int32", "partition_index"),
            ("int32", "partition_indexes"),
        ),
        Kind.PARTITION,
    ),
    ("uuid", "topic_id"): Kind.TOPIC_ID,
    ("string", "error_message"): Kind.ERROR_TEXT,
    ("string", "protocol_type"): Kind.PROTOCOL_TYPE,
    ("int8", "resource_type"): Kind.RESOURCE_TYPE,
    ("string", "resource_name"): Kind.RESOURCE_NAME,
    **dict.fromkeys(
        (
            ("bytes", "hmac"),
            ("string", "client_id"),
            ("string", "client_host"),
            ("string", "cluster_id"),
            ("string", "committed_metadata"),
            ("string", "entity_name"),
            ("string", "entity_type"),
            ("string", "group_instance_id"),
            ("string", "group_state"),
            ("string", "instance_id"),
            ("string", "member_id"),
            ("string", "principal"),
            ("string", "principal_name"),
            ("string", "principal_type"),
            ("string", "process_id"),
            ("string", "protocol_name"),
            ("string", "rack"),
            ("string", "rack_id"),
            ("string", "reason"),
            ("string", "subtopology_id"),
            ("string", "token_id"),
            ("string", "token_requester_principal_name"),
            ("string", "token_requester_principal_type"),
            ("string", "transaction_state"),
            ("uuid", "candidate_directory_id"),
            ("uuid", "client_instance_id"),
            ("uuid", "incarnation_id"),
            ("uuid", "replica_directory_id"),
            ("uuid", "voter_directory_id"),
        ),
        Kind.PLAIN,
    ),
}
"""(wire type, field name) -> kind, for names that mean the same in every message."""

_MUST_BE_KNOWN: Final = frozenset({"string", "bytes", "uuid", "records", "error_code"})


def kind_of(message: str, field: FieldSpec) -> Kind | None:
    """What ``field`` of ``message`` carries; None if no table says so.

    Structs and arrays of them are PLAIN themselves, and so are numbers that no table names.
    """
    if field.struct is not None:
        return Kind.PLAIN
    kind = OVERLAY.get(message, {}).get(field.path)
    if kind is None and field.nominal:
        kind = _BY_NOMINAL[field.nominal]
    if kind is None:
        kind = _BY_TYPE.get(field.type)
    if kind is None:
        kind = _BY_NAME.get((field.type, field.name))
    if kind is None and field.array and (field.type, field.name) == ("int32", "partitions"):
        kind = Kind.PARTITION
    if kind is None and field.type not in _MUST_BE_KNOWN:
        kind = Kind.PLAIN
    return kind


def is_counted(message: str, field: FieldSpec) -> bool:
    """Whether ``field`` is an array of topics or of partitions, whose COUNT is emitted."""
    if not field.array:
        return False
    counted = (Kind.TOPIC_NAME, Kind.TOPIC_ID, Kind.PARTITION)
    if field.struct is None:
        return kind_of(message, field) in counted
    return any(
        kind_of(message, inner) in counted for inner in field.struct.fields if not inner.array
    )
