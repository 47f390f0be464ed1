"""The cluster's defaults, from whatever topics they are read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from gateway.changes.base.broker import cluster_defaults
from gateway.changes.base.resources import STRING_TYPE
from tests.changes import fake_broker
from tests.changes.fake_broker import DEFAULTS
from tests.changes.fakes import World

DEFAULT = 5


def values(defaults: Mapping[str, Any]) -> dict[str, str]:
    assert all(default.source == DEFAULT for default in defaults.values())
    return {key: default.value for key, default in defaults.items()}


async def test_read_off_a_topic() -> None:
    world = World()
    world.broker.make("a", retention_ms="1")
    defaults = await cluster_defaults(world.gateway().context)
    assert values(defaults) == DEFAULTS
    assert defaults["retention.ms"].config_type == 5
    assert defaults["retention.ms"].synonyms == (
        ("log.retention.ms", DEFAULTS["retention.ms"], DEFAULT),
    )
    assert world.broker.requests("CreateTopicsRequest") == []


async def test_the_gateway_s_own_topic_comes_first() -> None:
    world = World()
    world.broker.make("a", "__kafka_gateway_catalog")
    await cluster_defaults(world.gateway().context)
    (request,) = world.broker.requests("DescribeConfigsRequest")
    assert request.resources[0].resource_name == "__kafka_gateway_catalog"


async def test_a_default_that_the_topic_hides(monkeypatch: pytest.MonkeyPatch) -> None:
    """Kafka 4 returns no synonyms of a key that no server config sets."""

    def only_its_own(config: Mapping[str, object]) -> list[dict[str, object]]:
        own = config["config_source"] == 1
        return [{"name": config["name"], "value": config["value"], "source": 1}] if own else []

    monkeypatch.setattr(fake_broker, "_synonyms", only_its_own)
    world = World()
    world.broker.make("a", retention_ms="1")
    defaults = await cluster_defaults(world.gateway().context)
    assert values(defaults) == DEFAULTS
    assert defaults["retention.ms"].config_type == 5
    assert defaults["retention.ms"].synonyms == ()


async def test_topics_that_are_gone_are_passed_over() -> None:
    world = World()
    world.broker.make("a", "b")
    gateway = world.gateway()
    del world.broker.topics["a"]
    assert values(await cluster_defaults(gateway.context)) == DEFAULTS


async def test_a_cluster_without_topics() -> None:
    world = World()
    defaults = await cluster_defaults(world.gateway().context)
    assert values(defaults) == DEFAULTS
    assert {default.config_type for default in defaults.values()} == {STRING_TYPE}
    assert world.broker.topics == {}


async def test_an_old_broker_without_topics_tells_nothing() -> None:
    world = World()
    world.broker.newest["CreateTopicsRequest"] = 4
    assert await cluster_defaults(world.gateway().context) == {}
