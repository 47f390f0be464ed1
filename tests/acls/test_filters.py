"""gateway.acls.authorizer: which ACLs a filter matches (KIP-140, KIP-290)."""

from __future__ import annotations

import pytest

from gateway.acl_model import (
    AclFilter,
    Operation,
    PatternType,
    Permission,
    ResourceType,
    pattern_of,
)
from gateway.acls.authorizer import means_entry, means_pattern
from tests.acls.samples import HOST, entry

TOPIC, ANY = ResourceType.TOPIC, ResourceType.ANY
LITERAL, PREFIXED, MATCH = PatternType.LITERAL, PatternType.PREFIXED, PatternType.MATCH

PATTERNS = [
    "TOPIC:LITERAL:orders",
    "TOPIC:LITERAL:*",
    "TOPIC:LITERAL:org:",
    "TOPIC:LITERAL:org:orders",
    "TOPIC:PREFIXED:o",
    "TOPIC:PREFIXED:orders",
    "TOPIC:PREFIXED:org:",
    "TOPIC:PREFIXED:org:o",
    "GROUP:LITERAL:orders",
]


@pytest.mark.parametrize(
    ("matching", "meant"),
    [
        (AclFilter(), PATTERNS),
        (AclFilter(TOPIC), PATTERNS[:8]),
        (AclFilter(ResourceType.GROUP), PATTERNS[8:]),
        (AclFilter(pattern_type=LITERAL), [*PATTERNS[:4], PATTERNS[8]]),
        (AclFilter(pattern_type=PREFIXED), PATTERNS[4:8]),
        (AclFilter(TOPIC, pattern_type=MATCH), PATTERNS[:8]),
        (
            AclFilter(name="orders"),
            ["TOPIC:LITERAL:orders", "TOPIC:PREFIXED:orders", "GROUP:LITERAL:orders"],
        ),
        (AclFilter(TOPIC, "orders", LITERAL), ["TOPIC:LITERAL:orders"]),
        (AclFilter(TOPIC, "orders", PREFIXED), ["TOPIC:PREFIXED:orders"]),
        (AclFilter(TOPIC, "*", LITERAL), ["TOPIC:LITERAL:*"]),
        (AclFilter(TOPIC, "*"), ["TOPIC:LITERAL:*"]),
        (
            AclFilter(TOPIC, "orders", MATCH),
            [
                "TOPIC:LITERAL:orders",
                "TOPIC:LITERAL:*",
                "TOPIC:PREFIXED:o",
                "TOPIC:PREFIXED:orders",
            ],
        ),
        (
            AclFilter(TOPIC, "org:orders", MATCH),
            [
                "TOPIC:LITERAL:*",
                "TOPIC:LITERAL:org:orders",
                "TOPIC:PREFIXED:org:",
                "TOPIC:PREFIXED:org:o",
            ],
        ),
        (
            AclFilter(TOPIC, "org:", MATCH),
            ["TOPIC:LITERAL:*", "TOPIC:LITERAL:org:", "TOPIC:PREFIXED:org:"],
        ),
        (AclFilter(TOPIC, "org:deep:o", MATCH), ["TOPIC:LITERAL:*", "TOPIC:PREFIXED:org:"]),
        (AclFilter(TOPIC, "*", MATCH), ["TOPIC:LITERAL:*"]),
    ],
)
def test_patterns(matching: AclFilter, meant: list[str]) -> None:
    assert [one for one in PATTERNS if means_pattern(matching, pattern_of(one))] == meant


ENTRIES = ["ALLOW READ a", "DENY READ a", "ALLOW ALL a", f"ALLOW READ a {HOST}", "ALLOW READ *"]


@pytest.mark.parametrize(
    ("matching", "meant"),
    [
        (AclFilter(), ENTRIES),
        (AclFilter(principal="User:a"), ENTRIES[:4]),
        (AclFilter(principal="User:*"), ENTRIES[4:]),
        (AclFilter(host=HOST), [f"ALLOW READ a {HOST}"]),
        (AclFilter(host="*"), ["ALLOW READ a", "DENY READ a", "ALLOW ALL a", "ALLOW READ *"]),
        (AclFilter(operation=Operation.ALL), ["ALLOW ALL a"]),
        (AclFilter(operation=Operation.DESCRIBE), []),
        (AclFilter(permission=Permission.DENY), ["DENY READ a"]),
        (AclFilter(principal="User:a", host="*", operation=Operation.READ), ENTRIES[:2]),
    ],
)
def test_entries(matching: AclFilter, meant: list[str]) -> None:
    assert [one for one in ENTRIES if means_entry(matching, entry(one))] == meant
