"""What a broker responds is counted by what it was asked for."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.brokers.one_each import NotAnswered, one_each, only_one

Entries = list[tuple[str, int]]
NAMES = st.sampled_from("abcde")
ENTRIES = st.lists(st.tuples(NAMES, st.integers()))


def name_of(entry: tuple[str, int]) -> str:
    return entry[0]


@given(st.lists(NAMES, unique=True), ENTRIES)
def test_each_thing_has_the_one_entry_about_it_or_none(asked: list[str], entries: Entries) -> None:
    found = one_each(asked, entries, name_of)
    assert list(found) == asked
    for name, entry in found.items():
        about = [each for each in entries if each[0] == name]
        assert entry == (about[0] if len(about) == 1 else None)


@pytest.mark.parametrize("entries", [[], [("b", 1)], [("a", 1), ("a", 1)], [("a", 1), ("a", 2)]])
def test_one_thing_has_one_entry(entries: Entries) -> None:
    with pytest.raises(NotAnswered):
        only_one("a", entries, name_of)
    assert only_one("a", [("b", 2), ("a", 3)], name_of) == ("a", 3)
