"""Filters in a view: names, patterns of both types, and all patterns that cover a name."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.acl_model import (
    AclBinding,
    AclFilter,
    Operation,
    PatternType,
    Permission,
    ResourceType,
)
from gateway.catalog.snapshot import Snapshot
from gateway.rules.acl_names import ResolvedFilter, resolve_filter
from gateway.views.view import View, ViewSettings
from tests.changes.acl_requests import entities, text_of

TOPIC, GROUP, CLUSTER = ResourceType.TOPIC, ResourceType.GROUP, ResourceType.CLUSTER
LITERAL, PREFIXED = PatternType.LITERAL, PatternType.PREFIXED
ANY, MATCH = PatternType.ANY, PatternType.MATCH

PATTERNS = (
    "TOPIC:LITERAL:*",
    "TOPIC:LITERAL:or",
    "TOPIC:LITERAL:org:",
    "TOPIC:LITERAL:org:apache:",
    "TOPIC:LITERAL:org:or",
    "TOPIC:PREFIXED:o",
    "TOPIC:PREFIXED:org:",
    "TOPIC:PREFIXED:org:o",
    "TOPIC:PREFIXED:team-a:",
    "TOPIC:LITERAL:team-a:or",
    "TOPIC:PREFIXED:team-a:o",
    "GROUP:LITERAL:or",
    "GROUP:LITERAL:team-a:or",
    "GROUP:PREFIXED:team-a:",
    "GROUP:LITERAL:org..or",
    "GROUP:LITERAL:org:or",
    "CLUSTER:LITERAL:kafka-cluster",
    "USER:LITERAL:or",
)
SNAPSHOT = Snapshot.of(["org:apache", "team-a"]).apply(
    entities(f"ALLOW READ User:bob {pattern}" for pattern in PATTERNS), 2
)
ROOT = View(ViewSettings("test"), SNAPSHOT)
HOME = View(ViewSettings("test", home="team-a"), SNAPSHOT)


def found_by(wanted: ResolvedFilter) -> set[str]:
    """The patterns that a filter resolves to, as they are shown."""
    return {str(one.shown) for one in wanted.in_catalog(SNAPSHOT)}


def meaning(view: View, name: str | None, how: PatternType, kind: ResourceType = TOPIC) -> set[str]:
    return found_by(resolve_filter(view, AclFilter(kind, name, how)))


@pytest.mark.parametrize(
    ("name", "how", "expected"),
    [
        ("org:or", LITERAL, {"LITERAL:org:or"}),
        ("org..or", LITERAL, {"LITERAL:org:or"}),
        ("org..", LITERAL, {"LITERAL:org:"}),
        ("org:", ANY, {"LITERAL:org:", "PREFIXED:org:"}),
        ("org:", PREFIXED, {"PREFIXED:org:"}),
        ("or", LITERAL, {"LITERAL:or"}),
        ("*", LITERAL, {"LITERAL:*"}),
        ("*", MATCH, {"LITERAL:*"}),
        ("or", MATCH, {"LITERAL:*", "LITERAL:or", "PREFIXED:o"}),
        ("org:or", MATCH, {"LITERAL:*", "LITERAL:org:or", "PREFIXED:org:", "PREFIXED:org:o"}),
        ("org:apache:", MATCH, {"LITERAL:*", "LITERAL:org:apache:", "PREFIXED:org:"}),
        ("other", LITERAL, set()),
        ("a b:x", LITERAL, set()),
        ("", LITERAL, set()),
    ],
)
def test_names_from_the_root(name: str, how: PatternType, expected: set[str]) -> None:
    assert meaning(ROOT, name, how) == {f"TOPIC:{one}" for one in expected}


def test_without_a_name() -> None:
    assert meaning(ROOT, None, ANY, ResourceType.ANY) == set(PATTERNS)
    literals = {one for one in PATTERNS if ":LITERAL:" in one}
    assert meaning(ROOT, None, LITERAL, ResourceType.ANY) == literals
    assert meaning(ROOT, None, PREFIXED, GROUP) == {"GROUP:PREFIXED:team-a:"}
    assert meaning(ROOT, None, MATCH, CLUSTER) == {"CLUSTER:LITERAL:kafka-cluster"}


def test_a_name_of_any_type() -> None:
    expected = {"TOPIC:LITERAL:or", "GROUP:LITERAL:or", "USER:LITERAL:or"}
    assert meaning(ROOT, "or", LITERAL, ResourceType.ANY) == expected


def test_an_id_that_was_written_before_its_namespace() -> None:
    assert meaning(ROOT, "org..or", LITERAL, GROUP) == {
        "GROUP:LITERAL:org..or",
        "GROUP:LITERAL:org:or",
    }


@pytest.mark.parametrize(
    ("name", "how", "expected"),
    [
        (None, ANY, {"LITERAL:*", "LITERAL:or", "PREFIXED:o"}),
        (None, LITERAL, {"LITERAL:*", "LITERAL:or"}),
        (None, PREFIXED, {"PREFIXED:o"}),
        ("*", LITERAL, {"LITERAL:*"}),
        ("*", ANY, {"LITERAL:*"}),
        ("*", MATCH, {"LITERAL:*"}),
        ("*", PREFIXED, set()),
        ("or", LITERAL, {"LITERAL:or"}),
        ("or", MATCH, {"LITERAL:*", "LITERAL:or", "PREFIXED:o"}),
        (":org:or", LITERAL, set()),
        ("team-a:or", LITERAL, set()),
    ],
)
def test_under_a_home(name: str | None, how: PatternType, expected: set[str]) -> None:
    assert meaning(HOME, name, how) == {f"TOPIC:{one}" for one in expected}


def test_of_the_cluster_nothing_is_meant_under_a_home() -> None:
    assert meaning(HOME, None, ANY, CLUSTER) == set()
    assert meaning(HOME, "kafka-cluster", LITERAL, CLUSTER) == set()
    everything = meaning(HOME, None, ANY, ResourceType.ANY)
    assert {one.split(":")[0] for one in everything} == {"TOPIC", "GROUP"}


def test_entries() -> None:
    acls = entities(
        [
            "ALLOW READ User:bob TOPIC:LITERAL:x",
            "DENY READ User:bob TOPIC:LITERAL:x",
            "ALLOW WRITE User:bob@10.0.0.1 TOPIC:LITERAL:x",
            "ALLOW READ User:eve TOPIC:LITERAL:x",
        ]
    )
    snapshot = Snapshot().apply(acls, 1)
    view = View(ViewSettings("test"), snapshot)

    def entries(**values: object) -> set[str]:
        wanted = resolve_filter(view, AclFilter(TOPIC, "x", LITERAL, **values))  # type: ignore[arg-type]
        return {
            text_of(AclBinding(one.pattern, entry)).partition(" TOPIC")[0]
            for one in wanted.in_catalog(snapshot)
            for entry in one.entries
        }

    assert len(entries()) == 4
    assert entries(principal="User:eve") == {"ALLOW READ User:eve"}
    assert entries(host="10.0.0.1") == {"ALLOW WRITE User:bob@10.0.0.1"}
    assert entries(permission=Permission.DENY) == {"DENY READ User:bob"}
    assert entries(operation=Operation.WRITE) == {"ALLOW WRITE User:bob@10.0.0.1"}
    assert entries(principal="User:bo") == set()


def test_what_looks_through_all_of_them() -> None:
    named = resolve_filter(ROOT, AclFilter(TOPIC, "or", ANY))
    assert (named.names, named.scans) == (True, False)
    assert [str(one) for one in named.patterns()] == ["TOPIC:LITERAL:or", "TOPIC:PREFIXED:or"]
    for one in (AclFilter(), AclFilter(TOPIC, None, LITERAL), AclFilter(TOPIC, "or", MATCH)):
        wanted = resolve_filter(ROOT, one)
        assert (wanted.names, wanted.scans) == (False, True)
        assert wanted.patterns() == []
    wildcard = resolve_filter(HOME, AclFilter(TOPIC, "*", LITERAL))
    assert [str(one) for one in wildcard.patterns()] == ["TOPIC:PREFIXED:team-a:"]
    assert not wildcard.scans


@given(
    st.sampled_from([None, "or", "org:or", "org..or", "org:", "*", "team-a:", ":or", "sub:x"]),
    st.sampled_from([LITERAL, PREFIXED, ANY, MATCH]),
    st.sampled_from([TOPIC, GROUP, CLUSTER, ResourceType.ANY]),
)
def test_a_home_shows_a_part_of_what_the_root_has(
    name: str | None, how: PatternType, kind: ResourceType
) -> None:
    wanted = resolve_filter(HOME, AclFilter(kind, name, how))
    found = list(wanted.in_catalog(SNAPSHOT))
    for one in found:
        assert one.entries == SNAPSHOT.acls[one.pattern].entries
        assert one.pattern.name.startswith("team-a:")
        assert one.shown == wanted.shown(one.pattern)
    # Each pattern comes once, even if several filters match it.
    patterns = [one.pattern for one in found]
    assert len(patterns) == len(set(patterns))
