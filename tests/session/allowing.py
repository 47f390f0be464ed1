"""An authorizer for tests: it allows the listed operations and denies all others."""

from __future__ import annotations

from collections.abc import Iterable

from gateway.acl_model import AclBinding, AclFilter, Operation, Resource, ResourceType
from gateway.acls.authorizer import Authorizer, Verdict


class Allowing(Authorizer):
    """``allowed`` are texts like ``READ TOPIC team-a:orders``: operation, type, logical name.

    DELETE includes DESCRIBE, as in Kafka; other operations do not, so that a test can tell them
    apart. ``not DESCRIBE TOPIC x`` denies what is included.
    """

    def __init__(self, allowed: Iterable[str]) -> None:
        self._allowed: set[tuple[str, ...]] = set()
        denied = set()
        for text in allowed:
            listed = tuple(text.removeprefix("not ").split(" ", 2))
            if text.startswith("not "):
                denied.add(listed)
                continue
            self._allowed.add(listed)
            if listed[0] == "DELETE" and len(listed) == len(("DELETE", "TOPIC", "name")):
                self._allowed.add(("DESCRIBE", *listed[1:]))
        self._allowed -= denied

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
