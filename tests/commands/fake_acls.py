"""A gateway in this process that holds ACLs. The product's own rule, which has tests of its own,
decides which ACLs a filter matches."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gateway.acl_model import (
    AclBinding,
    AclEntry,
    AclFilter,
    Operation,
    PatternType,
    Permission,
    ResourcePattern,
    ResourceType,
)
from gateway.acls.authorizer import means_entry, means_pattern
from protocol.messages import element_class, make
from tests.changes.acl_requests import acl, text_of
from tests.commands.fake_gateway import FakeGateway


class FakeAcls(FakeGateway):
    """``acls`` are texts like ``ALLOW READ User:bob TOPIC:LITERAL:x``. The next request of an API
    is rejected with its code and message in ``refusing``."""

    def __init__(self, *acls: str) -> None:
        super().__init__()
        self.acls = set(map(acl, acls))
        self.rejecting: dict[str, tuple[int, str]] = {}

    @property
    def texts(self) -> set[str]:
        """The ACLs that exist."""
        return set(map(text_of, self.acls))

    def handlers(self) -> dict[str, Callable[[Any, type], dict[str, object]]]:
        """The handlers, as in FakeNamespaces."""
        return {
            **super().handlers(),
            "CreateAcls": self._create_acls,
            "DescribeAcls": self._describe_acls,
            "DeleteAcls": self._delete_acls,
        }

    def _create_acls(self, request: Any, response: type) -> dict[str, object]:
        result = element_class(response, "results")
        results = []
        for one in request.creations:
            error = self.rejecting.get(one.resource_name) or self.rejecting.get("CreateAcls")
            if error is None:
                pattern = ResourcePattern(
                    ResourceType(one.resource_type),
                    PatternType(one.resource_pattern_type),
                    one.resource_name,
                )
                self.acls.add(AclBinding(pattern, _entry(one)))
            results.append(make(result, _error(error)))
        return {"results": tuple(results)}

    def _describe_acls(self, request: Any, response: type) -> dict[str, object]:
        if error := self.rejecting.get("DescribeAcls"):
            return _error(error)
        resource = element_class(response, "resources")
        entry = element_class(resource, "acls")
        return {
            "resources": tuple(
                make(resource, {**_pattern(one), "acls": (make(entry, _fields(one)),)})
                for one in self._meant(request)
            )
        }

    def _delete_acls(self, request: Any, response: type) -> dict[str, object]:
        result = element_class(response, "filter_results")
        match = element_class(result, "matching_acls")
        results = []
        gone: set[AclBinding] = set()
        for one in request.filters:
            error = self.rejecting.get("DeleteAcls")
            found = [] if error else self._meant(one)
            gone.update(found)
            matches = tuple(make(match, {**_pattern(each), **_fields(each)}) for each in found)
            results.append(make(result, {**_error(error), "matching_acls": matches}))
        self.acls -= gone
        return {"filter_results": tuple(results)}

    def _meant(self, asked: Any) -> list[AclBinding]:
        wanted = AclFilter(
            ResourceType(asked.resource_type_filter),
            asked.resource_name_filter,
            PatternType(asked.pattern_type_filter),
            asked.principal_filter,
            asked.host_filter,
            Operation(asked.operation),
            Permission(asked.permission_type),
        )
        return [
            one
            for one in self.acls
            if means_pattern(wanted, one.pattern) and means_entry(wanted, one.entry)
        ]


def _entry(one: Any) -> AclEntry:
    return AclEntry(
        one.principal, one.host, Operation(one.operation), Permission(one.permission_type)
    )


def _pattern(one: AclBinding) -> dict[str, object]:
    return {
        "resource_type": int(one.pattern.type),
        "resource_name": one.pattern.name,
        "pattern_type": int(one.pattern.pattern_type),
    }


def _fields(one: AclBinding) -> dict[str, object]:
    return {
        "principal": one.entry.principal,
        "host": one.entry.host,
        "operation": int(one.entry.operation),
        "permission_type": int(one.entry.permission),
    }


def _error(error: tuple[int, str] | None) -> dict[str, object]:
    code, message = error or (0, None)
    return {"error_code": code, "error_message": message}
