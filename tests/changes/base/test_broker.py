"""Queries to the broker about topics, and how its responses are read."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from gateway.changes.base.broker import delete_at_broker, query_each
from gateway.decision import Denied
from protocol.messages import Request
from tests.changes.fakes import FakeGateway, World


async def test_by_id_and_by_name() -> None:
    world = World()
    world.broker.make("a", "b", "c")
    gateway = world.gateway()
    ids = {"a": world.broker.topics["a"].topic_id, "b": None, "none": None, "c": b"o" * 16}
    outcomes = await delete_at_broker(gateway.context, ids)
    assert {flat: outcome.code for flat, outcome in outcomes.items()} == {
        "a": 0,
        "b": 0,
        "none": 3,
        "c": 100,
    }
    assert all(outcome.gone for outcome in outcomes.values())
    assert set(world.broker.topics) == {"c"}
    assert set(gateway.cluster.index.names()) == {b"c"}


async def test_a_topic_made_right_after_it_was_unknown_is_listed() -> None:
    world = World()
    gateway = world.gateway()
    await delete_at_broker(gateway.context, {"a": None})
    world.broker.make("a")
    await gateway.cluster.refresh()
    assert gateway.cluster.index.exists(b"a")


async def test_what_is_rejected_stays_known() -> None:
    world = World()
    world.broker.make("a")
    world.broker.rejections["a"] = (73, "No.")
    gateway = world.gateway()
    outcome = (await delete_at_broker(gateway.context, {"a": None}))["a"]
    assert (outcome.code, outcome.message, outcome.gone) == (73, "No.", False)
    assert gateway.cluster.index.exists(b"a")


async def test_nothing_asks_nobody() -> None:
    world = World()
    assert await delete_at_broker(world.gateway().context, {}) == {}
    assert not world.broker.asked


async def test_a_topic_that_the_broker_leaves_out_is_not_called_gone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    world = World()
    world.broker.make("a", "b")
    gateway = world.gateway()
    ask = world.broker.ask

    async def shortened(*args: Any, **keywords: Any) -> Any:
        response = await ask(*args, **keywords)
        return replace(response, responses=response.responses[:1])

    monkeypatch.setattr(world.broker, "ask", shortened)
    outcomes = await delete_at_broker(gateway.context, {"a": None, "b": None})
    assert [outcome.gone for outcome in outcomes.values()] == [True, False]


async def partitions(gateway: FakeGateway, **counts: int) -> dict[str, Any]:
    topics = [{"name": name, "count": count, "assignments": None} for name, count in counts.items()]
    request = Request("CreatePartitionsRequest", 3, {"topics": topics})
    return await query_each(gateway.context, request, counts, "results")


async def test_every_topic_has_an_answer_of_its_own() -> None:
    world = World()
    world.broker.make("a", "b")
    told = await partitions(world.gateway(), a=9, b=0)
    assert told["a"].name == "a"
    assert isinstance(told["b"], Denied)
    assert (told["b"].code, told["b"].rule) == (37, "broker")
    assert told["b"].message.endswith("0 would not be an increase.")


async def test_every_topic_is_answered_while_the_broker_is_away() -> None:
    world = World()
    world.broker.down = True
    told = await partitions(world.gateway(), a=2, b=2)
    assert {flat: (why.code, why.rule) for flat, why in told.items()} == {
        "a": (7, "unavailable"),
        "b": (7, "unavailable"),
    }


async def test_what_the_broker_leaves_out_is_not_known(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World()
    world.broker.make("a", "b")
    ask = world.broker.ask

    async def without_b(request: Request, *, changes: bool = True) -> Any:
        answer = await ask(request, changes=changes)
        other = replace(answer.results[0], name="other")
        return replace(answer, results=(answer.results[0], other))

    gateway = world.gateway()
    monkeypatch.setattr(world.broker, "ask", without_b)
    told = await partitions(gateway, a=9, b=9)
    assert set(told) == {"a", "b"}
    assert told["a"].name == "a"
    assert told["b"].message == "The broker does not say what became of it; try again."
