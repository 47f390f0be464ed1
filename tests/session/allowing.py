"""An authorizer for tests: it allows the listed operations and denies all others."""

from __future__ import annotations

from collections.abc import Iterable

from gateway.acl_model import AclBinding, AclFilter, Operation, Resource, ResourceType
from gateway.acls.authorizer import Authorizer, Verdict


class Allowing(Authorizer):
    """``allowed`` are texts like ``READ TOPIC team-a:orders``: operation, type, logical name."""

    def __init__(self, allowed: Iterable[str]) -> None:
        self._allowed = {tuple(text.split(" ", 2)) for text in allowed}

    def authorize(
        self, principal: str, host: str, operation: Operation, resource: Resource
    ) -> Verdict:
        """Allow an operation if it is listed."""
        asked = (operation.name, resource.type.name, resource.text)
        return Verdict(asked in self._allowed, "the list")

    def authorize_any(
        self, principal: str, host: str, operation: Operation, resource_type: ResourceType
    ) -> Verdict:
        """Allow it if a resource of the type is listed for the operation."""
        wanted = (operation.name, resource_type.name)
        return Verdict(any(one[:2] == wanted for one in self._allowed), "the list")

    def acls(self, matching: AclFilter) -> Iterable[AclBinding]:
        """The authorizer has no ACLs."""
        return ()
