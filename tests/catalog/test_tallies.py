"""Tallies that are kept from state to state are the same as counted anew."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from gateway.acl_model import AclEntry, Operation, Permission, namespace_of, pattern_of
from gateway.catalog.entities import (
    Alias,
    Change,
    Link,
    Namespace,
    Removal,
    ResourceAcls,
    TopicEntry,
    key_of,
)
from gateway.catalog.snapshot import Snapshot
from gateway.catalog.tallies import Grown
from gateway.names import LogicalName, parents

PATHS = ["org", "org:a", "org:a:b", "free"]
TIERS = [None, "", *PATHS]
WHAT = ["namespaces", "ACLs", "links", "aliases"]
ENTRIES = [AclEntry(f"User:{n}", "*", Operation.READ, Permission.ALLOW) for n in range(4)]
PATTERNS = ["TOPIC:LITERAL:org:", "TOPIC:PREFIXED:org:a:", "GROUP:LITERAL:org:a:g"]
PATTERNS += ["TOPIC:LITERAL:x", "TOPIC:LITERAL:*", "CLUSTER:LITERAL:kafka-cluster"]

names = st.builds(LogicalName, st.sampled_from(["", *PATHS]), st.sampled_from("xy"))
aliases = st.builds(Alias, names, st.just(9))
made = st.one_of(
    st.builds(Namespace, st.sampled_from(PATHS)),
    st.builds(
        ResourceAcls,
        st.sampled_from(PATTERNS).map(pattern_of),
        st.frozensets(st.sampled_from(ENTRIES), min_size=1),
    ),
    st.builds(Link, names, st.sampled_from("pq"), st.just(b"i" * 16)),
    st.builds(
        TopicEntry,
        st.sampled_from("pq"),
        names,
        aliases=st.lists(aliases, max_size=3).map(tuple),
    ),
)
changes = made | made.map(lambda one: Removal(key_of(one)))


def counted(snapshot: Snapshot) -> Counter[tuple[str, str | None]]:
    """The tallies, from every entity of the snapshot."""
    found: list[tuple[str, str, int]] = [
        ("namespaces", path.rpartition(":")[0], 1) for path in snapshot.namespaces
    ]
    found += [
        ("ACLs", namespace_of(one.pattern) or "", len(one.entries))
        for one in snapshot.acls.values()
    ]
    found += [("links", name.namespace, 1) for name in snapshot.links]
    found += [
        ("aliases", alias.name.namespace, 1)
        for entry in snapshot.topics.values()
        for alias in entry.aliases
    ]
    result: Counter[tuple[str, str | None]] = Counter()
    for what, namespace, count in found:
        for tier in (None, *(parents(namespace) or [""])):
            result[what, tier] += count
    result["namespaces", ""] = 0  # an outermost namespace is not in the default namespace
    return result


@given(st.lists(st.lists(changes, max_size=6), max_size=6))
def test_kept_on_is_counted_anew(decisions: list[list[Change]]) -> None:
    snapshot = Snapshot()
    for decision in decisions:
        grown, before = Grown(snapshot.entity, decision), snapshot
        snapshot = snapshot.apply(decision, snapshot.version + 1)
        expected = counted(snapshot)
        for what in WHAT:
            for tier in TIERS:
                now = snapshot.tally(what, tier)
                assert now == expected[what, tier], (what, tier)
                assert grown.tally(what, tier) == now - before.tally(what, tier), (what, tier)


def test_a_namespace_is_below_another() -> None:
    snapshot = Snapshot.of(["org:a:b", "free"])
    tallies = [snapshot.tally("namespaces", tier) for tier in (None, "", "org", "org:a", "free")]
    assert tallies == [4, 0, 2, 1, 0]


def test_where_things_come_to() -> None:
    link = Link(LogicalName("org:a", "x"), "p", b"i" * 16)
    grown = Grown(Snapshot().entity, [Namespace("org"), link, Removal(("link", "free:y"))])
    assert list(grown.namespaces) == ["", "org:a"]
