"""Third-party authorizers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from gateway.acl_model import (
    ANY_USER,
    WILDCARD,
    AclBinding,
    AclFilter,
    Operation,
    Permission,
    Resource,
    covers,
)
from gateway.acls.authorizer import Authorizer, Verdict, means_entry, means_pattern


class ListAuthorizer(Authorizer):
    """The simplest authorizer: ACLs in a list, and no operation that implies another."""

    def __init__(self) -> None:
        self.bindings: list[AclBinding] = []
        self.configs: Mapping[str, object] = {}
        self.changed: Callable[[], None] = lambda: None

    def configure(self, configs: Mapping[str, object], changed: Callable[[], None]) -> None:
        self.configs = configs
        self.changed = changed

    def authorize(
        self, principal: str, host: str, operation: Operation, resource: Resource
    ) -> Verdict:
        found = [
            one.entry.permission
            for one in self.bindings
            if one.entry.principal in (principal, ANY_USER)
            and one.entry.host in (host, WILDCARD)
            and one.entry.operation in (operation, Operation.ALL)
            and covers(one.pattern, resource.type, resource.text)
        ]
        allowed = Permission.ALLOW in found and Permission.DENY not in found
        return Verdict(allowed, "the list")

    def acls(self, matching: AclFilter) -> Iterable[AclBinding]:
        return [
            one
            for one in self.bindings
            if means_pattern(matching, one.pattern) and means_entry(matching, one.entry)
        ]


class PickyAuthorizer(ListAuthorizer):
    """Accepts only settings that it knows."""

    def configure(self, configs: Mapping[str, object], changed: Callable[[], None]) -> None:
        if "policy.url" not in configs:
            raise ValueError("policy.url is missing; add it to configs")


class NeedsArguments(ListAuthorizer):
    """Cannot be made in the way of authorizers."""

    def __init__(self, url: str) -> None:
        super().__init__()
        self.url = url


class NoAuthorizer:
    """Is not an authorizer."""
