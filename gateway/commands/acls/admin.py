"""The ACL requests of Kafka that ``kafka-gateway acls`` sends, and what comes back."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final

from gateway.acl_model import (
    AclBinding,
    AclEntry,
    Operation,
    PatternType,
    Permission,
    ResourcePattern,
    ResourceType,
)
from gateway.acls.authorizer import AclFilter
from gateway.commands.admin import Admin
from gateway.commands.answers import Outcome
from protocol.messages import element_class, make

BATCH: Final = 1_000
"""ACLs, or filters, in one request."""


class AclAdmin:
    """Asks by wire. Names are as the listener's clients write them. Every method raises
    Unavailable, also when it is a broker that answers."""

    def __init__(self, admin: Admin) -> None:
        self._admin = admin
        self._client = admin.client

    async def create(self, acls: Sequence[AclBinding]) -> list[Outcome]:
        """CreateAcls: an outcome for each, in order."""
        await self._admin.require_gateway()
        outcomes: list[Outcome] = []
        for start in range(0, len(acls), BATCH):
            outcomes += await self._create(acls[start : start + BATCH])
        return outcomes

    async def describe(self, filters: Sequence[AclFilter]) -> tuple[list[AclBinding], Outcome]:
        """DescribeAcls for each filter: all that they mean, once each and sorted, and the outcome
        that is an error, if there is one."""
        await self._admin.require_gateway()
        found: set[AclBinding] = set()
        outcome = Outcome("ACLs", 0, "", "")
        for one in filters:

            def request(cls: type, one: AclFilter = one) -> Any:
                return make(cls, _filter(one))

            answer = await self._client.ask("DescribeAclsRequest", request, lambda r: (r,))
            outcome = _outcome(answer.entity)
            if outcome.code:
                break
            for resource in answer.entity.resources:
                found.update(_binding(resource, entry) for entry in resource.acls)
        return in_order(found), outcome

    async def delete(self, filters: Sequence[AclFilter]) -> tuple[list[AclBinding], list[Outcome]]:
        """DeleteAcls: all that was deleted, sorted, and an outcome for each filter."""
        await self._admin.require_gateway()
        gone: set[AclBinding] = set()
        outcomes: list[Outcome] = []
        for start in range(0, len(filters), BATCH):
            part = filters[start : start + BATCH]

            def request(cls: type, part: Sequence[AclFilter] = part) -> Any:
                one = element_class(cls, "filters")
                return make(cls, {"filters": tuple(make(one, _filter(each)) for each in part)})

            answer = await self._client.ask(
                "DeleteAclsRequest", request, lambda r: r.filter_results
            )
            for result in answer.entity.filter_results:
                outcomes.append(_outcome(result))
                gone.update(_binding(match, match) for match in result.matching_acls)
        return in_order(gone), outcomes

    async def _create(self, acls: Sequence[AclBinding]) -> list[Outcome]:
        def request(cls: type) -> Any:
            creation = element_class(cls, "creations")
            return make(cls, {"creations": tuple(make(creation, _fields(one)) for one in acls)})

        answer = await self._client.ask("CreateAclsRequest", request, lambda r: r.results)
        return [_outcome(result) for result in answer.entity.results]


def in_order(acls: Iterable[AclBinding]) -> list[AclBinding]:
    """As they are shown: by resource, then by entry."""
    return sorted(
        acls,
        key=lambda one: (one.pattern.type, one.pattern.name, one.pattern.pattern_type, one.entry),
    )


def _outcome(item: Any) -> Outcome:
    code = item.error_code
    return Outcome("ACLs", int(code), code.name.upper(), item.error_message or "")


def _fields(acl: AclBinding) -> dict[str, object]:
    return {
        "resource_type": int(acl.pattern.type),
        "resource_name": acl.pattern.name,
        "resource_pattern_type": int(acl.pattern.pattern_type),
        "principal": acl.entry.principal,
        "host": acl.entry.host,
        "operation": int(acl.entry.operation),
        "permission_type": int(acl.entry.permission),
    }


def _filter(one: AclFilter) -> dict[str, object]:
    return {
        "resource_type_filter": int(one.type),
        "resource_name_filter": one.name,
        "pattern_type_filter": int(one.pattern_type),
        "principal_filter": one.principal,
        "host_filter": one.host,
        "operation": int(one.operation),
        "permission_type": int(one.permission),
    }


def _binding(resource: Any, entry: Any) -> AclBinding:
    return AclBinding(
        ResourcePattern(
            ResourceType(resource.resource_type),
            PatternType(resource.pattern_type),
            resource.resource_name,
        ),
        AclEntry(
            entry.principal,
            entry.host,
            Operation(entry.operation),
            Permission(entry.permission_type),
        ),
    )
