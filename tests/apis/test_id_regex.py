"""Expressions over transactional ids have a budget of time and of steps."""

from __future__ import annotations

from itertools import count

import pytest

from gateway.apis.transactions.id_regex import matching_ids
from gateway.name_regex import MAX_SECONDS, CostsTooMuch, NameRegex

LONGEST = 32_767
"""Bytes: the longest string that a request may hold."""

MANY = {b"home..%d" % number: b"%d" % number for number in range(20)}


def test_the_clients_ids_are_matched_as_a_whole() -> None:
    ids = {b"home..tx": b"tx", b"home..tx2": b"tx2", b"tx": b"home..tx"}
    assert matching_ids(NameRegex("tx"), ids) == {b"home..tx"}
    assert matching_ids(NameRegex("home.*"), ids) == {b"tx"}
    assert matching_ids(NameRegex(".*"), {b"\xff": b"\xff"}) == {b"\xff"}, "it is not UTF-8"
    assert matching_ids(NameRegex("d.p.t"), {b"id": "dépôt".encode()}) == {b"id"}


def test_the_longest_id_matches_an_ordinary_expression() -> None:
    ids = {b"id": b"a" * LONGEST, b"other": b"b" + b"a" * (LONGEST - 1)}
    assert matching_ids(NameRegex("a*"), ids) == {b"id"}


def test_a_long_expression_has_a_shorter_longest_id() -> None:
    dear = NameRegex("(?:[ab]*a){490}a*")
    assert matching_ids(dear, {b"id": b"a" * 490}) == {b"id"}
    with pytest.raises(CostsTooMuch):
        matching_ids(dear, {b"id": b"a" * LONGEST})


def test_all_ids_together_have_a_budget() -> None:
    """The clock is only read around matches: a pause between two of them is no work."""
    spent = map(lambda tick: tick * MAX_SECONDS / 15, count())
    with pytest.raises(CostsTooMuch):
        matching_ids(NameRegex(".*"), MANY, lambda: next(spent))
    spent = map(lambda tick: tick * MAX_SECONDS / 25, count())
    assert matching_ids(NameRegex(".*"), MANY, lambda: next(spent)) == MANY.keys()
