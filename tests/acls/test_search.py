"""gateway.acls.index: the index finds the same as a search through every ACL."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from gateway.acl_model import AclFilter, Operation, PatternType, Permission, ResourceType
from gateway.acls.authorizer import means_entry, means_pattern
from gateway.acls.index import AclIndex, matching_acls
from gateway.catalog.snapshot import Snapshot
from tests.acls.reference import bindings_of
from tests.acls.samples import HOST, KINDS, NAMES, PRINCIPALS, acls, snapshots

filters = st.builds(
    AclFilter,
    st.sampled_from([ResourceType.ANY, *KINDS]),
    st.none() | st.sampled_from([*NAMES, "*", "unknown"]),
    st.sampled_from(
        [PatternType.ANY, PatternType.MATCH, PatternType.LITERAL, PatternType.PREFIXED]
    ),
    st.none() | st.sampled_from([*PRINCIPALS, "User:*", "User:unknown"]),
    st.none() | st.sampled_from(["*", HOST]),
    st.sampled_from([Operation.ANY, Operation.READ, Operation.ALL]),
    st.sampled_from([Permission.ANY, Permission.ALLOW, Permission.DENY]),
)


@given(snapshots, filters)
def test_what_a_filter_means(snapshot: Snapshot, matching: AclFilter) -> None:
    index = AclIndex()
    index.see(snapshot.acls)
    found = list(matching_acls(index, matching))
    expected = {
        str(one)
        for one in bindings_of(snapshot)
        if means_pattern(matching, one.pattern) and means_entry(matching, one.entry)
    }
    assert sorted(map(str, found)) == sorted(expected)


def test_a_match_finds_all_that_covers_the_name() -> None:
    index = AclIndex()
    names = ["LITERAL:*", "LITERAL:org:x", "LITERAL:org:", "PREFIXED:org:", "PREFIXED:org:x"]
    lines = [f"TOPIC:{name} ALLOW READ a" for name in (*names, "PREFIXED:o", "PREFIXED:*")]
    index.see(Snapshot().apply(acls(lines), 1).acls)
    matching = AclFilter(ResourceType.TOPIC, "org:x", PatternType.MATCH)
    found = [str(one.pattern) for one in matching_acls(index, matching)]
    assert sorted(found) == [
        "TOPIC:LITERAL:*",
        "TOPIC:LITERAL:org:x",
        "TOPIC:PREFIXED:org:",
        "TOPIC:PREFIXED:org:x",
    ]


def test_a_search_goes_on_by_what_it_began_with() -> None:
    index = AclIndex()
    names = ["x", "xy", "xyz"]
    snapshot = Snapshot().apply(acls(f"TOPIC:PREFIXED:{name} ALLOW READ a" for name in names), 1)
    index.see(snapshot.acls)
    for matching in (AclFilter(), AclFilter(principal="User:a")):
        found = matching_acls(index, matching)
        next(found)
        index.see({})
        assert len(list(found)) == 2
        index.see(snapshot.acls)
