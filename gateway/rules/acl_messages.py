"""CreateAcls, DescribeAcls and DeleteAcls (KIP-140, KIP-290): messages to the model and back.

What is malformed is refused as a Kafka with KRaft refuses it (AclApis, AclControlManager), item by
item. Names are read and shown as the view has them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from enum import IntEnum
from itertools import groupby
from typing import Any, Final, TypeVar

from gateway.acl_model import (
    CLUSTER_NAME,
    AclBinding,
    AclEntry,
    Operation,
    PatternType,
    Permission,
    ResourcePattern,
    ResourceType,
)
from gateway.acls.authorizer import AclFilter
from gateway.decision import Denied
from gateway.error_codes import INVALID_REQUEST
from gateway.names import DELIMITER
from gateway.rules.acl_filters import Meant, meant
from gateway.rules.acl_names import pattern_named
from gateway.views.view import View
from protocol import messages
from protocol.messages import element_class, make

MAX_TEXT: Final = 32_767
"""Bytes of a principal or host: what the versions before KIP-482 have room for."""

_Code = TypeVar("_Code", bound=IntEnum)


# -- CreateAcls ------------------------------------------------------------------------------------


def binding_of(view: View, creation: Any) -> AclBinding | Denied:
    """The ACL that one creation asks for, in the catalog's terms."""
    kind = _code(ResourceType, creation.resource_type)
    pattern_type = _code(PatternType, creation.resource_pattern_type)
    entry = AclEntry(
        creation.principal,
        creation.host,
        _code(Operation, creation.operation),
        _code(Permission, creation.permission_type),
    )
    wrong = _wrong(kind, pattern_type, creation.resource_name, entry)
    if wrong:
        return Denied(INVALID_REQUEST, wrong, "request")
    pattern = pattern_named(view, kind, pattern_type, creation.resource_name)
    return pattern if isinstance(pattern, Denied) else AclBinding(pattern, entry)


def _wrong(kind: ResourceType, pattern_type: PatternType, name: str, entry: AclEntry) -> str:
    """Why there can be no such ACL, a sentence; empty if there can."""
    if kind is ResourceType.CLUSTER and name != CLUSTER_NAME:
        return f"A CLUSTER resource has the name '{CLUSTER_NAME}' and no other, such as '{name}'."
    if not name:
        return "The resource name is empty; '*' stands for every resource of the type."
    if kind <= ResourceType.ANY:
        return f"{kind.name} is no type of a resource that can have an ACL."
    if pattern_type not in (PatternType.LITERAL, PatternType.PREFIXED):
        return f"{pattern_type.name} is no pattern type of an ACL; LITERAL and PREFIXED are."
    if entry.operation <= Operation.ANY:
        return f"{entry.operation.name} is no operation that an ACL can be about."
    if entry.permission <= Permission.ANY:
        return f"{entry.permission.name} is no permission of an ACL; ALLOW and DENY are."
    if DELIMITER not in entry.principal:
        return f"'{entry.principal}' is no principal; it is written like User:alice."
    if not entry.host:
        return "The host is empty; '*' stands for every host."
    if max(len(entry.principal.encode()), len(entry.host.encode())) > MAX_TEXT:
        return f"A principal or host is longer than {MAX_TEXT:,} bytes."
    return ""


def creation_response(version: int, answers: Sequence[Denied | None]) -> bytes:
    """CreateAclsResponse: an answer for each creation, in order."""
    cls = messages.message_class("CreateAclsResponse", version)
    result = element_class(cls, "results")
    return messages.write(make(cls, {"results": tuple(make(result, _error(a)) for a in answers)}))


# -- DescribeAcls ----------------------------------------------------------------------------------


def filter_of(view: View, asked: Any) -> Meant | Denied:
    """What a DescribeAcls request, or one filter of DeleteAcls, means."""
    kind = _code(ResourceType, asked.resource_type_filter)
    pattern_type = _code(PatternType, asked.pattern_type_filter)
    operation = _code(Operation, asked.operation)
    permission = _code(Permission, asked.permission_type)
    for code in (kind, pattern_type, operation, permission):
        if not code:
            what = type(code).__name__
            message = f"The filter's {what} is none that this Kafka knows; ANY means all of them."
            return Denied(INVALID_REQUEST, message, "request")
    name, host, principal = asked.resource_name_filter, asked.host_filter, asked.principal_filter
    return meant(view, AclFilter(kind, name, pattern_type, principal, host, operation, permission))


def description_response(version: int, shown: Iterable[AclBinding]) -> bytes:
    """DescribeAclsResponse of ACLs whose patterns are as they are shown, sorted."""
    cls = messages.message_class("DescribeAclsResponse", version)
    resource = element_class(cls, "resources")
    acl = element_class(resource, "acls")
    ordered = sorted(shown, key=lambda one: (*_sort_key(one.pattern), one.entry))
    resources = [
        make(
            resource,
            {
                **_pattern_fields(pattern),
                "acls": tuple(make(acl, _entry_fields(one.entry)) for one in bindings),
            },
        )
        for pattern, bindings in groupby(ordered, key=lambda one: one.pattern)
    ]
    return messages.write(make(cls, {"resources": tuple(resources)}))


def description_error(version: int, why: Denied) -> bytes:
    """DescribeAclsResponse with an error."""
    cls = messages.message_class("DescribeAclsResponse", version)
    return messages.write(make(cls, _error(why)))


# -- DeleteAcls ------------------------------------------------------------------------------------


def deletion_response(version: int, results: Sequence[Sequence[AclBinding] | Denied]) -> bytes:
    """DeleteAclsResponse: what each filter has deleted, as it is shown, or why nothing."""
    cls = messages.message_class("DeleteAclsResponse", version)
    result = element_class(cls, "filter_results")
    matching = element_class(result, "matching_acls")

    def values(found: Sequence[AclBinding] | Denied) -> Mapping[str, object]:
        if isinstance(found, Denied):
            return _error(found)
        ordered = sorted(found, key=lambda one: (*_sort_key(one.pattern), one.entry))
        return {
            "matching_acls": tuple(
                make(matching, {**_pattern_fields(one.pattern), **_entry_fields(one.entry)})
                for one in ordered
            )
        }

    filter_results = tuple(make(result, values(found)) for found in results)
    return messages.write(make(cls, {"filter_results": filter_results}))


# -- parts -----------------------------------------------------------------------------------------


def _code(kind: type[_Code], value: int) -> _Code:
    """A code of the wire; UNKNOWN (0) for one that nobody knows, as in Kafka."""
    try:
        return kind(value)
    except ValueError:
        return kind(0)


def _error(why: Denied | None) -> dict[str, object]:
    if why is None:
        return {"error_code": 0, "error_message": None}
    return {"error_code": why.code, "error_message": why.message}


def _pattern_fields(pattern: ResourcePattern) -> dict[str, object]:
    return {
        "resource_type": int(pattern.type),
        "resource_name": pattern.name,
        "pattern_type": int(pattern.pattern_type),
    }


def _entry_fields(entry: AclEntry) -> dict[str, object]:
    return {
        "principal": entry.principal,
        "host": entry.host,
        "operation": int(entry.operation),
        "permission_type": int(entry.permission),
    }


def _sort_key(pattern: ResourcePattern) -> tuple[int, str, int]:
    return pattern.type, pattern.name, pattern.pattern_type
