"""The authorized operations in responses (KIP-430), cut to the operations that ACLs allow.

The broker reports the operations of the gateway's own principal there. The functions work on whole
message bodies, in which names are the client's.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final

from gateway.acl_model import Operation, Resource, ResourceType
from gateway.error_codes import TOPIC_AUTHORIZATION_FAILED
from gateway.rules.declaration import Declaration
from gateway.views.access import DESCRIBE, Access
from protocol import messages
from protocol.messages import has_field
from protocol.pausing import eased

NOT_ASKED: Final = -(2**31)
"""The value in a response to a request without the operations."""

_CLUSTER_FIELD: Final = "cluster_authorized_operations"

_OF_TOPICS: Final = sum(
    1 << operation
    for operation in (
        *(Operation.READ, Operation.WRITE, Operation.CREATE, Operation.DELETE, Operation.ALTER),
        *(Operation.DESCRIBE, Operation.DESCRIBE_CONFIGS, Operation.ALTER_CONFIGS),
    )
)
"""The operations on topics (AclEntry.supportedOperations)."""


def requested(api: Declaration, version: int, body: bytes) -> tuple[bool, bool]:
    """Whether a request asks for any authorized operations, and whether it asks for the operations
    on topics (the first of its fields). Raises ProtocolError."""
    shown = api.operations
    if shown is None or not shown.asked_by:
        return shown is not None, shown is not None
    name = f"{api.name}Request"
    message = messages.message_class(name, version)
    if not any(has_field(message, field) for field in shown.asked_by):
        return False, False
    request = messages.parse(name, version, body)
    fields = [getattr(request, field, False) for field in shown.asked_by]
    return any(fields), fields[0]


def cut(
    api: Declaration, version: int, body: bytes, access: Access, *, of_topics: bool = False
) -> bytes:
    """A response with only the operations that ``access`` allows. If the client requested the
    operations ``of_topics``, entries that the gateway made for missing topics get them too, because
    a broker reports them for every topic that the client may describe."""
    response = messages.parse(f"{api.name}Response", version, body)
    changes: dict[str, Any] = {}
    shown = api.operations
    if shown is not None and shown.array:
        named = _topic if shown.array == "topics" else _group
        of_topics = of_topics and named is _topic
        changes[shown.array] = tuple(
            _with(
                entry, shown.bits, access, named(access, getattr(entry, shown.named_by)), of_topics
            )
            for entry in eased(getattr(response, shown.array))
        )
    if has_field(type(response), _CLUSTER_FIELD):
        changes[_CLUSTER_FIELD] = _cluster(getattr(response, _CLUSTER_FIELD), access)
    return messages.write(replace(response, **changes))


def _cluster(shown: int, access: Access) -> int:
    """The operations on the cluster: 0 if the client lacks DESCRIBE on the cluster (AuthHelper)."""
    if shown == NOT_ASKED or access.cluster(DESCRIBE) is None:
        return _allowed(shown, lambda op: access.cluster(op) is None)
    return 0


def _with(entry: Any, bits: str, access: Access, named: Resource | None, of_topics: bool) -> Any:
    if named is None:
        return replace(entry, **{bits: NOT_ASKED})
    held = getattr(entry, bits)
    if of_topics and held == NOT_ASKED and entry.error_code != TOPIC_AUTHORIZATION_FAILED:
        held = _OF_TOPICS
    shown = _allowed(held, lambda op: access.denial(op, named) is None)
    return replace(entry, **{bits: shown})


def _allowed(shown: int, allows: Callable[[int], bool]) -> int:
    if shown == NOT_ASKED:
        return shown
    return sum(1 << op for op in Operation if shown >> op & 1 and allows(op))


def _topic(access: Access, name: str | None) -> Resource | None:
    return None if not name else access.topic_resource(name.encode())


def _group(access: Access, name: str) -> Resource:
    return access.id_resource(ResourceType.GROUP, name.encode())
