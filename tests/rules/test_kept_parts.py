"""gateway.rules.kept_parts: what members of groups are counted for is what they take."""

from __future__ import annotations

from collections.abc import Iterable
from sys import getsizeof
from typing import Final

from hypothesis import given
from hypothesis import strategies as st

from gateway.rules.group_members import Member, MemberKey
from gateway.rules.heartbeat_outcomes import Forward
from gateway.rules.kept_parts import KeptParts
from gateway.rules.regex_subscriptions import RegexSubscriptions
from tests.rules.heartbeats import heartbeat, known, on_request, on_response, response

AT_MOST: Final = 2.0
AT_LEAST: Final = 0.9
"""What is counted, in parts of what is taken."""

TOPICS: Final = tuple(
    f"{space}:{number}" for space in ("a", "café", "x" * 90) for number in range(20)
)

PATTERNS: Final = ("", "a:.*", "caf.*", ".*1", "nothing")

BEATS: Final = st.lists(
    st.tuples(
        st.sampled_from(["m", "n" * 40, "o" * 2_000, "é" * 300, "1", "2", "3"]),
        st.booleans(),
        st.one_of(
            st.none(),
            st.sampled_from([TOPICS[:1], TOPICS[:7], TOPICS[10:50], TOPICS]),
            st.lists(st.text("abc:é", min_size=1, max_size=60), max_size=30).map(tuple),
        ),
        st.one_of(st.none(), st.sampled_from(PATTERNS)),
        st.integers(1, 3),
    ),
    max_size=25,
)
"""A member, whether it joins, the names and the expression that it sends, and the version of the
listing."""


def taken(members: dict[MemberKey, Member]) -> int:
    """Bytes of the members, with all that they lead to, each object once. Their scope, and what
    names mean, is not theirs."""
    seen: set[int] = set()

    def size(objects: Iterable[object]) -> int:
        found = 0
        for one in objects:
            if id(one) in seen or one is None:
                continue
            seen.add(id(one))
            found += getsizeof(one)
            if isinstance(one, Member):
                found += size(
                    [one.names, one.pattern, one.accepted, one.reached, one.heard, one.elsewhere]
                )
            elif isinstance(one, dict):
                found += size([*one, *one.values()])
            elif isinstance(one, tuple):
                found += size(one)
        return found

    keys = size(part for key in members for part in (key[1], key[2]))
    return keys + sum(map(getsizeof, members)) + getsizeof(members) + size(members.values())


@given(BEATS)
def test_what_is_counted_is_what_is_taken(
    beats: list[tuple[str, bool, tuple[str, ...] | None, str | None, int]],
) -> None:
    worker = RegexSubscriptions()
    for member, joins, names, pattern, version in beats:
        if joins:
            names, pattern = names or (), pattern or ""
        body = heartbeat(0 if joins else 1, names, pattern, member)
        outcome = on_request(
            worker, 1, body, known(TOPICS[: version * 20], version), "", meaning=version
        )
        if isinstance(outcome, Forward):
            on_response(worker, 1, outcome.sent, response())
        for scope in worker._members._scopes.values():
            counted = scope.kept.total + scope.ids_bytes
            of_scope = taken(scope.members)
            assert counted <= AT_MOST * of_scope + 500
            assert counted >= AT_LEAST * of_scope - 500
    for scope in worker._members._scopes.values():
        for key in [*scope.members]:
            worker._members.forget(key)
        assert (scope.kept.total, scope.ids_bytes, len(scope.kept)) == (0, 0, 0)


def test_an_object_counts_as_long_as_anybody_has_it() -> None:
    kept, names, others = KeptParts(), ("a", "b"), ("c",)
    kept.add([(names, 100), (others, 10)])
    kept.add([(names, 100), (names, 100)])
    assert (kept.total, len(kept)) == (110, 2)
    kept.remove([names, others])
    assert (kept.total, len(kept)) == (100, 1)
    kept.remove([names, names])
    assert (kept.total, len(kept)) == (0, 0)
