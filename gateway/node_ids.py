"""Node ids, and the ranges for which a configuration provides addresses.

Clients see brokers under the brokers' own node ids, in 24 bits. In a mounted cluster a node id has
16 bits, behind the cluster's number in the tree.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import Self

MAX_NODE_ID = (1 << 24) - 1
MAX_VIRTUAL_NODE_ID = (1 << 30) - 1

FIRST_GATEWAY_ID = 1 << 30
"""Added to a gateway's number in its fleet, gives the node id under which clients see the gateway.
No broker has such an id. Java's ids of coordinators (2^31 - 1 - id) could equal them only in the
last cluster of a tree, which ``gateway.config_file.tree_rules`` rejects."""

MAX_GATEWAYS = 4_095
"""The most members of a fleet, and the highest number of a member."""

_RANGE = re.compile(r"\s*(-?[0-9]+)\s*(?:-\s*(-?[0-9]+)\s*)?")


MOUNTED_BITS = 16
"""Bits of a mounted cluster's node ids; the bits above them hold its number."""


def virtual_node_id(number: int, node_id: int) -> int:
    """The node id under which clients see a broker. ``number`` is its cluster's in the tree, 0
    without a tree; negative ids, which stand for no broker, are unchanged."""
    return number << MOUNTED_BITS | node_id if number and node_id >= 0 else node_id


class NodeIdRanges:
    """The node ids for which a configuration provides addresses, in the order of the
    configuration."""

    __slots__ = ("_ranges", "highest", "size")

    def __init__(self, ranges: Iterable[tuple[int, int]], largest: int = MAX_NODE_ID) -> None:
        """``ranges`` are (first, last), both inclusive. Raises ValueError with a sentence."""
        self._ranges = tuple(ranges)
        if not self._ranges:
            raise ValueError("node_ids names no node id; give ranges such as 1-3")
        for first, last in self._ranges:
            _check_range(first, last, largest)
        in_order = sorted(self._ranges)
        for (first, last), (next_first, next_last) in pairwise(in_order):
            if next_first <= last:
                raise ValueError(
                    f"node_ids {_range_text(first, last)} and "
                    f"{_range_text(next_first, next_last)} overlap"
                )
        self.size = sum(last - first + 1 for first, last in self._ranges)
        self.highest = in_order[-1][1]

    @classmethod
    def virtual(cls, numbered: Iterable[tuple[int, Self]]) -> Self:
        """The virtual node ids of several clusters, given as (number, ranges), in that order."""
        return cls(
            (
                (virtual_node_id(number, first), virtual_node_id(number, last))
                for number, ranges in numbered
                for first, last in ranges._ranges
            ),
            MAX_VIRTUAL_NODE_ID,
        )

    @classmethod
    def parse(cls, texts: Iterable[str | int]) -> Self:
        """Reads ``["1-3", "10"]``; a lone number may be an int, as YAML reads it.

        Raises ValueError, with a sentence for the operator, for ranges that are no numbers,
        negative, too large, reversed or overlapping, and for no ranges at all.
        """
        return cls(_parse_range(text) for text in texts)

    def place(self, node_id: int) -> int | None:
        """The position of a node id, from 0, in the ranges put end to end, or None outside them."""
        before = 0
        for first, last in self._ranges:
            if first <= node_id <= last:
                return before + node_id - first
            before += last - first + 1
        return None

    def __iter__(self) -> Iterator[int]:
        """The node ids, in the order of their places."""
        for first, last in self._ranges:
            yield from range(first, last + 1)

    def __str__(self) -> str:
        return ", ".join(_range_text(first, last) for first, last in self._ranges)


def _parse_range(text: str | int) -> tuple[int, int]:
    match = _RANGE.fullmatch(str(text))
    # A longer number is larger than every node id, and Python's int() rejects 5,000 digits.
    if match is None or len(str(text)) > 64:
        raise ValueError(f"node_ids {str(text)[:64]!r} is not a node id or a range such as 1-3")
    first = int(match[1])
    return first, first if match[2] is None else int(match[2])


def _check_range(first: int, last: int, largest: int) -> None:
    text = _range_text(first, last)
    if first < 0 or last < 0:
        raise ValueError(f"node_ids {text}: a node id cannot be negative")
    if last < first:
        raise ValueError(f"node_ids {text} is reversed; write {last}-{first}")
    if last > largest:
        raise ValueError(f"node_ids {text}: the largest node id is {largest}")


def _range_text(first: int, last: int) -> str:
    return str(first) if first == last else f"{first}-{last}"
