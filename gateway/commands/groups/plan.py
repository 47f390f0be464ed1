"""What carrying a group's committed offsets to another group would do, and what is against it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from gateway.commands.groups.coordinator import Partition, Position, Positions
from gateway.commands.told import counted, shortened

Action = Literal["carry", "same", "overwrite", "keep"]
"""``keep`` is what the target alone has."""


@dataclass(frozen=True, slots=True)
class Row:
    """One partition: what the source and the target have committed of it; None: nothing."""

    partition: Partition
    source: Position | None
    target: Position | None

    @property
    def action(self) -> Action:
        """What is done with it."""
        if self.source is None:
            return "keep"
        if self.target is None:
            return "carry"
        return "same" if self.source == self.target else "overwrite"

    @property
    def is_ahead(self) -> bool:
        """Whether the target has read further than the source, or what the source has not."""
        if self.target is None:
            return False
        return self.source is None or self.target.offset > self.source.offset


def plan(source: Positions, target: Positions) -> list[Row]:
    """A row for each partition that either has committed, in order."""
    both = sorted({*source, *target})
    return [Row(one, source.get(one), target.get(one)) for one in both]


def to_commit(rows: Iterable[Row]) -> dict[Partition, Position]:
    """What has to be written for the target to have all that the source has."""
    return {
        row.partition: row.source
        for row in rows
        if row.source is not None and row.action in ("carry", "overwrite")
    }


def in_the_way(rows: Sequence[Row], *, back: bool) -> list[Row]:
    """The target's own offsets that carrying would lose, or mix with the source's.

    ``back``: the target is what the source was carried from, so what it was left with, further
    back, is no loss; what it has alone has stayed there.
    """
    if back:
        return [row for row in rows if row.action == "overwrite" and row.is_ahead]
    return [row for row in rows if row.action in ("overwrite", "keep")]


def missing(wanted: Positions, found: Positions) -> list[Partition]:
    """The partitions of which another position is found than is wanted."""
    return [one for one, position in wanted.items() if found.get(one) != position]


def shown_rows(rows: Iterable[Row], target: str) -> list[tuple[str, ...]]:
    """The rows of a table, its head first."""
    head = ("topic", "partition", "offset", "leader epoch", f"in {target}", "")
    found = [
        (
            row.partition.topic,
            str(row.partition.number),
            _offset(row.source),
            _epoch(row.source),
            _offset(row.target),
            row.action,
        )
        for row in rows
    ]
    return [head, *found]


def as_json(rows: Iterable[Row]) -> list[dict[str, object]]:
    """The same for programs."""
    return [
        {
            "topic": row.partition.topic,
            "partition": row.partition.number,
            "source": _fields(row.source),
            "target": _fields(row.target),
            "action": row.action,
        }
        for row in rows
    ]


def named(partitions: Iterable[Partition]) -> str:
    """``orders-0, orders-1``, and how many more there are."""
    return shortened(f"{one.topic}-{one.number}" for one in partitions)


def counted_offsets(number: int) -> str:
    """``1 offset``, ``2 offsets``."""
    return counted(number, "offset")


def _offset(position: Position | None) -> str:
    return "-" if position is None else str(position.offset)


def _epoch(position: Position | None) -> str:
    return "-" if position is None or position.leader_epoch < 0 else str(position.leader_epoch)


def _fields(position: Position | None) -> dict[str, object] | None:
    if position is None:
        return None
    return {
        "offset": position.offset,
        "leader_epoch": position.leader_epoch,
        "metadata": position.metadata,
    }
