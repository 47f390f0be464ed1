"""GetTelemetrySubscriptions and PushTelemetry beside a broker with a plugin (KIP-714).

The same requests, one after the other, get the same error codes of both, and the same subscription
ids, which are a function of the subscriptions and the instance's id.
"""

from __future__ import annotations

import gzip
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from functools import partial
from typing import Any, Final, NamedTuple
from uuid import UUID, uuid4

import pytest

from devkit import java
from devkit.broker import KafkaCluster
from devkit.gateway_config import Listener
from devkit.gateway_process import GatewayProcess
from devkit.waiting import wait_until
from protocol import messages
from tests.live.support import clients, java_tools
from tests.live.support.wire import Wire, request_frame, response_body
from tests.telemetry.packed import as_lz4, as_snappy, as_zstd

CLIENT_METRICS: Final = "org.apache.kafka.tools.ClientMetricsCommand"
EVERY_MINUTE: Final = 60_000
"""Milliseconds between two pushes: no second request of a test is so late."""

EMPTY: Final = b"\x0a\x00"
"""A MetricsData of one empty ResourceMetrics."""

NO_OTLP: Final = b"!\x0f"
INVALID_RECORD: Final = 87
UNSUPPORTED_COMPRESSION_TYPE: Final = 76
TOO_LARGE: Final = bytes(1024 * 1024 + 1)
"""More than a broker takes, whose bound is four times the gateway's."""


class Sides(NamedTuple):
    """The addresses of the broker and of the gateway."""

    broker: str
    gateway: str


@pytest.fixture(scope="module")
def sides(kafka: KafkaCluster) -> Iterator[Sides]:
    classes = java.compile_java(java_tools.SOURCES / "TelemetryReceiver.java")
    overrides = {"metric.reporters": "TelemetryReceiver"}
    listeners = [Listener("told", "a home with subscriptions", home="told")]
    with (
        KafkaCluster(overrides=overrides, classes=classes) as broker,
        GatewayProcess(kafka.bootstrap_servers, listeners, ["told"]) as gateway,
    ):
        found = Sides(broker.bootstrap_servers, gateway.bootstrap_servers("told"))
        for address in found:
            subscribe(address, "all", "*", EVERY_MINUTE, "client_id=wire")
            wait_until(partial(_is_subscribed, address), f"{address}", clients.SECONDS)
        yield found


def subscribe(address: str, name: str, metrics: str, interval_ms: int, match: str = "") -> None:
    more = ["--match", match] if match else []
    java_tools.run(
        CLIENT_METRICS,
        address,
        "--alter",
        "--name",
        name,
        *("--metrics", metrics, "--interval", str(interval_ms)),
        *more,
    )


def _is_subscribed(address: str) -> bool:
    with Wire(address) as wire:
        return bool(get(wire, uuid4()).requested_metrics)


def get(wire: Wire, instance_id: UUID | None) -> Any:
    return wire.ask("GetTelemetrySubscriptions", 0, client_instance_id=instance_id)


class Client:
    """A client instance, and the codes that it gets."""

    def __init__(self, wire: Wire, instance_id: UUID) -> None:
        self.wire = wire
        self.instance_id = instance_id
        self.subscription_id = 0
        self.codes: list[int] = []

    def get(self) -> None:
        """Request the subscription."""
        answer = get(self.wire, self.instance_id)
        self.codes.append(int(answer.error_code))
        if not answer.error_code:
            self.subscription_id = answer.subscription_id

    def push(
        self,
        metrics: bytes = EMPTY,
        *,
        wrong: int = 0,
        compression: int = 0,
        terminating: bool = False,
    ) -> None:
        """Push metrics."""
        answer = self.wire.ask(
            "PushTelemetry",
            0,
            client_instance_id=self.instance_id,
            subscription_id=self.subscription_id + wrong,
            terminating=terminating,
            compression_type=compression,
            metrics=metrics,
        )
        self.codes.append(int(answer.error_code))


def _ordinary(client: Client) -> None:
    client.get()
    client.push()
    client.push()
    client.get()
    client.push(terminating=True)
    client.push()
    client.push(terminating=True)
    client.get()


def _terminates_at_once(client: Client) -> None:
    client.get()
    client.push(terminating=True)
    client.push(terminating=True)


def _without_a_subscription(client: Client) -> None:
    client.push()
    client.get()
    client.push()


