"""Two gateways of a cluster: whichever ends, its clients continue at the other.

All clients have their own default settings, except a group's earliest offset.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Final

import pytest
from confluent_kafka import TopicPartition
from confluent_kafka.admin import OffsetSpec

from devkit.broker import KafkaCluster
from devkit.gateway_process import GatewayProcess
from devkit.waiting import wait_until
from tests.live.fleet.conftest import Gateways, created
from tests.live.support import clients, steady
from tests.live.support.steady import Steady
from tests.live.support.steady_java_client import java_client
from tests.live.support.wire import Wire
from tests.pace import Pace

pytestmark = pytest.mark.long("kills")

SECONDS = clients.SECONDS
LONGEST_GAP: Final = {"killed": 6.0, "stopped": 2.0}
"""Seconds without an acknowledgement, or without a record, when a gateway ends.

Mostly it is less than a second; if the gateway was killed, librdkafka may try dead nodes first, a
second each.
"""

AGE_MS: Final = 300_000
"""metadata.max.age.ms of all clients."""

TIMES: Final = int(os.environ.get("FLEET_TIMES", "1"))
"""How often each gateway ends (``make fleet``: 5)."""

MORE: Final = 100
"""Records of each kind after which a client counts as having continued."""

Start = Callable[[str, str, Path], Sequence[Steady]]


def librdkafka(servers: str, topic: str, directory: Path) -> Sequence[Steady]:
    """confluent-kafka's producer and a member of a group."""
    return [
        steady.producer(topic, servers, topic, ignoring=True),
        steady.member(topic, servers, f"group-{topic}", topic, ignoring=True),
    ]


def aiokafka(servers: str, topic: str, directory: Path) -> Sequence[Steady]:
    """aiokafka's clients, in an event loop."""
    return [steady.aiokafka(topic, servers, topic, f"group-{topic}", AGE_MS)]


def kafka_python(servers: str, topic: str, directory: Path) -> Sequence[Steady]:
    """kafka-python's clients, in turn."""
    return [steady.kafka_python(topic, servers, topic, f"group-{topic}", AGE_MS)]


def java(servers: str, topic: str, directory: Path) -> Sequence[Steady]:
    """Java's clients, in a process."""
    return [java_client(topic, servers, topic, f"group-{topic}", directory)]


def java_kip_848(servers: str, topic: str, directory: Path) -> Sequence[Steady]:
    """Java's clients, with the group protocol of KIP-848."""
    return [java_client(topic, servers, topic, f"group-{topic}", directory, "consumer")]


def librdkafka_kip_848(servers: str, topic: str, directory: Path) -> Sequence[Steady]:
    """confluent-kafka's producer, and a KIP-848 member that subscribes to an expression."""
    group = f"group-{topic}"
    more = {"group_protocol": "consumer", "ignoring": True}
    return [
        steady.producer(topic, servers, topic, ignoring=True),
        steady.member(topic, servers, group, f"^{topic}$", **more),
    ]


CLIENTS: Final[Mapping[str, Start]] = {
    "librdkafka": librdkafka,
    "librdkafka-kip-848": librdkafka_kip_848,
    "java": java,
    "java-kip-848": java_kip_848,
    "aiokafka": aiokafka,
    "kafka-python": kafka_python,
}


def killed(gateway: GatewayProcess) -> None:
    """End the gateway as ``kill -9`` does."""
    gateway.kill()


def stopped(gateway: GatewayProcess) -> None:
    """End the gateway by SIGTERM; it must stop cleanly."""
    assert gateway.process.terminate(SECONDS) == 0
    gateway.kill()


@pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning")
@pytest.mark.usefixtures("leaving_no_sockets")
@pytest.mark.parametrize("ends", [killed, stopped])
@pytest.mark.parametrize("library", CLIENTS)
def test_clients_go_on_at_the_other_gateway(
    library: str,
    ends: Callable[[GatewayProcess], None],
    gateways: Gateways,
    own: KafkaCluster,
    tmp_path: Path,
    pace: Pace,
) -> None:
    topic = f"{library}-{ends.__name__}"
    servers = created(gateways, topic)
    gaps = []
    with ExitStack() as stack:
        running = [stack.enter_context(one) for one in CLIENTS[library](servers, topic, tmp_path)]
        for one in running:
            one.await_progress("the start", topic)
        joined = membership(own, f"group-{topic}") if library.endswith("kip-848") else None
        for gateway in gateways * TIMES:
            with ThreadPoolExecutor(1) as pool:
                gaps.append(longest_gap(running, topic, pool.submit(ends, gateway)))
            gateway.start_again()
        if joined is not None:
            assert membership(own, f"group-{topic}") == joined, "the group was made anew"
    acked = [value for one in running for value in one.acked[topic]]
    tools = gateways[0].bootstrap_servers("tools")
    check = clients.consume(tools, topic, written(tools, topic), f"check-{topic}")
    assert {*acked} <= {*check}, "acknowledged, and lost"
    if library != "kafka-python":  # whose producer is not idempotent by default
        steady.once_each(check)
    print(f"longest gaps of {library}: {[round(gap, 1) for gap in gaps]} s")
    assert max(gaps) < pace.stretched(LONGEST_GAP[ends.__name__]), gaps
    assert all(one.assignments <= 1 for one in running), "a member of a group had to join again"


def membership(kafka: KafkaCluster, group: str) -> tuple[int, set[str]]:
    """A KIP-848 group's epoch and members, from its coordinator."""
    for address in kafka.addresses.values():
        with Wire(address) as wire:
            (found,) = wire.ask("ConsumerGroupDescribe", 0, group_ids=(group,)).groups
        if int(found.error_code) == 0:
            return found.group_epoch, {one.member_id for one in found.members}
    raise AssertionError(f"no broker coordinates {group}")


def longest_gap(running: Sequence[Steady], topic: str, ending: Future[Any]) -> float:
    """The longest time without an acknowledgement, or without a record, while a gateway ends.

    It is measured until there were ``MORE`` of both after the end.
    """
    gaps = [0.0, 0.0]
    before: tuple[int, int] | None = None
    last = _counts(running, topic)
    since = [time.monotonic()] * 2

    def gone_on() -> bool:
        nonlocal last, before
        now = _counts(running, topic)
        for which in (0, 1):
            gaps[which] = max(gaps[which], time.monotonic() - since[which])
            if now[which] > last[which]:
                since[which] = time.monotonic()
        last = now
        if before is None and ending.done():
            ending.result()
            before = now
        return before is not None and all(now[which] >= before[which] + MORE for which in (0, 1))

    problems = [one.problems for one in running]
    wait_until(gone_on, f"{topic} goes on; {problems}", 2 * SECONDS, poll=0.01)
    return max(gaps)


def written(servers: str, topic: str) -> int:
    """The number of records in the topic's only partition."""
    at = TopicPartition(topic, 0)
    latest = OffsetSpec.latest()  # type: ignore[no-untyped-call]
    found = clients.admin(servers).list_offsets({at: latest}, request_timeout=SECONDS)
    return int(found[at].result(SECONDS).offset)


def _counts(running: Sequence[Steady], topic: str) -> tuple[int, int]:
    acked = sum(len(one.acked[topic]) for one in running)
    return acked, sum(len(one.seen[topic]) for one in running)
