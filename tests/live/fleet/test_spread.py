"""After a rolling restart, clients that connect spread over the gateways."""

from __future__ import annotations

import pytest
from confluent_kafka import Producer

from devkit.gateway_process import GatewayProcess
from devkit.waiting import wait_until
from tests.live.fleet.conftest import Gateways, created
from tests.live.support import clients

pytestmark = pytest.mark.long("kills")

SECONDS = clients.SECONDS
CLIENTS = 48
LEAST = 8
"""If 48 clients choose freely, fewer than 8 choose one of two gateways once in a million times."""
PATIENT_MS = 2_000
"""``reconnect.backoff.ms``: librdkafka waits half of it before it tries the other gateway, too.

By default that is 50 ms, so on a busy machine most clients try both, and take the quicker gateway
(46 and 5 was seen).
"""

TOPIC = "spread"


def test_new_clients_spread_after_a_rolling_restart(gateways: Gateways) -> None:
    servers = created(gateways, TOPIC)
    for gateway in gateways:
        assert gateway.process.terminate(SECONDS) == 0
        gateway.kill()
        gateway.start_again()
    before = [produced(gateway) for gateway in gateways]
    patient = clients.settings(servers, reconnect_backoff_ms=PATIENT_MS)
    patient["reconnect.backoff.max.ms"] = PATIENT_MS
    for _ in range(CLIENTS):  # in turn, because 48 at once make the machine busy
        producer = Producer(patient)
        producer.produce(TOPIC, b"x")
        assert not producer.flush(SECONDS)

    def shares() -> list[int]:
        return [produced(one) - then for one, then in zip(gateways, before, strict=True)]

    # If a client moves to the other gateway while its record is in flight, it sends the record
    # twice.
    wait_until(lambda: sum(shares()) >= CLIENTS, "all records are counted", SECONDS)
    print(f"{CLIENTS} clients: {shares()}")
    assert min(shares()) >= LEAST, shares()


def produced(gateway: GatewayProcess) -> int:
    """The Produce requests that a gateway has counted."""
    return sum(
        int(float(line.rpartition(" ")[2]))
        for line in gateway.metrics().splitlines()
        if line.startswith("kafka_gateway_requests_total{") and 'api="Produce"' in line
    )
