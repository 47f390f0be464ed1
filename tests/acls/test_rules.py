"""gateway.acls.rules: a principal's grants by name."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from gateway.acl_model import (
    AclEntry,
    Operation,
    PatternType,
    Permission,
    ResourcePattern,
    ResourceType,
    covers,
    name_of,
    pattern_of,
    tiers_of,
)
from gateway.acls.grants import Grant
from gateway.acls.rules import Prefixes, Rules
from tests.acls.samples import HOST, HOSTS, NAMES, OTHER_HOST, entries, entry

TOPIC = ResourceType.TOPIC

tails = st.text("ab", min_size=1, max_size=5)
some_entries = st.lists(entries, min_size=1, max_size=3).map(tuple)


@given(st.dictionaries(tails, some_entries), tails, st.sampled_from(HOSTS))
def test_the_longest_prefix_answers_for_all(
    held: dict[str, tuple[AclEntry, ...]], tail: str, host: str
) -> None:
    prefixes = Prefixes()
    for prefix, mine in held.items():
        pattern = ResourcePattern(TOPIC, PatternType.PREFIXED, prefix)
        prefixes.grants[prefix] = Grant(pattern, mine)
    prefixes.settle()
    covering = sorted((prefix for prefix in held if tail.startswith(prefix)), key=len)
    expected = [prefixes.grants[prefix] for prefix in reversed(covering)]
    assert list(prefixes.covering(tail)) == expected
    longest = prefixes.longest(tail)
    assert (longest is None) is (not covering)
    if longest is not None:
        assert longest.tail == covering[-1]
        allow = deny = 0
        for grant in expected:
            allow, deny = allow | grant.at(host)[0], deny | grant.at(host)[1]
        assert longest.at(host) == (allow, deny)


def rules(*lines: str) -> Rules:
    """Rules of topics."""
    made = Rules()
    for line in lines:
        pattern, _, rest = line.partition(" ")
        made.put(pattern_of(pattern), Grant(pattern_of(pattern), (entry(rest),)))
    made.settle()
    return made


def test_what_covers_a_name() -> None:
    made = rules(
        "TOPIC:LITERAL:* ALLOW READ a",
        "TOPIC:PREFIXED:org: ALLOW READ a",
        "TOPIC:PREFIXED:org:deep: ALLOW READ a",
        "TOPIC:PREFIXED:org:deep:o ALLOW READ a",
        "TOPIC:PREFIXED:org:deep:ord ALLOW READ a",
        "TOPIC:LITERAL:org:deep:orders ALLOW READ a",
        "TOPIC:PREFIXED:o ALLOW READ a",
    )

    def patterns(text: str) -> list[str]:
        name = name_of(TOPIC, text)
        return [str(one.pattern) for one in made.covering(name, tiers_of(name.head))]

    assert patterns("org:deep:orders") == [
        "TOPIC:LITERAL:org:deep:orders",
        "TOPIC:PREFIXED:org:deep:ord",
        "TOPIC:PREFIXED:org:deep:o",
        "TOPIC:PREFIXED:org:deep:",
        "TOPIC:PREFIXED:org:",
        "TOPIC:LITERAL:*",
    ]
    assert patterns("org:deep:") == [
        "TOPIC:PREFIXED:org:deep:",
        "TOPIC:PREFIXED:org:",
        "TOPIC:LITERAL:*",
    ]
    assert patterns("orders") == ["TOPIC:PREFIXED:o", "TOPIC:LITERAL:*"]
    assert {str(one.pattern) for one in made.covering_all(["org:"])} == {
        "TOPIC:PREFIXED:org:",
        "TOPIC:LITERAL:*",
    }


def test_nothing_is_left_of_what_is_taken_away() -> None:
    made = Rules()
    lines = ["LITERAL:x", "LITERAL:*", "PREFIXED:x", "PREFIXED:org:", "PREFIXED:org:x"]
    patterns = [pattern_of(f"TOPIC:{line}") for line in lines]
    for pattern in patterns:
        made.put(pattern, Grant(pattern, (entry("ALLOW READ a"),)))
        made.settle()
    assert {grant.pattern for grant in made.grants()} == set(patterns)
    assert len(made.allowing[Operation.READ]) == len(patterns)
    for pattern in patterns:
        assert made
        made.put(pattern, None)
        made.settle()
    assert not made
    assert made.allowing == {}
    assert list(made.grants()) == []


def test_what_allows_by_operation_follows_the_entries() -> None:
    made, pattern = Rules(), pattern_of("TOPIC:LITERAL:x")
    made.put(pattern, Grant(pattern, (entry("ALLOW READ a"), entry("ALLOW ALL a"))))
    assert made.allowing.keys() == {Operation.READ, Operation.ALL}
    latest = Grant(pattern, (entry("DENY READ a"), entry("ALLOW ALL a")))
    made.put(pattern, latest)
    assert made.allowing == {Operation.ALL: {(PatternType.LITERAL, "x"): latest}}


@given(
    st.lists(
        st.tuples(
            st.builds(
                ResourcePattern,
                st.just(TOPIC),
                st.sampled_from([PatternType.LITERAL, PatternType.PREFIXED]),
                st.sampled_from([*NAMES, "*"]),
            ),
            st.none() | some_entries,
        ),
        max_size=12,
    )
)
def test_bits_are_those_of_the_patterns_that_cover(
    steps: list[tuple[ResourcePattern, tuple[AclEntry, ...] | None]],
) -> None:
    made = Rules()
    held: dict[ResourcePattern, Grant] = {}
    for pattern, mine in steps:
        grant = None if mine is None else Grant(pattern, mine)
        made.put(pattern, grant)
        made.settle()
        if grant is None:
            held.pop(pattern, None)
        else:
            held[pattern] = grant
    for text in NAMES:
        name = name_of(TOPIC, text)
        tiers = tiers_of(name.head)
        covering = [held[one] for one in held if covers(one, TOPIC, text)]
        assert set(made.covering(name, tiers)) == set(covering)
        for host in (HOST, OTHER_HOST):
            found = [made.of_name(name, host)]
            found += [grant.at(host) for grant in made.covering_all(tiers)]
            assert _all(found) == _all([grant.at(host) for grant in covering])


def _all(found: list[tuple[int, int]]) -> tuple[int, int]:
    allow = deny = 0
    for one_allow, one_deny in found:
        allow, deny = allow | one_allow, deny | one_deny
    return allow, deny


def test_a_grant_denies_as_well() -> None:
    made = rules("TOPIC:PREFIXED:o DENY READ a", "TOPIC:PREFIXED:or ALLOW ALL a")
    denying = [
        one.deciding(Permission.DENY, 1 << Operation.READ, HOST)
        for one in made.covering(name_of(TOPIC, "orders"), [])
    ]
    assert list(map(str, denying)) == ["None", "DENY READ for User:a on TOPIC:PREFIXED:o"]
