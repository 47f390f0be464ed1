"""Responses that are made once: which of them are sent again, and how many are kept."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from gateway.exchanges.kept_answers import KeptAnswers

STEPS = st.lists(
    st.tuples(
        st.integers(0, 13),
        st.sampled_from([b"a", b"bb", bytes(40)]),
        st.integers(0, 3),
        st.integers(0, 120),
    )
)


@given(STEPS)
def test_a_response_is_given_for_the_newest_bytes_that_it_was_made_of(
    steps: list[tuple[int, bytes, int, int]],
) -> None:
    answers = KeptAnswers(most_bytes=100)
    made: dict[tuple[int, int], tuple[bytes, int]] = {}
    for number, (version, source, who, size) in enumerate(steps):
        again = answers.find(version, source, who)
        assert again is None or made[version, who] == (source, again)
        answers.keep(version, source, who, number, size)
        kept = len(source) + size <= 100
        if kept:
            made[version, who] = (source, number)
            assert answers.find(version, source, who) == number
        assert answers.size <= 100


def test_the_least_recently_used_goes_first() -> None:
    answers = KeptAnswers(most_bytes=100)
    for who in range(4):
        answers.keep(12, b"body", who, who, 21)
    assert answers.find(12, b"body", 0) == 0
    answers.keep(12, b"body", 4, 4, 21)
    assert [answers.find(12, b"body", who) for who in range(5)] == [0, None, 2, 3, 4]
    answers.keep(12, b"body", 2, 2, 5)
    assert answers.size == len(b"body") + 3 * 21 + 5


def test_other_bytes_replace_all_that_was_made_of_the_former() -> None:
    answers = KeptAnswers(most_bytes=100)
    answers.keep(12, b"body", "a", 1, 10)
    answers.keep(12, b"body", "b", 2, 10)
    answers.keep(9, b"body", "a", 3, 10)
    answers.keep(12, b"another", "a", 4, 10)
    assert answers.find(12, b"body", "b") is None
    assert answers.find(12, b"another", "b") is None
    assert (answers.find(12, b"another", "a"), answers.find(9, b"body", "a")) == (4, 3)
    assert answers.size == len(b"another") + 10 + len(b"body") + 10
