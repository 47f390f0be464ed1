"""The comparable parts of two responses to a request: the decisions of access.

Offsets, records, addresses and error messages are compared by other tests.
"""

from __future__ import annotations

import dataclasses
import uuid
from collections.abc import Mapping
from typing import Any, Final

from gateway.error_codes import TOPIC_AUTHORIZATION_FAILED

_KEPT: Final = {
    # names
    "name",
    "topic",
    "topic_id",
    "index",
    "partition",
    "partition_index",
    "group_id",
    "group_state",
    "transactional_id",
    "key",
    "member_id",
    "resource_type",
    "resource_name",
    "topic_config_error_code",
    "num_partitions",
    # ACLs
    "pattern_type",
    "principal",
    "host",
    "operation",
    "permission_type",
}
_KEPT_ENDS: Final = ("error_code", "authorized_operations")
_LEFT_OUT: Final = {
    # Access does not decide about these.
    "api_keys",
    "supported_features",
    "finalized_features",
    "brokers",
    "coordinator_addresses",
    "synonyms",
    "records",
    # Addresses of controllers, which the gateway withholds.
    "listeners",
    # The gateway leaves out topics that may not be described, a broker does not (docs/access.md).
    "subscribed_topic_names",
}

_WITH_IDS_OF_DENIED: Final = "AlterShareGroupOffsetsResponseTopic"
"""A broker reports the id of a topic that it denies here, which tells that the topic exists, and
the gateway does not."""

_ECHOES_IF_DENIED: Final = "ListPartitionReassignmentsResponse"
"""A broker that rejects the request lists its partitions, each without replicas."""

_ORDERED: Final = {"CreateAclsResponse", "DeleteAclsResponse"}

NO_ID: Final = uuid.UUID(int=0)


def comparable(answer: Any, names: Mapping[uuid.UUID, str]) -> Any:
    """A response without its differing parts; ``names`` maps topic ids to names on that side.

    Lists are sorted, because neither a broker nor the gateway promises an order, unless items are
    in the request's order.
    """
    if dataclasses.is_dataclass(answer):
        found: dict[str, Any] = {}
        for field in dataclasses.fields(answer):
            value = getattr(answer, field.name)
            if isinstance(value, tuple) and field.name not in _LEFT_OUT:
                parts = [comparable(part, names) for part in value if not _is_internal(part)]
                is_ordered = type(answer).__name__ in _ORDERED
                found[field.name] = parts if is_ordered else sorted(parts, key=repr)
            elif dataclasses.is_dataclass(value):
                found[field.name] = comparable(value, names)
            elif field.name in _KEPT or field.name.endswith(_KEPT_ENDS):
                found[field.name] = _comparable_value(value, names)
        if type(answer).__name__ == _WITH_IDS_OF_DENIED and _is_denied(answer):
            found["topic_id"] = "no id"
        if type(answer).__name__ == _ECHOES_IF_DENIED and found["error_code"]:
            found["topics"] = []
        return found
    return answer


def _is_denied(topic: Any) -> bool:
    return {int(each.error_code) for each in topic.partitions} == {TOPIC_AUTHORIZATION_FAILED}


def _comparable_value(value: Any, names: Mapping[uuid.UUID, str]) -> Any:
    if isinstance(value, uuid.UUID):
        return names.get(value, "no id" if value == NO_ID else "unknown id")
    return value if isinstance(value, str | None) else int(value)


def _is_internal(part: object) -> bool:
    """Whether an item is Kafka's own topic, or the gateway's, which are hidden (docs/names.md)."""
    name = getattr(part, "name", None)
    return isinstance(name, str) and name.startswith("__")