def _wrong_subscription(client: Client) -> None:
    client.get()
    client.push(wrong=1)
    client.get()
    client.push()


def _wrong_compression(client: Client) -> None:
    client.get()
    client.push(compression=17)
    client.get()
    client.push(compression=17)


def _all_wrong(client: Client) -> None:
    client.get()
    client.push(TOO_LARGE, wrong=1, compression=17)


def _wrong_compression_of_too_much(client: Client) -> None:
    client.get()
    client.push(TOO_LARGE, compression=17)


def _too_large(client: Client) -> None:
    client.get()
    client.push(TOO_LARGE)
    client.get()


def _unreadable(client: Client) -> None:
    client.get()
    client.push(NO_OTLP)
    client.get()
    client.push(terminating=True)


def _nothing(client: Client) -> None:
    client.get()
    client.push(b"")
    client.push(b"", terminating=True)
    client.push(b"")


STORIES: Final = (
    _ordinary,
    _terminates_at_once,
    _without_a_subscription,
    _wrong_subscription,
    _wrong_compression,
    _all_wrong,
    _wrong_compression_of_too_much,
    _too_large,
    _unreadable,
    _nothing,
)


@pytest.mark.parametrize("story", STORIES, ids=lambda story: story.__name__.strip("_"))
def test_codes_are_a_brokers(sides: Sides, story: Any) -> None:
    instance_id = uuid4()
    with ExitStack() as stack:
        theirs, ours = (Client(stack.enter_context(Wire(at)), instance_id) for at in sides)
        for client in (theirs, ours):
            story(client)
    assert ours.codes == theirs.codes
    assert ours.subscription_id == theirs.subscription_id


PACKED: Final[Mapping[int, Callable[[bytes], bytes]]] = {
    0: bytes,
    1: gzip.compress,
    2: as_snappy,
    3: as_lz4,
    4: as_zstd,
}
"""By Kafka's number of the compression."""


@pytest.mark.parametrize("compression", PACKED)
def test_each_side_unpacks_what_it_tells_clients_of(sides: Sides, compression: int) -> None:
    """Clients take the first compression of the list that they have. Others are declined."""
    by_side = {sides.broker: {1, 2, 3, 4}, sides.gateway: {1}}
    for address, accepted in by_side.items():
        codes = {}
        for title, payload in (
            ("good", PACKED[compression](EMPTY)),
            ("no OTLP", PACKED[compression](NO_OTLP)),
            ("not packed", NO_OTLP),
        ):
            with Wire(address) as wire:
                client = Client(wire, uuid4())
                answer = get(wire, client.instance_id)
                assert {*answer.accepted_compression_types} == accepted
                client.subscription_id = answer.subscription_id
                client.push(payload, compression=compression)
                codes[title] = client.codes[-1]
        if compression in {0, *accepted}:
            assert codes == {"good": 0, "no OTLP": INVALID_RECORD, "not packed": INVALID_RECORD}
        else:
            assert {*codes.values()} == {UNSUPPORTED_COMPRESSION_TYPE}


@pytest.mark.parametrize("number", [0, 1])
def test_reserved_ids(sides: Sides, number: int) -> None:
    codes = []
    for address in sides:
        with Wire(address) as wire:
            client = Client(wire, UUID(int=number))
            client.push()
        codes.append(client.codes)
    assert codes[1] == codes[0]


def test_a_new_client_gets_an_id(sides: Sides) -> None:
    for address in sides:
        with Wire(address) as wire:
            answer = get(wire, None)
        assert answer.error_code == 0
        assert answer.client_instance_id is not None
        assert answer.requested_metrics == ("*",)
        assert answer.push_interval.total_seconds() == EVERY_MINUTE / 1_000


def test_a_client_that_matches_nothing(sides: Sides) -> None:
    frame = request_frame(71, 0, uuid4().bytes + b"\x00", header_version=2)
    told = []
    for address in sides:
        with Wire(address) as wire:
            wire.send(frame.replace(b"wire", b"none"))
            body = response_body(71, 0, 1, wire.frame())
        answer = messages.parse("GetTelemetrySubscriptionsResponse", 0, body)
        told.append((answer.subscription_id, answer.push_interval, answer.requested_metrics))
    assert told[1] == told[0]
    assert told[0][2] == ()
