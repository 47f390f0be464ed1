"""Random ACL sets, and principals: few names that are prefixes of each other, so that ACLs meet.

No name has a ``:``, so no name is in a namespace: for these, Kafka and the gateway agree on
everything.
"""

from __future__ import annotations

from typing import Final

from hypothesis import strategies as st

from gateway.acl_model import (
    ANY_USER,
    CLUSTER_NAME,
    WILDCARD,
    AclBinding,
    AclEntry,
    AclFilter,
    Operation,
    PatternType,
    Permission,
    ResourcePattern,
)
from gateway.acl_model import ResourceType as Type

NAMES: Final = {
    Type.TOPIC: ("a", "ab", "abc", "b", "a.b", "team-a..x"),
    Type.GROUP: ("a", "ab", "b"),
    Type.TRANSACTIONAL_ID: ("a", "ab", "b"),
    Type.CLUSTER: (CLUSTER_NAME,),
}
"""The names in requests, by type."""

PREFIXES: Final = {
    Type.TOPIC: ("a", "ab", "a.", "team-a.", "h", "z"),
    Type.GROUP: ("a", "ab"),
    Type.TRANSACTIONAL_ID: ("a", "ab"),
    Type.CLUSTER: ("kafka",),
}

USERS: Final = ("alice", "bob", "carol")
PRINCIPALS: Final = tuple(f"User:{user}" for user in USERS)
HOSTS: Final = ("127.0.0.1", "127.0.0.2")

OPERATIONS: Final = tuple(op for op in Operation if op > Operation.ALL)
"""The operations that a request may need."""

# Operations of requests are listed several times, because most ACLs should decide a request.
_GRANTED = (
    *[Operation.ALL] * 4,
    *OPERATIONS,
    *(op for op in OPERATIONS if op <= Operation.DESCRIBE),
)
_PERMISSIONS = (*[Permission.ALLOW] * 4, Permission.DENY)
_SIZES = (2, 10, 20, 40)


@st.composite
def patterns(draw: st.DrawFn, cluster_by_name: bool = False) -> ResourcePattern:
    """A pattern, of names that are in use or nearly so.

    ``cluster_by_name``: a pattern of a CLUSTER matches exactly its name.
    """
    kind = draw(st.sampled_from((*NAMES, Type.TOPIC, Type.TOPIC)))
    if kind is Type.CLUSTER and cluster_by_name:
        return ResourcePattern(kind, PatternType.LITERAL, CLUSTER_NAME)
    if draw(st.booleans()):
        return ResourcePattern(kind, PatternType.PREFIXED, draw(st.sampled_from(PREFIXES[kind])))
    name = draw(st.sampled_from((*NAMES[kind], WILDCARD)))
    return ResourcePattern(kind, PatternType.LITERAL, name)


def entries(principals: tuple[str, ...] = (*PRINCIPALS, ANY_USER)) -> st.SearchStrategy[AclEntry]:
    """An entry for any of these principals."""
    return st.builds(
        AclEntry,
        st.sampled_from(principals),
        st.sampled_from((WILDCARD, WILDCARD, *HOSTS)),
        st.sampled_from(_GRANTED),
        st.sampled_from(_PERMISSIONS),
    )


def acl_sets(
    acls: st.SearchStrategy[AclBinding],
) -> st.SearchStrategy[tuple[AclBinding, ...]]:
    """Sets of different ACLs: from a few, which allow next to nothing, to many."""

    def of_size(most: int) -> st.SearchStrategy[list[AclBinding]]:
        return st.lists(acls, min_size=most // 2, max_size=most, unique=True)

    return st.sampled_from(_SIZES).flatmap(of_size).map(tuple)


def filters() -> st.SearchStrategy[AclFilter]:
    """Filters of DescribeAcls: each part matches anything, or a value in use."""
    names = sorted({WILDCARD, *(name for found in NAMES.values() for name in found)})
    return st.builds(
        AclFilter,
        st.sampled_from((Type.ANY, *NAMES)),
        st.none() | st.sampled_from(names),
        st.sampled_from([kind for kind in PatternType if kind is not PatternType.UNKNOWN]),
        st.none() | st.sampled_from((*PRINCIPALS, ANY_USER)),
        st.none() | st.sampled_from((WILDCARD, *HOSTS)),
        st.sampled_from([op for op in Operation if op is not Operation.UNKNOWN]),
        st.sampled_from([one for one in Permission if one is not Permission.UNKNOWN]),
    )
