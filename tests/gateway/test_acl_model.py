"""gateway.acl_model: names, patterns and entries as text."""

from __future__ import annotations

import pytest
from hypothesis import given

from gateway.acl_model import (
    CLUSTER,
    AclBinding,
    Operation,
    PatternType,
    Permission,
    Resource,
    ResourcePattern,
    ResourceType,
    code_of,
    pattern_of,
    resource,
)
from tests.acls.samples import entry, patterns

TOPIC, GROUP = ResourceType.TOPIC, ResourceType.GROUP


@pytest.mark.parametrize(
    ("logical", "expected"),
    [
        ("orders", Resource(TOPIC, "", "orders")),
        ("org:orders", Resource(TOPIC, "org", "orders")),
        ("org:apache:orders", Resource(TOPIC, "org:apache", "orders")),
        ("org:apache:", Resource(TOPIC, "org:apache", "")),
        (":orders", Resource(TOPIC, "", ":orders")),
        (":", Resource(TOPIC, "", ":")),
        ("::x", Resource(TOPIC, ":", "x")),
    ],
)
def test_resources_by_their_names(logical: str, expected: Resource) -> None:
    assert resource(TOPIC, logical) == expected
    assert expected.text == logical
    assert str(expected) == f"TOPIC {logical}"


def test_the_cluster() -> None:
    assert str(CLUSTER) == "CLUSTER kafka-cluster"


@given(patterns)
def test_a_pattern_is_read_as_it_is_written(pattern: ResourcePattern) -> None:
    assert pattern_of(str(pattern)) == pattern


@pytest.mark.parametrize(
    "text",
    [
        "",
        "TOPIC",
        "TOPIC:LITERAL",
        "TOPIC:LITERAL:",
        "TOPIC:MATCH:x",
        "TOPIC:ANY:x",
        "ANY:LITERAL:x",
        "topic:LITERAL:x",
        "TOPIC:x",
    ],
)
def test_what_is_no_pattern(text: str) -> None:
    with pytest.raises(ValueError, match="is no pattern of ACLs"):
        pattern_of(text)


def test_an_acl_in_words() -> None:
    pattern = pattern_of("TOPIC:PREFIXED:org:")
    assert str(AclBinding(pattern, entry("ALLOW READ a"))) == (
        "ALLOW READ for User:a on TOPIC:PREFIXED:org:"
    )
    assert str(entry("DENY ALL * 10.0.0.1")) == "DENY ALL for User:* from 10.0.0.1"


def test_numbers_of_the_wire() -> None:
    assert code_of(ResourceType, 2) is TOPIC
    assert code_of(Permission, 3) is Permission.ALLOW
    unknown = [code_of(ResourceType, 113), code_of(PatternType, -1), code_of(Operation, 16)]
    assert unknown == [ResourceType.UNKNOWN, PatternType.UNKNOWN, Operation.UNKNOWN]
