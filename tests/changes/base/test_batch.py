"""The items of a request on their way to their results and to responses."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from gateway.catalog.entities import Namespace
from gateway.catalog.source import CatalogUnavailable
from gateway.changes.base.context import Batch, error_fields, write_items, write_response
from gateway.changes.base.rejected import BROKER
from gateway.decision import Denied
from protocol import messages, pausing
from protocol.messages import element_class, make
from protocol.pausing import EVERY, MANY
from tests.changes.fakes import FakeGateway, World, allowed

NO = Denied(29, "No.", "access")
AWAY = Denied(7, "Away.", "unavailable")


def batch(*asked: str, gateway: FakeGateway | None = None) -> Batch[str, int, str]:
    gateway = gateway or World().gateway()
    made: Batch[str, int, str] = Batch(gateway.context, allowed(gateway), asked)
    made.left |= {name: number for number, name in enumerate(asked)}
    return made


def test_answers_come_in_the_order_of_the_request() -> None:
    one = batch("c", "a", "b")
    one.answer("a", "done")
    one.answer("c", NO)
    assert one.left == {"b": 2}
    one.answer("b", "done, too")
    assert list(one.results()) == [("c", NO), ("a", "done"), ("b", "done, too")]
    assert not one.left


def test_an_item_may_be_answered_anew() -> None:
    one = batch("a")
    one.answer("a", "made")
    one.answer("a", NO)
    assert list(one.results()) == [("a", NO)]


def test_a_twin_is_answered_as_the_first_spelling_is() -> None:
    one = batch("a", "second a")
    del one.left["second a"]
    one.twins["second a"] = "a"
    assert one.is_open("a")
    assert not one.is_open("second a")
    one.answer("a", "done")
    assert not one.is_open("a")
    assert list(one.results()) == [("a", "done"), ("second a", "done")]


def test_what_rules_deny_is_kept_for_the_audit_log() -> None:
    one = batch("a", "second a", "b", "c", "d", "e")
    one.twins["second a"] = "a"
    one.reject(NO, ["a", "e"])
    one.answers["b"] = Denied(36, "It is there.", "namespaces")  # by either way of answering it
    one.answer("c", AWAY)
    one.answer("d", Denied(36, "It is there.", BROKER))
    one.answer("e", "done")
    answered = one.answered(b"body")
    assert answered.body == b"body"
    assert [(name, why.code) for name, why in answered.denied] == [
        ("a", 29),
        ("second a", 29),
        ("b", 36),
    ]
    one.restart()
    one.reject(AWAY)
    assert not one.answered(b"").denied


def test_what_is_to_be_tried_again_is_no_denial() -> None:
    one = batch("a")
    one.answer("a", Denied(7, "It keeps changing meanwhile; try again.", "namespaces"))
    assert not one.answered(b"").denied


def test_what_is_left_is_rejected_together() -> None:
    one = batch("a", "b", "c", "d")
    one.answer("a", "done")
    one.twins["d"] = "a"
    one.reject(AWAY)
    assert dict(one.results()) == {"a": "done", "b": AWAY, "c": AWAY, "d": "done"}
    one.reject(NO, ["a", "b"])
    assert dict(one.results()) == {"a": NO, "b": NO, "c": AWAY, "d": NO}


def test_the_items_that_are_left_may_be_named_for_it() -> None:
    one = batch("a", "b")
    one.reject(AWAY, one.left)
    assert not one.left
    assert dict(one.results()) == {"a": AWAY, "b": AWAY}


def test_a_decision_is_made_anew() -> None:
    one = batch("a", "b")
    one.answer("a", NO)
    one.twins["b"] = "a"
    one.restart()
    assert one.is_open("a")
    assert one.is_open("b")
    assert not one.left


def test_a_key_is_whatever_tells_items_apart() -> None:
    gateway = World().gateway()
    names = ("org:x", "org:y")
    one: Batch[int, str, None] = Batch(
        gateway.context, allowed(gateway), range(2), spelled=names.__getitem__
    )
    one.answer(0, NO)
    one.answer(1, None)
    assert list(one.results()) == [(0, NO), (1, None)]
    assert one.answered(b"").denied == [("org:x", NO)]


@pytest.mark.parametrize("work", [lambda one: list(one.results()), lambda one: one.reject(AWAY)])
def test_many_items_have_pauses(work: Callable[[Batch[str, int, str]], object]) -> None:
    names = [str(number) for number in range(10 * EVERY)]
    one = batch(*names)
    one.answers |= dict.fromkeys(names, "done")
    with pauses() as counted:
        work(one)
    assert len(counted) == 10


def test_each_rejection_has_its_share_of_pauses() -> None:
    names = [str(number) for number in range(10 * EVERY)]
    one = batch(*names)
    with pauses() as counted:
        one.reject(AWAY)
    assert len(counted) == 2 * 10  # the items are found, and rejected
    assert set(one.answers.values()) == {AWAY}
    with pauses() as counted:
        one.reject(NO, names)
    assert len(counted) == 10


@contextmanager
def pauses() -> Iterator[list[None]]:
    counted: list[None] = []
    pausing.on_pause(lambda: counted.append(None))
    try:
        yield counted
    finally:
        pausing.on_pause(None)


async def test_it_goes_on_by_the_newest_catalog() -> None:
    world = World()
    gateway = world.gateway()
    gateway.catalog.lags = True
    one = batch("a", gateway=gateway)
    world.log.append([Namespace("org")])
    one.follow_catalog()
    assert "org" not in one.view.snapshot.namespaces
    await one.refresh()
    assert "org" in one.view.snapshot.namespaces
    assert one.view.settings == gateway.view().settings


async def test_access_is_renewed_while_the_catalog_can_be_read_or_is_fresh() -> None:
    world = World()
    gateway = world.gateway()
    gateway.catalog.lags = True
    one = batch("a", gateway=gateway)
    world.log.append([Namespace("org")])
    await one.refresh()
    assert one.view.snapshot == world.snapshot
    gateway.catalog.down = True
    await one.refresh()
    assert one.view.snapshot == world.snapshot
    gateway.catalog.fresh = False
    with pytest.raises(CatalogUnavailable):
        await one.refresh()


@pytest.mark.parametrize(
    ("api", "version"),
    [("AlterConfigs", 0), ("AlterConfigs", 2), ("IncrementalAlterConfigs", 1)],
)
def test_a_response_of_any_version(api: str, version: int) -> None:
    entries = [
        {**error_fields(answer), "resource_type": 2, "resource_name": name}
        for name, answer in (("b", NO), ("a", None))
    ]
    body = write_response(f"{api}Response", version, "responses", entries)
    told = messages.parse(f"{api}Response", version, body).responses
    assert [
        (t.resource_type, t.resource_name, int(t.error_code), t.error_message) for t in told
    ] == [
        (2, "b", 29, "No."),
        (2, "a", 0, None),
    ]


def test_a_long_response_is_freed_a_part_at_a_time() -> None:
    cls = messages.message_class("CreatePartitionsResponse", 3)
    made = [make(element_class(cls, "results"), {"name": str(n)}) for n in range(2 * MANY + 1)]
    body = write_items(cls, "results", made)
    results = messages.parse("CreatePartitionsResponse", 3, body).results
    assert [result.name for result in results] == [str(n) for n in range(2 * MANY + 1)]
    assert len(made) <= MANY
