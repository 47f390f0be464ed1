"""A broker at its limits of connections: all clients of a gateway have the gateway's address."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from functools import partial
from typing import Final

import pytest
from confluent_kafka.admin import (
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    ResourceType,
)

from devkit.broker import KafkaCluster
from devkit.gateway_config import Listener
from devkit.gateway_process import GatewayProcess
from devkit.waiting import wait_until
from tests.live.support import clients, namespaces
from tests.live.support.secured_brokers import PASSWORDS, SecuredBrokers
from tests.live.support.wire import ConnectionEnded, Wire

pytestmark = pytest.mark.long("kills")

LIMIT: Final = 40
IDLE: Final = 60
OTHERS: Final = 5

RATE: Final = 5
AT_ONCE: Final = 120
PATIENCE: Final = 10.0
"""Seconds for which each client waits, in all."""

QUOTA_SECONDS: Final = 12.0
"""Seconds after which Kafka forgets connections: ``quota.window.num`` windows of a second."""

SPARED: Final = 10
"""How many fewer clients may get through the gateway.

If a client leaves while the gateway opens its connection, that has used the broker's rate, and the
gateway has connections of its own.
"""


@pytest.fixture(scope="module")
def full() -> Iterator[KafkaCluster]:
    with KafkaCluster(overrides={"max.connections.per.ip": str(LIMIT)}) as kafka:
        yield kafka


def served(wire: Wire) -> bool:
    """Whether a broker answers a client's request."""
    try:
        return bool(wire.ask("Metadata", 4, topics=()).brokers)
    except (ConnectionEnded, OSError):
        return False


def count(gateway: GatewayProcess, metric: str) -> float:
    found = re.findall(rf"^kafka_gateway_{metric}(?:{{[^}}]*}})? (\S+)$", gateway.metrics(), re.M)
    return sum(map(float, found))


@pytest.mark.parametrize("workers", [1, 2])
def test_one_client_does_not_lock_the_others_out(full: KafkaCluster, workers: int) -> None:
    """Clients are told apart by address here, because there is no login."""
    listener = Listener("all", "every namespace")
    with (
        GatewayProcess(full.bootstrap_servers, [listener], ["team-a"], workers=workers) as gateway,
        ExitStack() as stack,
    ):
        servers = gateway.bootstrap_servers("all")

        def connect(source: str) -> Wire:
            return stack.enter_context(Wire(servers, source=source))

        def is_let_in(source: str) -> bool:
            return served(connect(source))

        idle = [wire for wire in (connect("127.0.0.1") for _ in range(IDLE)) if served(wire)]
        assert LIMIT / 4 < len(idle) <= LIMIT, "the broker's limit, less the gateway's own"

        for number in range(OTHERS):
            comes = partial(is_let_in, f"127.0.0.{number + 2}")
            wait_until(comes, "another client is served", clients.SECONDS)
        stayed = sum(map(served, idle))
        assert len(idle) - stayed <= OTHERS + workers, "no more gave way than were needed"

        assert gateway.get("/readyz")[0] == 200
        wait_until(
            lambda: count(gateway, "broker_refusals_total") >= IDLE - LIMIT,
            "the count of refused ones",
            clients.SECONDS,
        )
        assert count(gateway, "locked_out") == 0
        log = gateway.log()
        told = log.count("closes new connections before it answers")
        assert 1 <= told <= workers, "one line, not one for each client"
        assert "max.connections.per.ip" in log
        assert len(re.findall(r"\bWARNING\b.* gateway\.connections", log)) == told


def test_new_clients_that_cannot_get_through_are_told_apart(full: KafkaCluster) -> None:
    """Another program on the gateway's machine has all connections, so no client can make room."""
    listener = Listener("all", "every namespace")
    with (
        GatewayProcess(full.bootstrap_servers, [listener], ["team-a"]) as gateway,
        ExitStack() as stack,
    ):
        servers = gateway.bootstrap_servers("all")
        old = stack.enter_context(Wire(servers))
        assert served(old)
        others: list[Wire] = []

        def locked_out() -> bool:
            while served(other := stack.enter_context(Wire(full.bootstrap_servers))):
                others.append(other)  # the gateway may have closed an early connection
            with Wire(servers, source="127.0.0.2") as new:
                return not served(new) and gateway.get("/readyz")[0] == 503

        wait_until(locked_out, "readiness", clients.SECONDS)
        _, text = gateway.get("/readyz")
        assert "new clients cannot get through" in text
        assert "max.connections.per.ip" in text
        assert count(gateway, "locked_out") == 1
        assert served(old), "older ones work"

        for other in others:
            other.close()

        def ready() -> bool:
            with Wire(servers, source="127.0.0.2") as new:
                return served(new) and gateway.get("/readyz")[0] == 200

        wait_until(ready, "readiness again", clients.SECONDS)


WAIT: Final = 5.0
"""Seconds for which a client waits for a broker that does not answer."""


