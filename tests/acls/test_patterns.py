"""gateway.acl_model: which names a pattern covers."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.acl_model import (
    Name,
    Resource,
    ResourcePattern,
    ResourceType,
    anything_in,
    covers,
    is_namespace,
    name_of,
    namespace_of,
    pattern_of,
    tiers_of,
)
from tests.acls import reference
from tests.acls.samples import KINDS, NAMES, patterns

TOPIC, GROUP, USER = ResourceType.TOPIC, ResourceType.GROUP, ResourceType.USER


@pytest.mark.parametrize(
    ("pattern", "covered", "not_covered"),
    [
        ("TOPIC:LITERAL:or", ["or"], ["o", "orders", "org:", "org:or"]),
        ("TOPIC:LITERAL:*", ["or", "*", "org:", "org:apache:x"], []),
        ("TOPIC:PREFIXED:*", ["*", "*x"], ["x", "org:*"]),
        ("TOPIC:PREFIXED:or", ["or", "orders"], ["o", "org:", "org:x", "or:", "or:x"]),
        (
            "TOPIC:PREFIXED:org:",
            ["org:", "org:x", "org:apache:", "org:apache:x"],
            ["org", "organic", "organic:x", "other:org:x"],
        ),
        (
            "TOPIC:PREFIXED:org:a",
            ["org:a", "org:abc"],
            ["org:", "org:x", "org:a:", "org:apache:", "org:apache:x", "other:org:a"],
        ),
        ("TOPIC:LITERAL:org:", ["org:"], ["org", "org:x", "org:apache:"]),
        ("USER:PREFIXED:Us", ["User:alice", "Us"], ["user"]),
        ("USER:PREFIXED:User:al", ["User:alice", "User:al:x"], ["User:bob"]),
    ],
)
def test_what_a_pattern_covers(pattern: str, covered: list[str], not_covered: list[str]) -> None:
    found = pattern_of(pattern)
    assert [name for name in covered if not covers(found, found.type, name)] == []
    assert [name for name in not_covered if covers(found, found.type, name)] == []
    assert not any(covers(found, GROUP, name) for name in covered), "of another type"


@given(patterns, st.sampled_from(KINDS), st.sampled_from(NAMES) | st.text("o:*", max_size=6))
def test_it_covers_what_the_rules_say(
    pattern: ResourcePattern, kind: ResourceType, text: str
) -> None:
    assert covers(pattern, kind, text) is reference.covers(pattern, kind, text)


@pytest.mark.parametrize(
    ("kind", "text", "name"),
    [
        (TOPIC, "orders", Name("orders", "", "orders")),
        (TOPIC, "org:apache:x", Name("org:apache:x", "org:apache:", "x")),
        (TOPIC, "org:apache:", Name("org:apache:", "org:", "apache:", True)),
        (TOPIC, "org:", Name("org:", "", "org:", True)),
        (GROUP, "org:", Name("org:", "org:", "")),
        (GROUP, ":x", Name(":x", ":", "x")),
        (USER, "User:alice", Name("User:alice", "", "User:alice")),
        (USER, "User:", Name("User:", "", "User:")),
    ],
)
def test_the_parts_of_a_name(kind: ResourceType, text: str, name: Name) -> None:
    assert name_of(kind, text) == name
    assert name_of(kind, text).head + name_of(kind, text).tail == text


def test_anything_in_a_namespace_has_no_name() -> None:
    assert anything_in("org:") == Name("", "org:", "")


@pytest.mark.parametrize(
    ("head", "tiers"),
    [("", []), ("org:", ["org:"]), ("a:b:c:", ["a:", "a:b:", "a:b:c:"]), ("::", [":", "::"])],
)
def test_tiers(head: str, tiers: list[str]) -> None:
    assert tiers_of(head) == tiers


@pytest.mark.parametrize(
    ("pattern", "namespace"),
    [
        ("TOPIC:LITERAL:org:", "org"),
        ("TOPIC:PREFIXED:org:", "org"),
        ("TOPIC:LITERAL:org:apache:x", "org:apache"),
        ("GROUP:PREFIXED:org:apache:", "org:apache"),
        ("TRANSACTIONAL_ID:PREFIXED:org:t", "org"),
        ("TOPIC:LITERAL:*", None),
        ("TOPIC:PREFIXED:org", None),
        ("GROUP:LITERAL::x", None),
        ("USER:LITERAL:User:alice", None),
        ("CLUSTER:LITERAL:kafka-cluster", None),
    ],
)
def test_the_namespace_that_all_of_a_pattern_is_in(pattern: str, namespace: str | None) -> None:
    assert namespace_of(pattern_of(pattern)) == namespace


def test_namespaces_as_patterns_and_resources() -> None:
    assert is_namespace(pattern_of("TOPIC:LITERAL:org:"))
    assert is_namespace(pattern_of("GROUP:PREFIXED:org:"))
    assert not is_namespace(pattern_of("TOPIC:PREFIXED:org"))
    assert not is_namespace(pattern_of("USER:PREFIXED:User:"))
    assert Resource(ResourceType.TOPIC, "org:apache", "").text == "org:apache:"
