"""Topics deleted at the broker by id or name, and what is made of its answers."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from gateway.changes.base.broker import delete_at_broker
from tests.changes.fakes import World


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


async def test_what_is_refused_stays_known() -> None:
    world = World()
    world.broker.make("a")
    world.broker.refusals["a"] = (73, "No.")
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
