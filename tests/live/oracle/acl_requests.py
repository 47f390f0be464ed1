"""Random requests about ACLs, SCRAM credentials and quotas, for the oracle of access.

They change nothing: a creation is of an existing entity, or is rejected; a deletion is of a missing
entity.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from hypothesis import strategies as st

from gateway.acl_model import Operation, PatternType, Permission
from gateway.acl_model import ResourceType as Type
from tests.live.oracle.acl_sets import filters
from tests.live.oracle.request_parts import NOBODY, Strategy, fields, flags

_SCRAM_SHA_256 = 1

_REFUSED: Final[tuple[dict[str, object], ...]] = (
    {"resource_type": Type.CLUSTER, "resource_name": "cluster"},
    {"resource_name": ""},
    {"principal": NOBODY},
)
"""Values that no ACL may have. Kafka fails at ANY and MATCH (UNKNOWN_SERVER_ERROR)."""


def _create_acls(version: int) -> Strategy:
    creation = {
        "resource_type": Type.TOPIC,
        "resource_name": "a",
        "resource_pattern_type": PatternType.LITERAL,
        "principal": f"User:{NOBODY}",
        "host": "*",
        "operation": Operation.READ,
        "permission_type": Permission.ALLOW,
    }
    rejected = st.sampled_from(_REFUSED).map(lambda wrong: {**creation, **wrong})
    return fields(creations=st.lists(rejected, min_size=1, max_size=3))


def _delete_acls(version: int) -> Strategy:
    asked = filters().map(
        lambda one: {
            "resource_type_filter": one.type,
            "resource_name_filter": one.name,
            "pattern_type_filter": one.pattern_type,
            "principal_filter": f"User:{NOBODY}",
            "host_filter": one.host,
            "operation": one.operation,
            "permission_type": one.permission,
        }
    )
    return fields(filters=st.lists(asked, min_size=1, max_size=3))


def _describe_acls(version: int) -> Strategy:
    return filters().map(
        lambda one: {
            "resource_type_filter": one.type,
            "resource_name_filter": one.name,
            "pattern_type_filter": one.pattern_type,
            "principal_filter": one.principal,
            "host_filter": one.host,
            "operation": one.operation,
            "permission_type": one.permission,
        }
    )


ACL_REQUESTS: Final[dict[str, Callable[[int], Strategy]]] = {
    "DescribeAcls": _describe_acls,
    "CreateAcls": _create_acls,
    "DeleteAcls": _delete_acls,
    "DescribeClientQuotas": lambda version: fields(components=[], strict=flags),
    "DescribeUserScramCredentials": lambda version: fields(
        users=st.sampled_from(([], [{"name": NOBODY}]))
    ),
    "AlterUserScramCredentials": lambda version: fields(
        deletions=[{"name": NOBODY, "mechanism": _SCRAM_SHA_256}], upsertions=[]
    ),
}
"""Strategies of requests, by API and version."""
