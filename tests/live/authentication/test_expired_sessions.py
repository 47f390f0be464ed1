"""Expired logins: clients see the same at a plain broker and through the gateway.

A broker checks the session at the next request (SocketServer.processCompletedReceives). The same
steps are taken at a broker with a short ``connections.max.reauth.ms``, on a listener that passes
logins through to that broker, and on a listener with ``max_reauth_seconds``.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path
from typing import Final

import pytest
from confluent_kafka.admin import AclOperation

from devkit import java
from devkit.gateway_config import Listener
from devkit.gateway_process import GatewayProcess
from protocol import messages
from protocol.schema import api_key_of
from tests.live.support import clients, java_tools
from tests.live.support.by_hand import await_coordinators
from tests.live.support.secured_brokers import ANY, PASSWORDS, SecuredBrokers
from tests.live.support.wire import ConnectionEnded, Wire, entity, request_frame
from tests.session.producing import batch, produce

pytestmark = pytest.mark.long("kills")

Names = Callable[[str], str]

SESSION_SECONDS: Final = 8
"""Clients re-authenticate after 85 to 95 % of it, and machines are busy."""
OVER: Final = SESSION_SECONDS + 1.0
"""Seconds after a login by which its session is over, at the broker and here."""

OPEN_SECONDS: Final = 2.0
"""For how long a connection that should stay open is watched."""

HELD_SECONDS: Final = 17
"""How long the broker holds the first JoinGroup of a group, over two sessions."""

SIDES: Final = ("through", "own")


@pytest.fixture(scope="module")
def brokers() -> Iterator[SecuredBrokers]:
    key = "listener.name.sasl_plaintext.{}connections.max.reauth.ms"
    overrides = {
        key.format(""): str(SESSION_SECONDS * 1_000),
        key.format("scram-sha-256."): "600000",  # the gateway's own
        "group.initial.rebalance.delay.ms": str(HELD_SECONDS * 1_000),
    }
    with SecuredBrokers(overrides=overrides) as started:
        for kind, name in ANY:
            started.allow("alice", kind, name, AclOperation.ALL)
        yield started


@pytest.fixture(scope="module")
def gateway(brokers: SecuredBrokers) -> Iterator[GatewayProcess]:
    password = brokers.directory / "alice"
    password.write_text(PASSWORDS["alice"])
    own = {
        "mechanisms": ["PLAIN"],
        "users": {"alice": {"file": str(password)}},
        "max_reauth_seconds": float(SESSION_SECONDS),
    }
    through = {"mechanisms": ["PLAIN"], "pass_through": True}
    listeners = [Listener("all", "asks nobody")] + [
        Listener(name, "logs in", security={"security_protocol": "SASL_PLAINTEXT", "sasl": sasl})
        for name, sasl in (("through", through), ("own", own))
    ]
    security = brokers.identity("SASL_PLAINTEXT", "SCRAM-SHA-256")
    with brokers.gateway(security, listeners) as started:
        yield started


@pytest.fixture(scope="module")
def sides(brokers: SecuredBrokers, gateway: GatewayProcess) -> dict[str, str]:
    """The address of each side: a broker's, and a gateway port of that broker."""
    return {"direct": brokers.kafka.servers("SASL_PLAINTEXT")} | {
        side: gateway.bootstrap_servers(side) for side in SIDES
    }


# -- by hand ----------------------------------------------------------------------------------


def log_in(wire: Wire) -> None:
    assert not wire.ask("SaslHandshake", 1, mechanism="PLAIN").error_code
    token = f"\0alice\0{PASSWORDS['alice']}".encode()
    answer = wire.ask("SaslAuthenticate", 2, auth_bytes=token)
    assert not answer.error_code
    lasts = answer.session_lifetime.total_seconds()
    assert SESSION_SECONDS - 1.0 < lasts <= SESSION_SECONDS


def served(wire: Wire) -> str:
    """Whether a Metadata request for no topics is served."""
    try:
        wire.ask("Metadata", 4, topics=[], allow_auto_topic_creation=False)
    except (ConnectionEnded, ConnectionError):
        return "closed"
    return "served"


def stays_open(wire: Wire) -> str:
    """Whether an idle connection stays open."""
    wire.until(OPEN_SECONDS)
    try:
        return "open" if wire.receive(1) else "?"
    except ConnectionEnded:
        return "closed"
    except TimeoutError:
        return "open"
    finally:
        wire.until(clients.SECONDS)


def fetch(topic: str, max_wait: float, correlation_id: int) -> bytes:
    values = {
        "replica_id": -1,
        "max_wait": timedelta(seconds=max_wait),
        "min_bytes": 1,
        "max_bytes": 1_000,
        "topics": [
            {"topic": topic, "partitions": [{"partition": 0, "partition_max_bytes": 1_000}]}
        ],
    }
    body = messages.write(entity(messages.message_class("FetchRequest", 4), values))
    return request_frame(api_key_of("FetchRequest"), 4, body, correlation_id)


def answered(wire: Wire) -> list[int]:
    """The correlation ids of the responses until the other side closes."""
    ids = []
    while True:
        try:
            ids.append(int.from_bytes(wire.frame()[:4], "big"))
        except ConnectionEnded:
            return ids


def idle_and_renewed(wire: Wire, topic: str) -> object:
    time.sleep(OVER)
    left = stays_open(wire)
    log_in(wire)
    return left, served(wire)


def idle_and_not_renewed(wire: Wire, topic: str) -> object:
    time.sleep(OVER)
    return served(wire)


