"""protocol.pausing: where work may be interrupted."""

from __future__ import annotations

from collections.abc import Iterator
from io import BytesIO

import pytest

from protocol import pausing
from protocol.pausing import (
    EVERY,
    FEW,
    LONG,
    MANY,
    copied,
    eased,
    in_order,
    joined,
    let_go,
    paced,
    pause_point,
    size_of,
    write_long,
)


@pytest.fixture
def pauses() -> Iterator[list[str]]:
    """Yields an entry for each pause so far."""
    seen: list[str] = []
    pausing.on_pause(lambda: seen.append("pause"))
    yield seen
    pausing.on_pause(None)


def test_without_anyone_who_pauses_nothing_happens() -> None:
    assert not pausing.may_pause()
    pause_point()
    assert list(paced(range(3))) == [0, 1, 2]


def test_a_pause_before_every_so_many(pauses: list[str]) -> None:
    assert list(paced(range(2 * EVERY + 1))) == list(range(2 * EVERY + 1))
    assert (len(pauses), pausing.may_pause()) == (3, True)


def test_few_items_are_taken_as_they_are(pauses: list[str]) -> None:
    few, many = list(range(FEW)), list(range(FEW + 1))
    assert eased(few) is few
    assert (list(eased(many)), bool(pauses)) == (many, True)


def test_many_items_are_let_go_little_by_little(pauses: list[str]) -> None:
    items = list(range(3 * MANY))
    let_go(items)
    assert (len(items), len(pauses)) == (MANY, 2)


def test_many_texts_are_sorted_run_by_run(pauses: list[str]) -> None:
    texts = [str(number * 7919 % (2 * MANY + 1)) for number in range(2 * MANY + 1)]
    assert in_order(set(texts)) == sorted(set(texts))
    assert len(pauses) == 4
    assert in_order(["b", "a"]) == ["a", "b"]


@pytest.mark.parametrize(
    ("sizes", "least_pauses"),
    [
        ([], 0),
        ([1, 0, 2], 0),
        ([3] * (FEW + 1), 1),
        ([3] * (3 * MANY + 1), 4),
        ([LONG + 1], 2),
        ([7, 3 * LONG, 0, LONG, 1], 4),
        ([1] * MANY + [2 * LONG] + [1] * MANY, 4),
    ],
)
def test_pieces_are_joined_some_at_a_time(
    sizes: list[int], least_pauses: int, pauses: list[str]
) -> None:
    pieces: list[bytes | memoryview] = [
        bytes([at % 251]) * size if at % 2 else memoryview(bytes([at % 251]) * size)
        for at, size in enumerate(sizes)
    ]
    whole = b"".join(pieces)
    assert size_of(pieces) == len(whole)
    pauses.clear()
    assert joined(pieces) == whole
    assert len(pauses) >= least_pauses


def test_a_long_content_is_copied_some_at_a_time(pauses: list[str]) -> None:
    content = bytes(range(256)) * 4 * 2048 + b"end"
    out = BytesIO()
    write_long(out, content)
    assert out.getvalue() == content
    assert len(pauses) == len(content) // LONG + 1
    assert copied(content, 5, len(content) - 2) == content[5:-2]
    assert copied(content, 5, 9) == content[5:9]
