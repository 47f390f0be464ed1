"""Start, stop and death: SIGTERM drains, and a worker that dies is replaced."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from contextlib import ExitStack

import psutil
import pytest

from devkit.broker import KafkaCluster
from devkit.gateway_config import Listener
from devkit.gateway_process import GatewayProcess
from devkit.waiting import wait_until
from protocol import messages
from tests.live.support import by_hand, clients, processes
from tests.live.support.fixtures import own_gateway
from tests.live.support.wire import ConnectionEnded, Wire, request_frame, response_body

Names = Callable[[str], str]

FETCH = 1
METADATA = 3
LISTENERS = (Listener("colon", "all"),)
NAMESPACES = ["team-a"]

_ALL_BY_NONE = b"\x00\x00\x00\x00\x00"  # Metadata v4 without topics: brokers only


def test_sigterm_answers_what_is_in_flight(kafka: KafkaCluster, unique: Names) -> None:
    """A request that the broker is still working on is answered; new clients are not accepted."""
    topic = f"team-a:{unique('drained')}"
    with GatewayProcess(kafka.bootstrap_servers, LISTENERS, NAMESPACES) as gateway:
        servers = gateway.bootstrap_servers("colon")
        clients.create(servers, topic)
        clients.await_stored(kafka, topic.replace(":", ".."))
        address = clients.leader_address(servers, topic)
        with Wire(address) as busy, Wire(address) as idle:
            assert idle.exchange(METADATA, 4, _ALL_BY_NONE)
            busy.send(request_frame(FETCH, 4, by_hand.long_poll(topic, 2.0), 5, 1))
            # Another connection's later request is answered, so the long poll is at the broker by
            # now.
            assert idle.exchange(METADATA, 4, _ALL_BY_NONE)
            os.kill(gateway.process.command_pid, signal.SIGTERM)
            assert idle.wait_for_end() == b""
            wait_until(lambda: not clients.accepts(address), "the port to close", clients.SECONDS)
            answer = response_body(FETCH, 4, 5, busy.frame())
            (found,) = messages.parse("FetchResponse", 4, answer).responses
            assert (found.topic, int(found.partitions[0].error_code)) == (topic, 0)
            assert busy.wait_for_end() == b""
        process = gateway.process
        wait_until(lambda: not process.running, "the end of the gateway", clients.SECONDS)
        assert process.returncode == 0


def test_the_drain_is_bounded(kafka: KafkaCluster, unique: Names) -> None:
    """If a request takes longer than the drain, the gateway stops without it."""
    topic = f"team-a:{unique('endless')}"
    overrides = {"drain_seconds": 0.5}
    process = GatewayProcess(kafka.bootstrap_servers, LISTENERS, NAMESPACES, overrides=overrides)
    with process as gateway:
        servers = gateway.bootstrap_servers("colon")
        clients.create(servers, topic)
        clients.await_stored(kafka, topic.replace(":", ".."))
        with Wire(clients.leader_address(servers, topic)) as wire:
            wire.send(request_frame(FETCH, 4, by_hand.long_poll(topic, 600.0), 5, 1))
            with Wire(servers) as other:
                assert other.exchange(METADATA, 4, _ALL_BY_NONE)
            gateway.stop()  # fails unless it ends with 0 in time
            with pytest.raises(ConnectionEnded):
                wire.frame()


gateway = own_gateway(namespaces=NAMESPACES, workers=2)


def test_workers_share_the_ports(gateway: GatewayProcess) -> None:
    """The kernel spreads connections, so after a while both workers have some."""
    servers = gateway.bootstrap_servers("colon")
    both = {worker.pid for worker in processes.workers(gateway)}
    assert len(both) == 2
    with ExitStack() as stack:

        def spread() -> bool:
            wire = stack.enter_context(Wire(servers))
            assert wire.exchange(METADATA, 4, _ALL_BY_NONE)
            return _owners(gateway, servers) == both

        wait_until(spread, "a connection of each worker", clients.SECONDS, poll=0)


def test_what_one_worker_makes_the_other_knows(
    gateway: GatewayProcess, kafka: KafkaCluster, unique: Names
) -> None:
    """Each worker learns topic ids for itself."""
    servers = gateway.bootstrap_servers("colon")
    topic = f"team-a:{unique('shared')}"
    clients.create(servers, topic)
    clients.await_stored(kafka, topic.replace(":", ".."))
    clients.produce(servers, topic, ["one"])
    for number in range(6):
        group = unique(f"readers-{number}")
        read = clients.consume(servers, topic, 1, group, group_protocol="consumer")
        assert read == ["one"]


@pytest.mark.long("kills")
def test_a_worker_that_is_killed_is_replaced(
    gateway: GatewayProcess, kafka: KafkaCluster, unique: Names
) -> None:
    servers = gateway.bootstrap_servers("colon")
    topic = f"team-a:{unique('survived')}"
    clients.create(servers, topic)
    before = {worker.pid for worker in processes.workers(gateway)}
    victim = min(before)
    psutil.Process(victim).kill()

    def replaced() -> bool:
        now = {worker.pid for worker in processes.workers(gateway)}
        return len(now) == 2 and victim not in now and gateway.get("/readyz")[0] == 200

    wait_until(replaced, "another worker", clients.SECONDS)
    processes.forget_killed(kafka)
    assert "kafka_gateway_worker_restarts_total 1.0" in gateway.metrics()
    clients.produce(servers, topic, ["one"])
    assert clients.consume(servers, topic, 1, unique("readers")) == ["one"]


def _owners(gateway: GatewayProcess, servers: str) -> set[int]:
    """The workers that hold connections to a port."""
    port = int(servers.rpartition(":")[2])
    return {
        worker.pid
        for worker in processes.workers(gateway)
        for connection in worker.net_connections("tcp")
        if connection.status == psutil.CONN_ESTABLISHED and connection.laddr.port == port
    }
