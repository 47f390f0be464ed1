"""gateway.checks.broker_limits: limits of brokers below the limits of listeners."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, get_type_hints

import pytest

from gateway.checks.broker_limits import limit_warnings
from gateway.config.models import Config
from protocol import messages
from protocol.errors import ProtocolError
from protocol.messages import Request
from protocol.schema import field_type
from tests.config import config_samples

UNLIMITED = "2147483647"
"""Kafka's default for each of them."""


class Brokers:
    """Brokers that return these configs, each its own, or None if they may not be described."""

    def __init__(self, **configs: dict[str, str] | None) -> None:
        self.configs = {int(name.removeprefix("b")): value for name, value in configs.items()}
        self.addresses = {node: ("broker.example", node) for node in self.configs}

    async def ask(self, request: Request, *, changes: bool = True) -> Any:
        """Fail, because only a broker itself knows its configs."""
        raise NotImplementedError

    async def ask_at(
        self, address: tuple[str, int], request: Request, *, within: float | None = None
    ) -> Any:
        """The configs of a broker that were requested."""
        (resource,) = request.entity(request.at_most).resources
        assert (int(resource.resource_type), resource.resource_name) == (4, str(address[1]))
        own = self.configs[address[1]]
        cls = messages.message_class("DescribeConfigsResponse", request.at_most)
        result: Any = field_type(get_type_hints(cls)["results"])[0]
        config: Any = field_type(get_type_hints(result)["configs"])[0]
        wanted = resource.configuration_keys
        told = {key: value for key, value in (own or {}).items() if wanted is None or key in wanted}
        configs = tuple(
            messages.build(config, name=key, value=value) for key, value in told.items()
        )
        code = 31 if own is None else 0
        return messages.build(
            cls, results=(messages.build(result, error_code=code, configs=configs),)
        )


Configured = Callable[..., Config]


@pytest.fixture
def configured(tmp_path: Path) -> Configured:
    """A configuration with these keys of its only listener."""

    def made(workers: int = 1, most: int | None = None, **listener: Any) -> Config:
        values = config_samples.values()
        listeners = [{**values["listeners"][0], **listener}]
        clusters = [{**values["clusters"][0], "max_connections_per_broker": most}]
        return config_samples.config(
            tmp_path, workers=workers, listeners=listeners, clusters=clusters
        )

    return made


async def warned(config: Config, brokers: Brokers) -> list[str]:
    return [one.text for one in await limit_warnings(config, brokers, brokers.addresses)]


ALL = {"max.connections", "max.connections.per.ip", "max.connection.creation.rate"}


async def test_brokers_without_limits(configured: Configured) -> None:
    assert await warned(configured(), Brokers(b1=dict.fromkeys(ALL, UNLIMITED))) == []


@pytest.mark.parametrize("key", sorted(ALL))
async def test_each_limit(configured: Configured, key: str) -> None:
    limits = {**dict.fromkeys(ALL, UNLIMITED), key: "40"}
    (text,) = await warned(configured(), Brokers(b1=limits, b2=limits))
    assert f"({key})" in text
    assert "brokers 1, 2 accept 40 " in text


@pytest.mark.parametrize("key", ["max.connections", "max.connection.creation.rate"])
async def test_limits_of_the_listener_that_the_gateway_connects_to(
    configured: Configured, key: str
) -> None:
    """Kafka's ``listener.name.<name in lower case>.<key>`` (KIP-402, KIP-612)."""
    listeners = "REPLICATION://broker.example:91,CLIENTS://broker.example:1"
    brokers = Brokers(
        b1={
            "advertised.listeners": listeners,
            f"listener.name.clients.{key}": "40",
            f"listener.name.replication.{key}": "10",
        }
    )
    (text,) = await warned(configured(), brokers)
    assert f"(listener.name.clients.{key})" in text
    assert "broker 1 accepts 40 " in text
    elsewhere = Brokers(b1={"listeners": "CLIENTS://:1", f"listener.name.clients.{key}": "40"})
    assert await warned(configured(), elsewhere) == []


async def test_each_worker_lets_as_many_in(configured: Configured) -> None:
    brokers = Brokers(b1={"max.connections.per.ip": "400"})
    few = {"max.connections": 100}
    assert await warned(configured(4, **few), brokers) == []
    assert len(await warned(configured(5, **few), brokers)) == 1


async def test_what_the_gateway_opens_at_most_counts(configured: Configured) -> None:
    brokers = Brokers(b1={"max.connections.per.ip": "400"})
    assert await warned(configured(most=400), brokers) == []
    (text,) = await warned(configured(most=401), brokers)
    assert text.endswith("or set max_connections_per_broker of this cluster below it")
    rate = Brokers(b1={"max.connection.creation.rate": "10"})
    assert len(await warned(configured(most=5), rate)) == 1


async def test_a_rate_is_compared_with_the_rate(configured: Configured) -> None:
    brokers = Brokers(b1={"max.connection.creation.rate": "10"})
    assert await warned(configured(**{"max.connection.creation.rate": 10}), brokers) == []
    assert len(await warned(configured(**{"max.connections": 1}), brokers)) == 1


async def test_those_that_do_not_tell(configured: Configured) -> None:
    assert await warned(configured(), Brokers(b1=None)) == []


class Nonsense(Brokers):
    """Brokers whose responses are not Kafka's."""

    async def ask_at(
        self, address: tuple[str, int], request: Request, *, within: float | None = None
    ) -> Any:
        raise ProtocolError("the response ends too early")


async def test_those_that_make_no_sense(configured: Configured) -> None:
    brokers = Nonsense(b1={"max.connections": "10"})
    assert await limit_warnings(configured(), brokers, brokers.addresses) == []
