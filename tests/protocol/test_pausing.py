"""protocol.pausing: where work may be interrupted."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from protocol import pausing
from protocol.pausing import EVERY, FEW, MANY, eased, in_order, let_go, paced, pause_point


@pytest.fixture
def pauses() -> Iterator[list[str]]:
    """One entry for each pause so far."""
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
