"""gateway.node_ids: places in ranges, and ranges that are rejected."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.node_ids import NodeIdRanges


def test_places_are_counted_through_the_ranges_as_configured() -> None:
    ranges = NodeIdRanges.parse(["10-12", "1", 7])
    assert ranges.size == 5
    assert list(ranges) == [10, 11, 12, 1, 7]
    assert [ranges.place(node) for node in (10, 11, 12, 1, 7)] == [0, 1, 2, 3, 4]
    assert str(ranges) == "10-12, 1, 7"


@pytest.mark.parametrize("node_id", [-1, 0, 2, 9, 13])
def test_outside_the_ranges_there_is_no_place(node_id: int) -> None:
    assert NodeIdRanges.parse(["10-12", "1"]).place(node_id) is None


def test_spaces_are_allowed() -> None:
    assert list(NodeIdRanges.parse([" 1 - 3 ", " 5 "])) == [1, 2, 3, 5]


@pytest.mark.parametrize(
    ("texts", "sentence"),
    [
        ([], "node_ids names no node id; give ranges such as 1-3"),
        (["one"], "node_ids 'one' is not a node id or a range such as 1-3"),
        (["1-"], "node_ids '1-' is not a node id or a range such as 1-3"),
        (["1-2-3"], "node_ids '1-2-3' is not a node id or a range such as 1-3"),
        (["1.5"], "node_ids '1.5' is not a node id or a range such as 1-3"),
        (["\u0661"], "node_ids '\u0661' is not a node id or a range such as 1-3"),
        ([True], "node_ids 'True' is not a node id or a range such as 1-3"),
        (["9" * 5000], f"node_ids '{'9' * 64}' is not a node id or a range such as 1-3"),
        (["-1"], "node_ids -1: a node id cannot be negative"),
        (["-3--1"], "node_ids -3--1: a node id cannot be negative"),
        (["3-1"], "node_ids 3-1 is reversed; write 1-3"),
        (["1-16777216"], "node_ids 1-16777216: the largest node id is 16777215"),
        (["1-3", "3-5"], "node_ids 1-3 and 3-5 overlap"),
        (["5-9", "1-5"], "node_ids 1-5 and 5-9 overlap"),
        (["1-9", "20", "4-5"], "node_ids 1-9 and 4-5 overlap"),
        ([7, "7"], "node_ids 7 and 7 overlap"),
    ],
)
def test_bad_ranges_are_rejected_in_a_sentence(texts: list[str | int], sentence: str) -> None:
    with pytest.raises(ValueError) as rejected:
        NodeIdRanges.parse(texts)
    assert str(rejected.value) == sentence


@given(st.sets(st.integers(0, 60), min_size=1))
def test_place_and_node_are_each_others_reverse(nodes: set[int]) -> None:
    ranges = NodeIdRanges.parse(sorted(nodes, key=str))
    for node in range(62):
        place = ranges.place(node)
        assert (place is not None) == (node in nodes)
        if place is not None:
            assert 0 <= place < ranges.size
            assert list(ranges)[place] == node


@pytest.mark.parametrize(("texts", "highest"), [(["1-3", "10"], 10), (["10", "1-3"], 10), ([7], 7)])
def test_the_highest_node_id(texts: list[str | int], highest: int) -> None:
    assert NodeIdRanges.parse(texts).highest == highest
