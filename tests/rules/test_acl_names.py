"""Names of ACL patterns: read in every view, and shown so that they are read back the same."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.acl_model import PatternType, ResourcePattern, ResourceType
from gateway.catalog.snapshot import Snapshot
from gateway.decision import Denied
from gateway.rules.acl_names import home_wildcard, pattern_named, shown_pattern
from gateway.views.view import View, ViewSettings

TOPIC, GROUP = ResourceType.TOPIC, ResourceType.GROUP
ID, CLUSTER = ResourceType.TRANSACTIONAL_ID, ResourceType.CLUSTER
LITERAL, PREFIXED = PatternType.LITERAL, PatternType.PREFIXED

SNAPSHOT = Snapshot.of(["org:apache", "team-a:sub", "v1.2"])


def view(
    home: str = "", *, escape: bool = False, legal: bool = False, snapshot: Snapshot = SNAPSHOT
) -> View:
    spelling = "legal" if legal else "colon"
    return View(ViewSettings("test", spelling, home, escape), snapshot)  # type: ignore[arg-type]


ROOT, LEGAL = view(), view(legal=True)
HOME, OUT = view("team-a"), view("team-a", escape=True)


def named(where: View, kind: ResourceType, how: PatternType, name: str) -> str:
    found = pattern_named(where, kind, how, name)
    assert isinstance(found, ResourcePattern), found
    assert found.type is kind
    return f"{found.pattern_type.name} {found.name}"


def rejected(where: View, kind: ResourceType, name: str, how: PatternType = LITERAL) -> Denied:
    found = pattern_named(where, kind, how, name)
    assert isinstance(found, Denied)
    return found


@pytest.mark.parametrize("where", [ROOT, LEGAL])
@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("orders", "orders"),
        ("org:orders", "org:orders"),
        ("org..orders", "org:orders"),
        ("org:", "org:"),
        ("org..", "org:"),
        ("org.apache..", "org:apache:"),
        ("v1-.2..x", "v1.2:x"),
        ("nowhere:x", "nowhere:x"),
        ("nowhere..x", "nowhere..x"),
        (":org..orders", "org..orders"),
        (":orders", "orders"),
        (":org:orders", "org:orders"),
        (":*", "*"),
        ("*", "*"),
        ("foo*", "foo*"),
    ],
)
def test_topics_from_the_root(where: View, name: str, meant: str) -> None:
    assert named(where, TOPIC, LITERAL, name) == f"LITERAL {meant}"


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("or", "or"),
        ("org:", "org:"),
        ("org..", "org:"),
        ("org..or", "org:or"),
        ("org.apache..", "org:apache:"),
        ("org.", "org."),
        ("nowhere..", "nowhere.."),
        ("*", "*"),
    ],
)
@pytest.mark.parametrize("kind", [TOPIC, GROUP, ID])
def test_beginnings_of_names(kind: ResourceType, name: str, meant: str) -> None:
    assert named(ROOT, kind, PREFIXED, name) == f"PREFIXED {meant}"


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("app", "LITERAL app"),
        ("team-a..app", "LITERAL team-a:app"),
        ("team-a:app", "LITERAL team-a:app"),
        (":x", "LITERAL :x"),
        ("a::b", "LITERAL a::b"),
        ("any thing", "LITERAL any thing"),
        ("*", "LITERAL *"),
    ],
)
@pytest.mark.parametrize("kind", [GROUP, ID])
def test_ids_from_the_root(kind: ResourceType, name: str, meant: str) -> None:
    assert named(ROOT, kind, LITERAL, name) == meant


@pytest.mark.parametrize("where", [HOME, OUT])
@pytest.mark.parametrize(
    ("how", "name", "meant"),
    [
        (LITERAL, "orders", "LITERAL team-a:orders"),
        (LITERAL, "sub:deep", "LITERAL team-a:sub:deep"),
        (LITERAL, "sub:", "LITERAL team-a:sub:"),
        (LITERAL, "sub..x", "LITERAL team-a:sub..x"),
        (LITERAL, ":", "LITERAL team-a:"),
        (LITERAL, "*", "PREFIXED team-a:"),
        (PREFIXED, "or", "PREFIXED team-a:or"),
        (PREFIXED, ":", "PREFIXED team-a:"),
        (PREFIXED, "sub:", "PREFIXED team-a:sub:"),
    ],
)
def test_topics_of_a_home(where: View, how: PatternType, name: str, meant: str) -> None:
    assert named(where, TOPIC, how, name) == meant


@pytest.mark.parametrize(
    ("name", "meant"),
    [("app", "LITERAL team-a:app"), ("..app", "LITERAL team-a:..app"), ("*", "PREFIXED team-a:")],
)
@pytest.mark.parametrize("where", [HOME, OUT])
def test_ids_of_a_home(where: View, name: str, meant: str) -> None:
    assert named(where, GROUP, LITERAL, name) == meant


@pytest.mark.parametrize("name", [":org:x", "..org..x", ":*", ":x"])
def test_outside_of_a_home(name: str) -> None:
    why = rejected(HOME, TOPIC, name)
    assert why.code == 42
    assert "is outside namespace 'team-a', the home here" in why.message


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        (":org:x", "org:x"),
        ("..org..x", "org:x"),
        ("..orders", "orders"),
        (":org..x", "org..x"),
        (":*", "*"),
        (":org:", "org:"),
    ],
)
def test_out_of_a_home_that_lets_out(name: str, meant: str) -> None:
    assert named(OUT, TOPIC, LITERAL, name) == f"LITERAL {meant}"


@pytest.mark.parametrize(
    ("name", "text"),
    [
        (":", "':' names no namespace; '*' stands for every topic."),
        ("a b:x", "Tier 'a b' of namespace 'a b' is not one or more of [a-zA-Z0-9.-]."),
        ("org::x", "Tier '(empty)' of namespace 'org:' is not one or more of [a-zA-Z0-9.-]."),
        ("::x", "'::x' names nothing."),
        ("x" * 1001, "A name of 1001 characters is longer than any name can be."),
        (
            "org:*",
            "'*' in 'org:*' is no wildcard; pattern type PREFIXED with the name 'org:' covers all"
            " in it and below.",
        ),
    ],
)
def test_names_of_no_topic(name: str, text: str) -> None:
    assert rejected(ROOT, TOPIC, name) == Denied(42, text, "names")


def test_ids_that_are_too_long() -> None:
    assert named(ROOT, GROUP, LITERAL, "g" * 32_767)
    assert "longer than any id" in rejected(HOME, GROUP, "g" * 32_767).message
    assert rejected(ROOT, ID, "ä" * 16_384).code == 42


@pytest.mark.parametrize("kind", [CLUSTER, ResourceType.USER, ResourceType.DELEGATION_TOKEN])
def test_what_is_the_whole_cluster_s(kind: ResourceType) -> None:
    assert named(ROOT, kind, LITERAL, "org..x") == "LITERAL org..x"
    for where in (HOME, OUT):
        why = rejected(where, kind, "org..x")
        assert (why.code, why.rule) == (31, "access")
        assert home_wildcard(where, kind) is None
    pattern = ResourcePattern(kind, LITERAL, "org..x")
    assert shown_pattern(ROOT, pattern) == shown_pattern(LEGAL, pattern) == pattern
    assert shown_pattern(HOME, pattern) is None


@pytest.mark.parametrize(
    ("where", "pattern", "shown"),
    [
        (ROOT, (TOPIC, LITERAL, "org:x"), "LITERAL org:x"),
        (LEGAL, (TOPIC, LITERAL, "org:x"), "LITERAL org..x"),
        (LEGAL, (TOPIC, LITERAL, "org:apache:"), "LITERAL org.apache.."),
        (LEGAL, (TOPIC, PREFIXED, "org:a"), "PREFIXED org..a"),
        (LEGAL, (TOPIC, LITERAL, "nowhere:x"), "LITERAL nowhere:x"),
        (LEGAL, (GROUP, LITERAL, "team-a:app"), "LITERAL team-a..app"),
        (LEGAL, (GROUP, LITERAL, "team-a:my app"), "LITERAL team-a..my app"),
        (ROOT, (TOPIC, LITERAL, "org..x"), "LITERAL :org..x"),
        (LEGAL, (TOPIC, LITERAL, "org..x"), "LITERAL :org..x"),
        (ROOT, (GROUP, LITERAL, "org..x"), "LITERAL org..x"),
        (ROOT, (TOPIC, LITERAL, "*"), "LITERAL *"),
        (HOME, (TOPIC, LITERAL, "team-a:x"), "LITERAL x"),
        (HOME, (TOPIC, LITERAL, "team-a:"), "LITERAL :"),
        (HOME, (TOPIC, PREFIXED, "team-a:"), "LITERAL *"),
        (HOME, (GROUP, PREFIXED, "team-a:"), "LITERAL *"),
        (HOME, (TOPIC, LITERAL, "team-a:sub:"), "LITERAL sub:"),
        (HOME, (TOPIC, LITERAL, "team-a:..x"), None),
        (HOME, (GROUP, LITERAL, "team-a:"), None),
        (HOME, (GROUP, LITERAL, "team-a:*"), None),
        (HOME, (TOPIC, LITERAL, "*"), None),
        (HOME, (TOPIC, PREFIXED, "team-"), None),
        (HOME, (TOPIC, LITERAL, "team-ab:x"), None),
        (OUT, (TOPIC, LITERAL, "*"), "LITERAL :*"),
        (OUT, (TOPIC, LITERAL, "org:x"), "LITERAL :org:x"),
        (OUT, (TOPIC, LITERAL, "orders"), "LITERAL :orders"),
        (OUT, (GROUP, LITERAL, "org:x"), None),
        (view("team-a", escape=True, legal=True), (TOPIC, LITERAL, "org:x"), "LITERAL ..org..x"),
    ],
)
def test_what_is_shown(
    where: View, pattern: tuple[ResourceType, PatternType, str], shown: str | None
) -> None:
    found = shown_pattern(where, ResourcePattern(*pattern))
    assert (None if found is None else f"{found.pattern_type.name} {found.name}") == shown


TIERS = st.sampled_from(["org", "apache", "team-a", "sub", "a.b", "v1.2", "nowhere"])
NAMESPACES = st.lists(TIERS, max_size=3).map(":".join)
TOPICS = st.text("abor._-*", min_size=1, max_size=6)
VIEWS = st.sampled_from(
    [
        view(home, escape=escape, legal=legal)
        for home in ("", "team-a", "org:apache")
        for escape in (False, True)
        for legal in (False, True)
    ]
)


@st.composite
def patterns(draw: st.DrawFn) -> ResourcePattern:
    namespace = draw(NAMESPACES)
    name = draw(TOPICS | st.just("")) if namespace else draw(TOPICS)
    text = f"{namespace}:{name}" if namespace else name
    kind = draw(st.sampled_from([TOPIC, GROUP, ID]))
    return ResourcePattern(kind, draw(st.sampled_from([LITERAL, PREFIXED])), text)


@given(VIEWS, patterns())
def test_what_is_shown_is_read_back_as_the_same(where: View, pattern: ResourcePattern) -> None:
    shown = shown_pattern(where, pattern)
    home = where.settings.home
    inside = pattern.name.startswith(f"{home}:")
    if shown is None:
        assert home
        assert (
            not inside
            or pattern.name.startswith((f"{home}:.", f"{home}:*"))
            or (pattern.type is not TOPIC and pattern.name == f"{home}:")
        )
        return
    if home and not where.settings.escape:
        assert inside
    # Ids cannot be spelled as ids of no namespace, so only these may lead elsewhere.
    dead = not home and pattern.type is not TOPIC and ".." in pattern.name
    back = pattern_named(where, shown.type, shown.pattern_type, shown.name)
    wildcard_inside = pattern.name.endswith(":*")
    assert back == pattern or dead or wildcard_inside


@given(VIEWS, st.sampled_from([TOPIC, GROUP]), st.text(":.*ab org", max_size=8))
def test_whatever_is_written_stays_in_the_view(where: View, kind: ResourceType, name: str) -> None:
    found = pattern_named(where, kind, LITERAL, name or "x")
    home = where.settings.home
    if isinstance(found, Denied) or not home:
        return
    if not where.settings.escape or kind is GROUP:
        assert found.name.startswith(f"{home}:")
    if found.pattern_type is PREFIXED:
        assert found == home_wildcard(where, kind)
