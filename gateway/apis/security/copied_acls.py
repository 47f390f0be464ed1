"""ACLs that MirrorMaker 2 copies: without the ACLs of namespaces.

Its MirrorSourceConnector describes the ACLs of all topics at the source, and creates the LITERAL
ACLs at the target, without ALLOW WRITE, and with ALLOW READ for ALLOW ALL. A namespace's ACL is
LITERAL ``org:``, and a namespace with an ACL is closed to every principal without one. So a copy
would shut out all principals at the target that the source's ACLs do not name. MirrorMaker's admin
clients therefore see no ACLs of namespaces, and cannot create any; ``kafka-gateway catalog import
--under`` copies these.

The clients are known by their ids, ``A->B|MirrorSourceConnector|replication-target-admin`` since
Kafka 3.5 (MirrorConnectorConfig.addClientId). A client can choose another id: this protects against
accidents, and allows nothing.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Final

from gateway.acl_model import PatternType, ResourceType
from gateway.apis.security.acl_messages import creation_error
from gateway.changes.base.context import Answered
from gateway.decision import Denied
from gateway.error_codes import INVALID_REQUEST
from gateway.names import InvalidName
from gateway.views.access import Access
from gateway.views.view import View
from protocol import messages
from protocol.pausing import paced

Change = Callable[[Access, int, bytes], Awaitable[Answered]]

_ROLES: Final = (b"|replication-source-admin", b"|replication-target-admin")


def copies_acls(client_id: bytes | None) -> bool:
    """Whether MirrorMaker uses a client with this id to copy ACLs."""
    return client_id is not None and client_id.endswith(_ROLES)


def describing_none_of_namespaces(describe: Change) -> Change:
    """DescribeAcls, with the ACLs of namespaces left out of the response."""

    async def change(access: Access, version: int, body: bytes) -> Answered:
        answered = await describe(access, version, body)
        left = _without_namespaces(access.view, version, answered.body)
        return Answered(left, answered.denied)

    return change


def _without_namespaces(view: View, version: int, body: bytes) -> bytes:
    response = messages.parse("DescribeAclsResponse", version, body)
    kept = tuple(
        one
        for one in paced(response.resources)
        if not _is_namespace(view, one.resource_type, one.pattern_type, one.resource_name)
    )
    return messages.write(messages.changed(response, {"resources": kept}))


def creating_none_of_namespaces(create: Change) -> Change:
    """CreateAcls, with an error for each ACL of a namespace."""

    async def change(access: Access, version: int, body: bytes) -> Answered:
        request = messages.parse("CreateAclsRequest", version, body)
        rejected = {
            number: _rejection(one.resource_name)
            for number, one in enumerate(request.creations)
            if _is_namespace(
                access.view, one.resource_type, one.resource_pattern_type, one.resource_name
            )
        }
        if not rejected:
            return await create(access, version, body)
        left = tuple(one for number, one in enumerate(request.creations) if number not in rejected)
        rest = messages.write(messages.changed(request, {"creations": left}))
        answered = await create(access, version, rest)
        response = messages.parse("CreateAclsResponse", version, answered.body)
        results = iter(response.results)
        merged = tuple(
            creation_error(version, rejected[number]) if number in rejected else next(results)
            for number in range(len(request.creations))
        )
        named = [(request.creations[number].resource_name, why) for number, why in rejected.items()]
        return Answered(
            messages.write(messages.changed(response, {"results": merged})),
            [*named, *answered.denied],
        )

    return change


def _is_namespace(view: View, kind: int, pattern_type: int, name: str) -> bool:
    if kind != ResourceType.TOPIC or pattern_type != PatternType.LITERAL:
        return False
    try:
        return view.ends_as_namespace(name) or view.namespace_named(name) is not None
    except InvalidName:
        return False


def _rejection(name: str) -> Denied:
    message = (
        f"MirrorMaker does not copy the ACLs of namespace '{name}': they would shut out everyone"
        " else. Carry them with kafka-gateway catalog export --namespaces, and catalog import"
        " --under."
    )
    return Denied(INVALID_REQUEST, message, "request")
