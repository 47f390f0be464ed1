"""CreateAcls, DescribeAcls and DeleteAcls (KIP-140, KIP-290): messages to the model and back.

Malformed items are rejected separately, as by a KRaft broker (AclApis, AclControlManager). Names
are in the view's spelling.
"""

from __future__ import annotations

from collections.abc import Sequence
from heapq import merge
from itertools import groupby
from typing import Any, Final

from gateway.acl_model import (
    AclBinding,
    AclEntry,
    AclFilter,
    Operation,
    PatternType,
    Permission,
    ResourcePattern,
    ResourceType,
    code_of,
    wrong_acl,
)
from gateway.decision import Denied
from gateway.error_codes import INVALID_REQUEST
from gateway.rules.acl_names import ResolvedFilter, pattern_named, resolve_filter
from gateway.views.view import View
from protocol.messages import element_class, made, make, message_class
from protocol.pausing import paced

# -- CreateAcls ------------------------------------------------------------------------------------

_SORTED_AT_ONCE: Final = 1_000
"""ACLs that are sorted in one go, which takes 2 ms."""


def binding_of(view: View, creation: Any) -> AclBinding | Denied:
    """The ACL that a creation requests, in the catalog's terms."""
    kind = code_of(ResourceType, creation.resource_type)
    pattern_type = code_of(PatternType, creation.resource_pattern_type)
    entry = AclEntry(
        creation.principal,
        creation.host,
        code_of(Operation, creation.operation),
        code_of(Permission, creation.permission_type),
    )
    wrong = wrong_acl(kind, pattern_type, creation.resource_name, entry)
    if wrong:
        return Denied(INVALID_REQUEST, wrong, "request")
    pattern = pattern_named(view, kind, pattern_type, creation.resource_name)
    return pattern if isinstance(pattern, Denied) else AclBinding(pattern, entry)


def creation_response(version: int, answers: Sequence[Denied | None]) -> bytes:
    """CreateAclsResponse: an answer for each creation, in order."""
    return made("CreateAclsResponse", version, {"results": [_error(why) for why in answers]})


def creation_error(version: int, why: Denied) -> Any:
    """The result of a rejected creation."""
    cls = element_class(message_class("CreateAclsResponse", version), "results")
    return make(cls, _error(why))


# -- DescribeAcls ----------------------------------------------------------------------------------


def filter_of(view: View, request: Any) -> ResolvedFilter | Denied:
    """The filter of a DescribeAcls request, or an entry of DeleteAcls, in the catalog's terms."""
    kind = code_of(ResourceType, request.resource_type_filter)
    pattern_type = code_of(PatternType, request.pattern_type_filter)
    operation = code_of(Operation, request.operation)
    permission = code_of(Permission, request.permission_type)
    for code in (kind, pattern_type, operation, permission):
        if not code:
            what = type(code).__name__
            message = f"The filter's {what} is none that this Kafka knows; ANY means all of them."
            return Denied(INVALID_REQUEST, message, "request")
    name, host, principal = (
        request.resource_name_filter,
        request.host_filter,
        request.principal_filter,
    )
    wanted = AclFilter(kind, name, pattern_type, principal, host, operation, permission)
    return resolve_filter(view, wanted)


def matches_nothing(request: Any) -> bool:
    """Whether the filter of a DescribeAcls request has a code that Kafka lacks: a broker then lists
    no ACL. UNKNOWN (0) is not such a code, because a broker rejects a filter with it."""
    codes = (
        (ResourceType, request.resource_type_filter),
        (PatternType, request.pattern_type_filter),
        (Operation, request.operation),
        (Permission, request.permission_type),
    )
    is_lacking = any(value not in set(kind) for kind, value in codes)
    return is_lacking and all(value for _, value in codes)


def description_response(version: int, shown: Sequence[AclBinding]) -> bytes:
    """DescribeAclsResponse of ACLs with the client's patterns, sorted."""
    starts = range(0, len(shown), _SORTED_AT_ONCE)
    parts = [sorted(shown[at : at + _SORTED_AT_ONCE], key=_order) for at in paced(starts, 1)]
    ordered = paced(merge(*parts, key=_order))
    resources = [
        {**_pattern_fields(pattern), "acls": [_entry_fields(one.entry) for one in bindings]}
        for pattern, bindings in groupby(ordered, key=lambda one: one.pattern)
    ]
    return made("DescribeAclsResponse", version, {"resources": resources})


def description_error(version: int, why: Denied) -> bytes:
    """DescribeAclsResponse with an error."""
    return made("DescribeAclsResponse", version, _error(why))


# -- DeleteAcls ------------------------------------------------------------------------------------


def deletion_response(version: int, results: Sequence[Sequence[AclBinding] | Denied]) -> bytes:
    """DeleteAclsResponse: for each filter the deleted ACLs, with the client's patterns, or the
    denial."""
    filter_results = [
        _error(found)
        if isinstance(found, Denied)
        else {
            "matching_acls": [
                {**_pattern_fields(one.pattern), **_entry_fields(one.entry)}
                for one in sorted(found, key=_order)
            ]
        }
        for found in results
    ]
    return made("DeleteAclsResponse", version, {"filter_results": filter_results})


# -- parts -----------------------------------------------------------------------------------------


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


def _order(one: AclBinding) -> tuple[int, str, int, AclEntry]:
    pattern = one.pattern
    return pattern.type, pattern.name, pattern.pattern_type, one.entry
