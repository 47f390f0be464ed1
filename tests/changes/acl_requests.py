"""ACL requests as clients send them, and their responses in a form that tests compare."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from gateway.acl_model import (
    AclBinding,
    AclEntry,
    Operation,
    PatternType,
    Permission,
    ResourcePattern,
    ResourceType,
    pattern_of,
)
from gateway.acls.standard import StandardAuthorizer
from gateway.apis.security.acl_requests import create_acls, delete_acls, describe_acls
from gateway.catalog.entities import ResourceAcls
from gateway.catalog.snapshot import Snapshot
from gateway.views.access import Access
from gateway.views.authorized_access import AuthorizedAccess
from protocol import messages
from protocol.messages import element_class, make
from tests.changes.fakes import FakeGateway, World

ADMIN = "User:admin"
HOST = "10.0.0.7"
ANY = "*"


def acl(text: str) -> AclBinding:
    """``ALLOW READ User:bob TOPIC:LITERAL:org:orders``, with ``@10.0.0.1`` after the principal if
    the entry has a host."""
    permission, operation, who, pattern = text.split(" ", 3)
    principal, _, host = who.partition("@")
    entry = AclEntry(principal, host or "*", Operation[operation], Permission[permission])
    return AclBinding(pattern_of(pattern), entry)


def text_of(binding: AclBinding) -> str:
    """The reverse of :func:`acl`."""
    entry = binding.entry
    host = "" if entry.host == "*" else f"@{entry.host}"
    what = f"{entry.permission.name} {entry.operation.name}"
    return f"{what} {entry.principal}{host} {binding.pattern}"


def entities(texts: Iterable[str]) -> list[ResourceAcls]:
    """The catalog's entities for these ACLs."""
    found: dict[ResourcePattern, set[AclEntry]] = {}
    for binding in map(acl, texts):
        found.setdefault(binding.pattern, set()).add(binding.entry)
    return [ResourceAcls(pattern, frozenset(entries)) for pattern, entries in found.items()]


def put(world: World, *texts: str) -> None:
    """Add ACLs to the catalog."""
    world.log.append(entities(texts))


def held(snapshot: Snapshot) -> set[str]:
    """The catalog's ACLs."""
    return {
        text_of(AclBinding(acls.pattern, entry))
        for acls in snapshot.acls.values()
        for entry in acls.entries
    }


def authorizer(catalog: Any, *super_users: str) -> StandardAuthorizer:
    """The standard authorizer, which follows a gateway's catalog."""
    made = StandardAuthorizer()
    made.configure({"super.users": super_users, "allow.everyone.if.no.acl.found": False}, _nothing)
    made.see(catalog.snapshot)
    catalog.subscribe(lambda: made.see(catalog.snapshot))
    return made


def access(
    gateway: FakeGateway,
    principal: str = ADMIN,
    *,
    home: str = "",
    escape: bool = False,
    legal: bool = False,
) -> Access:
    """A client's access; ``ADMIN`` is a super user."""
    view = gateway.view(home, escape=escape, legal=legal)
    return AuthorizedAccess(view, principal, HOST, authorizer(gateway.catalog, ADMIN))


async def create(
    gateway: FakeGateway, asking: Access, *texts: str, version: int = 3
) -> list[tuple[int, str | None]]:
    """CreateAcls: code and message of each ACL."""
    return await create_raw(gateway, asking, [fields(acl(text)) for text in texts], version)


def fields(binding: AclBinding) -> dict[str, object]:
    """The fields of a CreateAcls request for an ACL."""
    return {
        "resource_type": int(binding.pattern.type),
        "resource_name": binding.pattern.name,
        "resource_pattern_type": int(binding.pattern.pattern_type),
        "principal": binding.entry.principal,
        "host": binding.entry.host,
        "operation": int(binding.entry.operation),
        "permission_type": int(binding.entry.permission),
    }


async def create_raw(
    gateway: FakeGateway, asking: Access, asked: Sequence[dict[str, object]], version: int = 3
) -> list[tuple[int, str | None]]:
    """CreateAcls of fields as they stand on the wire: code and message of each."""
    cls = messages.message_class("CreateAclsRequest", version)
    creation = element_class(cls, "creations")
    body = messages.write(make(cls, {"creations": tuple(make(creation, one) for one in asked)}))
    answered = await create_acls(gateway.context, asking, version, body)
    response = messages.parse("CreateAclsResponse", version, answered.body)
    return [(int(one.error_code), one.error_message) for one in response.results]


def filtering(
    name: str | None = None,
    *,
    kind: ResourceType = ResourceType.ANY,
    pattern_type: PatternType = PatternType.ANY,
    principal: str | None = None,
    host: str | None = None,
    operation: Operation = Operation.ANY,
    permission: Permission = Permission.ANY,
) -> dict[str, object]:
    """A filter as it stands on the wire."""
    return {
        "resource_type_filter": int(kind),
        "resource_name_filter": name,
        "pattern_type_filter": int(pattern_type),
        "principal_filter": principal,
        "host_filter": host,
        "operation": int(operation),
        "permission_type": int(permission),
    }


async def describe(
    gateway: FakeGateway, asking: Access, asked: dict[str, object] | None = None, version: int = 3
) -> set[str] | tuple[int, str]:
    """DescribeAcls: the ACLs, or code and message."""
    cls = messages.message_class("DescribeAclsRequest", version)
    body = messages.write(make(cls, asked or filtering()))
    answered = await describe_acls(gateway.context, asking, version, body)
    response = messages.parse("DescribeAclsResponse", version, answered.body)
    if response.error_code:
        assert not response.resources
        return int(response.error_code), str(response.error_message)
    names = [(r.resource_type, r.resource_name, r.pattern_type) for r in response.resources]
    assert names == sorted(set(names))
    return {_text(resource, one) for resource in response.resources for one in resource.acls}


async def delete(
    gateway: FakeGateway, asking: Access, *asked: dict[str, object], version: int = 3
) -> list[set[str] | tuple[int, str]]:
    """DeleteAcls: the ACLs that each filter has deleted, or code and message."""
    cls = messages.message_class("DeleteAclsRequest", version)
    one = element_class(cls, "filters")
    body = messages.write(make(cls, {"filters": tuple(make(one, each) for each in asked)}))
    answered = await delete_acls(gateway.context, asking, version, body)
    response = messages.parse("DeleteAclsResponse", version, answered.body)
    return [
        (int(result.error_code), str(result.error_message))
        if result.error_code
        else {_text(match, match) for match in result.matching_acls}
        for result in response.filter_results
    ]


def _text(resource: Any, entry: Any) -> str:
    pattern = ResourcePattern(
        ResourceType(resource.resource_type),
        PatternType(resource.pattern_type),
        resource.resource_name,
    )
    who = AclEntry(
        entry.principal, entry.host, Operation(entry.operation), Permission(entry.permission_type)
    )
    return text_of(AclBinding(pattern, who))


def _nothing() -> None:
    """Do nothing, because only the catalog changes ACLs."""
