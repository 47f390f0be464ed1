"""The operations that a client is told it may do (KIP-430), cut to what the ACLs here allow.

The broker says what the gateway may do there; of that, a client may do what it is allowed here.
Whole bodies in the client's names.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any, Final

from gateway.acl_model import Operation, Resource, ResourceType
from gateway.rules.api_keys import ApiKey
from gateway.rules.nested import has_field
from gateway.views.access import DESCRIBE, Access
from protocol import messages
from protocol.schema import request_name, response_name

NOT_ASKED: Final = -(2**31)
"""What stands in a response where the operations were not asked for."""

_FIELDS: Final[Mapping[int, tuple[str, ...]]] = MappingProxyType(
    {
        ApiKey.METADATA: (
            "include_topic_authorized_operations",
            "include_cluster_authorized_operations",
        ),
        ApiKey.DESCRIBE_GROUPS: ("include_authorized_operations",),
        ApiKey.DESCRIBE_CLUSTER: ("include_cluster_authorized_operations",),
        ApiKey.CONSUMER_GROUP_DESCRIBE: ("include_authorized_operations",),
    }
)
"""The fields by which a request asks for operations."""

TOLD_BY: Final = frozenset({*_FIELDS, int(ApiKey.DESCRIBE_TOPIC_PARTITIONS)})
"""The APIs whose responses may tell operations."""

_ALWAYS: Final = frozenset({int(ApiKey.DESCRIBE_TOPIC_PARTITIONS)})
"""APIs that tell operations without being asked."""

_LISTS: Final[Mapping[int, tuple[str, str, str]]] = MappingProxyType(
    {
        ApiKey.METADATA: ("topics", "name", "topic_authorized_operations"),
        ApiKey.DESCRIBE_TOPIC_PARTITIONS: ("topics", "name", "topic_authorized_operations"),
        ApiKey.DESCRIBE_GROUPS: ("groups", "group_id", "authorized_operations"),
        ApiKey.CONSUMER_GROUP_DESCRIBE: ("groups", "group_id", "authorized_operations"),
    }
)
"""Where a response tells them: the array, the field that names an element, and the bits."""

_CLUSTER_FIELD: Final = "cluster_authorized_operations"


def are_asked(api_key: int, version: int, body: bytes) -> bool:
    """Whether a request asks for operations. Raises ProtocolError."""
    if api_key in _ALWAYS:
        return True
    fields = _FIELDS.get(api_key, ())
    name = request_name(api_key)
    message = messages.message_class(name, version)
    fields = tuple(field for field in fields if has_field(message, field))
    if not fields:
        return False
    request = messages.parse(name, version, body)
    return any(getattr(request, field) for field in fields)


def cut(api_key: int, version: int, body: bytes, access: Access) -> bytes:
    """A response with the operations that ``access`` allows, of those it holds."""
    response = messages.parse(response_name(api_key), version, body)
    changes: dict[str, Any] = {}
    if api_key in _LISTS:
        array, name, bits = _LISTS[ApiKey(api_key)]
        named = _topic if array == "topics" else _group
        changes[array] = tuple(
            _with(entry, bits, access, named(access, getattr(entry, name)))
            for entry in getattr(response, array)
        )
    if has_field(type(response), _CLUSTER_FIELD):
        told = getattr(response, _CLUSTER_FIELD)
        changes[_CLUSTER_FIELD] = _cluster(told, access)
    return messages.write(replace(response, **changes))


def _cluster(told: int, access: Access) -> int:
    """Nothing is told to whom may not describe the cluster (AuthHelper)."""
    if told == NOT_ASKED or access.cluster(DESCRIBE) is None:
        return _allowed(told, lambda op: access.cluster(op) is None)
    return 0


def _with(entry: Any, bits: str, access: Access, named: Resource | None) -> Any:
    if named is None:
        return replace(entry, **{bits: NOT_ASKED})
    told = _allowed(getattr(entry, bits), lambda op: access.denial(op, named) is None)
    return replace(entry, **{bits: told})


def _allowed(told: int, allows: Callable[[int], bool]) -> int:
    if told == NOT_ASKED:
        return told
    return sum(1 << op for op in Operation if told >> op & 1 and allows(op))


def _topic(access: Access, name: str | None) -> Resource | None:
    return None if not name else access.topic_resource(name.encode())


def _group(access: Access, name: str) -> Resource:
    return access.id_resource(ResourceType.GROUP, name.encode())
