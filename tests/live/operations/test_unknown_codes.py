"""A broker returns an error code that no present Kafka knows, for a topic.

The gateway serves everything else, and can start meanwhile.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta
from typing import Any, Final

import pytest

from devkit.broker import KafkaCluster
from devkit.gateway_config import Listener
from devkit.gateway_process import GatewayProcess
from devkit.waiting import wait_until
from protocol import messages
from protocol.schema import api_key_of
from tests.live.records.relay import FaultyRelay
from tests.live.support import clients
from tests.live.support.wire import Wire

UNKNOWN: Final = 12345
STRANGE: Final = "strange"
"""The topic for which the broker returns the code."""

TIMEOUT: Final = timedelta(seconds=60)


@pytest.fixture(scope="module")
def relay() -> Iterator[FaultyRelay]:
    """A relay in front of a broker of this file's own, which is reached only through the relay."""
    with FaultyRelay() as relay:
        advertised = {"advertised.listeners": f"PLAINTEXT://{relay.address}"}
        with KafkaCluster(overrides=advertised) as kafka:
            relay.upstream = kafka.addresses[1]
            clients.create(relay.address, STRANGE, "orders")
            yield relay


@pytest.fixture(scope="module")
def gateway(relay: FaultyRelay) -> Iterator[GatewayProcess]:
    """A gateway whose broker is behind the relay, and which starts while the code is returned."""
    with unknown(relay, "Metadata", "topics"), _gateway(relay) as process:
        yield process


def _gateway(relay: FaultyRelay, **overrides: Any) -> GatewayProcess:
    listeners = (Listener("colon", "all"),)
    return GatewayProcess(relay.address, listeners, ["team-a"], overrides=overrides)


@contextmanager
def unknown(relay: FaultyRelay, api: str, array: str = "") -> Iterator[None]:
    """Put the code into responses of an API until the end of the ``with``.

    The code is in the array's item whose name is, or ends in, ``strange``, or at the top if there
    is no array.
    """
    key, name = api_key_of(f"{api}Request"), f"{api}Response"

    def edit(version: int, body: bytes) -> bytes:
        response = messages.parse(name, version, body)
        if not array:
            return messages.write(replace(response, error_code=UNKNOWN))
        items = tuple(map(_strange, getattr(response, array)))
        return messages.write(replace(response, **{array: items}))

    relay.edits[key] = edit
    try:
        yield
    finally:
        del relay.edits[key]


def _strange(item: Any) -> Any:
    name = getattr(item, "name", None) or getattr(item, "resource_name", None) or ""
    return replace(item, error_code=UNKNOWN) if name.endswith(STRANGE) else item


def _codes(wire: Wire, *topics: str) -> dict[str, int]:
    named = [{"name": topic} for topic in topics]
    found = wire.ask("Metadata", 12, topics=named, allow_auto_topic_creation=False).topics
    return {topic.name: topic.error_code for topic in found}


def test_other_topics_are_known_and_the_gateway_is_ready(
    relay: FaultyRelay, gateway: GatewayProcess
) -> None:
    with Wire(gateway.bootstrap_servers("colon")) as wire:
        assert _codes(wire, STRANGE, "orders") == {STRANGE: UNKNOWN, "orders": 0}
        clients.create(relay.address, "elsewhere")
        wait_until(
            lambda: _codes(wire, "elsewhere") == {"elsewhere": 0}, "its topic", clients.SECONDS
        )
        listed = wire.ask("Metadata", 12, topics=None).topics
        assert {STRANGE, "orders", "elsewhere"} <= {topic.name for topic in listed}
    assert gateway.get("/readyz")[0] == 200


NAMED: Final = [{"name": f"team-a:{name}"} for name in (STRANGE, "usual")]
CREATED: Final = [{**topic, "num_partitions": 1, "replication_factor": 1} for topic in NAMED]
DESCRIBED: Final = [
    {"resource_type": 2, "resource_name": name, "configuration_keys": None}
    for name in (STRANGE, "orders")
]


def test_the_client_gets_the_code_on_its_connection(
    relay: FaultyRelay, gateway: GatewayProcess
) -> None:
    with Wire(gateway.bootstrap_servers("colon")) as wire:
        with unknown(relay, "CreateTopics", "topics"):
            made = wire.ask("CreateTopics", 7, topics=CREATED, timeout=TIMEOUT).topics
        assert [one.error_code for one in made] == [UNKNOWN, 0]
        with unknown(relay, "DescribeConfigs", "results"):
            described = wire.ask("DescribeConfigs", 4, resources=DESCRIBED).results
        assert [one.error_code for one in described] == [UNKNOWN, 0]
        assert described[1].configs
        with unknown(relay, "DeleteTopics", "responses"):
            gone = wire.ask("DeleteTopics", 6, topics=NAMED, timeout=TIMEOUT).responses
        assert [one.error_code for one in gone] == [UNKNOWN, 0]
        with unknown(relay, "ListGroups"):
            assert wire.ask("ListGroups", 4).error_code == UNKNOWN
        assert wire.ask("ListGroups", 4).error_code == 0
    label = 'error="(unknown)"'
    wait_until(lambda: label in gateway.get("/metrics")[1], "the code counted", clients.SECONDS)