def test_one_client_does_not_fill_a_listener_of_the_broker() -> None:
    """At ``max.connections`` of a listener a broker answers no new connection and closes none.

    Directly new clients wait until another client leaves. Through the gateway an idle connection
    of the client that has the most gives way.
    """
    listener = Listener("all", "every namespace")
    limit = {"listener.name.plaintext.max.connections": str(LIMIT)}
    with (
        KafkaCluster(overrides=limit) as kafka,
        GatewayProcess(kafka.bootstrap_servers, [listener], ["team-a"]) as gateway,
        ExitStack() as stack,
    ):
        servers = gateway.bootstrap_servers("all")
        checked = namespaces.attempt("check", "--cluster", str(gateway.config_path))
        assert f"accepts {LIMIT} connections ({next(iter(limit))})" in checked.err

        def comes(source: str, address: str = servers) -> Wire | None:
            wire = stack.enter_context(Wire(address, source=source, seconds=WAIT))
            if served(wire):
                return wire
            wire.close()
            return None

        with ThreadPoolExecutor(IDLE) as pool:
            many = [wire for wire in pool.map(comes, ["127.0.0.1"] * IDLE) if wire is not None]
        assert LIMIT / 4 < len(many) <= LIMIT, "the broker's limit, less the gateway's own"
        assert comes("127.0.0.1", kafka.bootstrap_servers) is None, "directly clients wait"
        others = [f"127.0.0.{number + 2}" for number in range(OTHERS)]
        for other in others:
            wait_until(partial(comes, other), "another client is served", clients.SECONDS)
        stayed = sum(map(served, many))
        assert len(many) - stayed <= OTHERS + 1, "no more gave way than were needed"

        log = gateway.log()
        assert log.count("does not answer new connections") == 1
        assert "max.connections and" in log
        wait_until(lambda: gateway.get("/readyz")[0] == 200, "readiness", clients.SECONDS)
        assert count(gateway, "locked_out") == 0


def set_rate(brokers: SecuredBrokers, rate: int | None) -> None:
    """Limit the broker's new connections per second, on all listeners together (KIP-612)."""
    kind = AlterConfigOpType.DELETE if rate is None else AlterConfigOpType.SET
    entry = ConfigEntry("max.connection.creation.rate", str(rate or ""), incremental_operation=kind)
    resource = ConfigResource(ResourceType.BROKER, "1", incremental_configs=[entry])
    admin = clients.admin(brokers.kafka.bootstrap_servers)
    for changed in admin.incremental_alter_configs([resource]).values():
        changed.result(clients.SECONDS)


def set_address_rate(brokers: SecuredBrokers, rate: int | None) -> None:
    """Limit the new connections per second of this address, as ``kafka-configs.sh --entity-type
    ips`` does (KIP-612)."""
    op = {"key": "connection_creation_rate", "value": float(rate or 0), "remove": rate is None}
    entity = {"entity_type": "ip", "entity_name": "127.0.0.1"}

    def change() -> list[int]:
        try:
            with Wire(brokers.kafka.bootstrap_servers) as wire:
                request = [{"entity": [entity], "ops": [op]}]
                changed = wire.ask("AlterClientQuotas", 1, entries=request)
        except ConnectionEnded:  # this connection, too, was beyond the limit
            return []
        return [each.error_code for each in changed.entries]

    assert wait_until(change, "a connection that changes the limit", clients.SECONDS) == [0]


def log_in(wire: Wire, user: str) -> None:
    assert not wire.ask("SaslHandshake", 1, mechanism="PLAIN").error_code
    token = f"\0{user}\0{PASSWORDS[user]}".encode()
    assert not wire.ask("SaslAuthenticate", 2, auth_bytes=token).error_code


def crowd(address: str, user: str | None = None) -> int:
    """How many of the clients that connect at once get through in time.

    They stay until all have finished.
    """

    def come(deadline: float) -> Wire | None:
        try:
            wire = Wire(address, seconds=PATIENCE)
        except OSError:
            return None
        try:
            wire.until(max(deadline - time.monotonic(), 0.01))
            if user is not None:
                log_in(wire, user)
            if wire.ask("Metadata", 4, topics=()).brokers:
                return wire
        except (ConnectionEnded, OSError):
            pass
        wire.close()
        return None

    with ThreadPoolExecutor(AT_ONCE) as pool:
        deadline = time.monotonic() + PATIENCE
        through = [wire for wire in pool.map(come, [deadline] * AT_ONCE) if wire is not None]
    for wire in through:
        wire.close()
    return len(through)


@pytest.mark.parametrize("set_limit", [set_rate, set_address_rate])
def test_as_many_get_through_as_directly(
    set_limit: Callable[[SecuredBrokers, int | None], None],
) -> None:
    """120 clients at once at a broker that accepts 5 connections a second.

    At the broker's limit each connection waits, beyond that of an address it is closed.
    """
    with SecuredBrokers() as brokers:
        security = brokers.identity("SASL_PLAINTEXT", "PLAIN")
        with brokers.gateway(security) as gateway:
            servers = gateway.bootstrap_servers("all")
            assert crowd(servers) == AT_ONCE, "without a rate all do"
            set_limit(brokers, RATE)
            time.sleep(QUOTA_SECONDS)
            directly = crowd(brokers.kafka.servers("SASL_PLAINTEXT"), "gateway")
            assert directly < AT_ONCE
            time.sleep(QUOTA_SECONDS)
            through = crowd(servers)
            print(f"{set_limit.__name__}: {directly} directly, {through} through the gateway")
            assert through >= directly - SPARED
            assert gateway.get("/readyz")[0] == 200
            set_limit(brokers, None)
            # The broker answers before it goes by the change.
            wait_until(lambda: crowd(servers) == AT_ONCE, "all get through", clients.SECONDS)
