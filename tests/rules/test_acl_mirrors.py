"""Names of ACL patterns at a listener with mirrors."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gateway.acl_model import PatternType, ResourcePattern, ResourceType
from gateway.catalog.snapshot import Snapshot
from gateway.decision import Denied
from gateway.rules.acl_names import pattern_named, shown_pattern
from gateway.views.mirrors import Mirrors
from gateway.views.view import View, ViewSettings
from tests.examples import examples
from tests.views import trees

TOPIC = ResourceType.TOPIC
LITERAL, PREFIXED = PatternType.LITERAL, PatternType.PREFIXED
SNAPSHOT = Snapshot.of(["dr:a:team-a", "dr:b", "A.x"])
ALIASES = [("A", "dr:a"), ("dr", "dr:b")]
TREE = trees.mounts("", "A.x")


def view(how: str = "colon", home: str = "", *, escape: bool = False, tree: bool = False) -> View:
    mirrors = Mirrors.of_aliases(ALIASES, ".")
    made = ViewSettings("test", how, home, escape, mirrors=mirrors)  # type: ignore[arg-type]
    return View(replace(made, mounts=TREE if tree else None), SNAPSHOT)


def named(seen: View, how: PatternType, name: str) -> str:
    found = pattern_named(seen, TOPIC, how, name)
    assert isinstance(found, ResourcePattern), found
    return f"{found.pattern_type.name} {found.name}"


@pytest.mark.parametrize(
    ("how", "name", "meant"),
    [
        (LITERAL, "A.orders", "LITERAL dr:a:orders"),
        (LITERAL, "A.team-a:orders", "LITERAL dr:a:team-a:orders"),
        (LITERAL, "A.team-a..orders", "LITERAL dr:a:team-a:orders"),
        (LITERAL, "A.team-a:", "LITERAL dr:a:team-a:"),
        (LITERAL, "A.team-a..", "LITERAL dr:a:team-a:"),
        (LITERAL, "A.checkpoints.internal", "LITERAL A.checkpoints.internal"),
        (PREFIXED, "A.te", "PREFIXED dr:a:te"),
        (PREFIXED, "A.", "PREFIXED dr:a:"),
        (PREFIXED, "A.team-a..or", "PREFIXED dr:a:team-a:or"),
        (PREFIXED, "A", "PREFIXED A"),
        (PREFIXED, ":A.", "PREFIXED A."),
        (LITERAL, "*", "LITERAL *"),
    ],
)
def test_what_patterns_name(how: PatternType, name: str, meant: str) -> None:
    assert named(view(), how, name) == meant


@pytest.mark.parametrize("name", ["A.", "A.:x", "A...x", "A.*", "A.a_b:x"])
def test_what_names_nothing(name: str) -> None:
    assert isinstance(pattern_named(view(), TOPIC, LITERAL, name), Denied)


def test_groups_are_not_mapped() -> None:
    found = pattern_named(view(), ResourceType.GROUP, LITERAL, "A.app")
    assert found == ResourcePattern(ResourceType.GROUP, LITERAL, "A.app")
    assert shown_pattern(view(), found) == found


@pytest.mark.parametrize(
    ("seen", "how", "text", "shown"),
    [
        (view(), PREFIXED, "dr:a:", "A."),
        (view(), LITERAL, "dr:a:", "dr:a:"),
        (view(), LITERAL, "dr:a:team-a:", "A.team-a:"),
        (view("legal"), LITERAL, "dr:a:team-a:x", "A.team-a..x"),
        (view("slash"), LITERAL, "dr:a:team-a:x", "A.team-a/x"),
        (view(), LITERAL, "A.x:y", ":A.x:y"),
        (view(), PREFIXED, "A.", ":A."),
        (view("legal"), LITERAL, "dr:a:x.checkpoints.internal", "dr.a..x.checkpoints.internal"),
        (view(home="dr"), PREFIXED, "dr:a:te", "A.te"),
        (view(home="dr"), PREFIXED, "dr:A.te", None),
        (view(home="dr", escape=True), PREFIXED, "dr:A.te", ":dr:A.te"),
    ],
)
def test_how_patterns_are_shown(seen: View, how: PatternType, text: str, shown: str | None) -> None:
    found = shown_pattern(seen, ResourcePattern(TOPIC, how, text))
    assert (None if found is None else found.name) == shown


WORDS = st.sampled_from(["A", ".", "A.", "dr", "a", ":", "team-a", "..", "x", "-", "internal"])
TEXTS = st.lists(WORDS, min_size=1, max_size=7).map("".join)


@settings(max_examples=examples(1_000))
@given(
    st.sampled_from(["colon", "legal", "slash"]),
    st.sampled_from(["", "dr"]),
    st.booleans(),
    st.booleans(),
    st.sampled_from([LITERAL, PREFIXED]),
    TEXTS,
)
def test_what_is_named_is_shown_and_reads_back(
    spelling: str, home: str, escape: bool, tree: bool, how: PatternType, name: str
) -> None:
    seen = view(spelling, home, escape=escape, tree=tree)
    found = pattern_named(seen, TOPIC, how, name)
    if isinstance(found, Denied):
        return
    shown = shown_pattern(seen, found)
    assert shown is not None
    assert pattern_named(seen, TOPIC, shown.pattern_type, shown.name) == found