def asks_for_versions(wire: Wire, topic: str) -> object:
    time.sleep(OVER)
    wire.send(request_frame(api_key_of("ApiVersionsRequest"), 0, b""))
    return answered(wire)


def begins_to_prove_it(wire: Wire, topic: str) -> object:
    time.sleep(OVER)
    assert not wire.ask("SaslHandshake", 1, mechanism="PLAIN").error_code
    left = stays_open(wire)
    wire.send(request_frame(api_key_of("MetadataRequest"), 4, b"\x00\x00\x00\x00\x00"))
    wire.wait_for_end()  # a broker may first respond that this is no SaslAuthenticate
    return left


def fetches_that_wait(wire: Wire, topic: str) -> object:
    """The first Fetch is answered after its wait, the others that were sent ahead are not."""
    began = time.monotonic()
    wire.send(b"".join(fetch(topic, OVER, each) for each in (1, 2, 3)))
    first = int.from_bytes(wire.frame()[:4], "big")
    assert time.monotonic() - began > OVER
    return first, answered(wire)


def asks_behind_a_fetch(wire: Wire, topic: str) -> object:
    """A request after the session's end ends the connection only after the pending response."""
    wire.send(fetch(topic, OVER + 1.0, 1))
    time.sleep(OVER)
    wire.send(fetch(topic, 0.0, 2))
    return answered(wire)


def sends_the_rest_late(wire: Wire, topic: str) -> object:
    values = produce({topic: [batch(1)]}, 3)
    frame = request_frame(api_key_of("ProduceRequest"), 3, messages.write(values), 1)
    wire.send(frame[:-10])
    time.sleep(OVER)
    left = stays_open(wire)
    wire.send(frame[-10:])
    return left, answered(wire)


STEPS: Final[dict[Callable[[Wire, str], object], object]] = {
    idle_and_renewed: ("open", "served"),
    idle_and_not_renewed: "closed",
    asks_for_versions: [],
    begins_to_prove_it: "open",
    fetches_that_wait: (1, []),
    asks_behind_a_fetch: [1],
    sends_the_rest_late: ("open", []),
}
"""The outcome of each step at Kafka 4.3.1."""


def outcomes(address: str, topic: str) -> dict[Callable[[Wire, str], object], object]:
    """The outcome of each step, on a connection of its own, all at the same time."""

    def take(step: Callable[[Wire, str], object]) -> object:
        with Wire(address) as wire:
            log_in(wire)
            assert served(wire) == "served"
            return step(wire, topic)

    with ThreadPoolExecutor(len(STEPS)) as pool:
        taken = {step: pool.submit(take, step) for step in STEPS}
        return {step: future.result() for step, future in taken.items()}


def test_what_a_broker_does_the_gateway_does(
    sides: Mapping[str, str], brokers: SecuredBrokers, gateway: GatewayProcess, unique: Names
) -> None:
    topic = unique("idle")
    clients.create(gateway.bootstrap_servers("all"), topic)
    for side, address in sides.items():
        assert outcomes(leader(address), topic) == STEPS, side
    with Wire(brokers.kafka.bootstrap_servers) as wire:
        wire.send(fetch(topic, 0.0, 1))
        read = messages.parse("FetchResponse", 4, wire.frame()[4:])
    (partition,) = read.responses[0].partitions
    assert not partition.error_code
    assert partition.high_watermark == 0, "nothing of what came late is written"


def leader(address: str) -> str:
    """The address of the only broker, as this server reports it."""
    with Wire(address) as wire:
        log_in(wire)
        (broker,) = wire.ask("Metadata", 4, topics=[], allow_auto_topic_creation=False).brokers
        return f"{broker.host}:{broker.port}"


# -- Java's client ----------------------------------------------------------------------------


def java_totals(address: str, topic: str, group: str, directory: Path) -> dict[str, int]:
    """The totals that ExpiringSessions.java prints."""
    classes = java.compile_java(java_tools.SOURCES / "ExpiringSessions.java")
    login = java_tools.login_file(directory, "alice", PASSWORDS["alice"])
    args = [str(login), address, topic, group, str(HELD_SECONDS + SESSION_SECONDS + 2)]
    result = java.run_java("ExpiringSessions", args, classes=classes)
    assert result.returncode == 0, f"{result.stdout}\n{result.stderr}"
    totals: dict[str, int] = json.loads(result.lines[-1])
    return totals


@pytest.mark.alone
def test_java_is_not_disconnected(
    sides: Mapping[str, str],
    brokers: SecuredBrokers,
    gateway: GatewayProcess,
    unique: Names,
    tmp_path: Path,
) -> None:
    """A JoinGroup is held over two sessions, and a producer is idle for three. Java authenticates
    again 0.4 to 1.2 s before a session is over, and may not be late."""
    topics = {side: unique("orders") for side in sides}
    groups = {side: unique(f"readers-{side}") for side in sides}
    clients.create(gateway.bootstrap_servers("all"), *topics.values())
    with Wire(brokers.kafka.bootstrap_servers) as wire:
        # A group whose coordinator is still loading fails to join.
        await_coordinators(wire, [*groups.values()], [])
    totals: dict[str, dict[str, int]] = {}

    def work(side: str) -> None:
        totals[side] = java_totals(sides[side], topics[side], groups[side], tmp_path)

    clients.together(work, list(sides))
    direct = totals["direct"]

    assert direct["joins"] == 1, totals
    for side in SIDES:
        through = totals[side]
        for name in ("joins", "failed_rebalances", "disconnects", "idle_disconnects"):
            assert through[name] <= direct[name], totals
        assert through["reauthentications"] > 0
        assert through["idle_reauthentications"] > 0
