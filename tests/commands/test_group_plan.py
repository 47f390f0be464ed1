"""gateway.commands.groups.carriage: the plan to carry offsets, and the partitions that are in its
way."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from gateway.commands.groups.adopt import row_json, table_rows
from gateway.commands.groups.carriage import (
    in_the_way,
    missing,
    named,
    plan,
    to_commit,
)
from gateway.commands.groups.coordinator import Partition, Position

partitions = st.builds(Partition, st.sampled_from(["a", "b:c"]), st.integers(0, 3))
positions = st.builds(Position, st.integers(0, 3), st.integers(-1, 1), st.sampled_from(["", "x\0"]))
groups = st.dictionaries(partitions, positions)


@given(groups, groups)
def test_after_carrying_the_target_has_all_of_the_source(
    source: dict[Partition, Position], target: dict[Partition, Position]
) -> None:
    rows = plan(source, target)
    after = target | to_commit(rows)
    assert missing(source, after) == []
    assert after.keys() == source.keys() | target.keys()
    assert to_commit(plan(source, after)) == {}  # and once more changes nothing


@given(groups, groups)
def test_nothing_is_lost_that_is_not_told(
    source: dict[Partition, Position], target: dict[Partition, Position]
) -> None:
    rows = plan(source, target)
    lost = {one for one, held in target.items() if source.get(one) != held}
    assert {row.partition for row in in_the_way(rows, back=False)} == lost
    # If they go back to their source, only partitions that are further on are in the way.
    ahead = {one for one in lost if one in source and target[one].offset > source[one].offset}
    assert {row.partition for row in in_the_way(rows, back=True)} == ahead


def test_how_it_is_shown() -> None:
    a, b, c, d = (Partition("t", number) for number in range(4))
    source = {a: Position(5, 2, "m"), b: Position(6, -1, ""), c: Position(7, 0, "")}
    target = {b: Position(6, -1, ""), c: Position(8, 0, ""), d: Position(1, 0, "")}
    rows = plan(source, target)
    assert table_rows(rows, "crm..app") == [
        ("topic", "partition", "offset", "leader epoch", "in crm..app", ""),
        ("t", "0", "5", "2", "-", "carry"),
        ("t", "1", "6", "-", "6", "same"),
        ("t", "2", "7", "0", "8", "overwrite"),
        ("t", "3", "-", "-", "1", "keep"),
    ]
    first, *_, last = map(row_json, rows)
    source_told = {"offset": 5, "leader_epoch": 2, "metadata": "m"}
    assert first == {
        "topic": "t",
        "partition": 0,
        "source": source_told,
        "target": None,
        "action": "carry",
    }
    assert last["source"] is None
    assert named(Partition("t", number) for number in range(12)).endswith("t-9 and 2 more")
