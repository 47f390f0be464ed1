"""Two homes have share groups and topics of one name: deliveries are counted as direct, each apart.

All members, and those direct at the broker, run at once.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from devkit.broker import KafkaCluster
from devkit.gateway_config import Listener
from devkit.gateway_process import GatewayProcess
from tests.live.support import clients, share_workers
from tests.live.support.fixtures import own_gateway
from tests.live.support.share_workers import SLEEP_MS, Member

pytestmark = pytest.mark.long("kills")
"""Locks of records are outwaited."""

TOPIC, GROUP = "queue", "workers"
HOMES: Final = {"team-a": "home-a", "team-b": "home-b"}
ENDS: Final = ("-direct", "-team-a", "-team-b")
DELIVERIES: Final = 5
"""``group.share.delivery.count.limit``: after so many, a broker gives a record up."""


@pytest.fixture(scope="module")
def kafka() -> Iterator[KafkaCluster]:
    """A broker whose locks are short."""
    with KafkaCluster(overrides=share_workers.QUICK) as cluster:
        yield cluster


gateway = own_gateway(
    *(Listener(listener, f"{home} is home", home=home) for home, listener in HOMES.items()),
    namespaces=[*HOMES],
)


def test_acknowledgements_locks_and_delivery_counts(
    gateway: GatewayProcess, kafka: KafkaCluster, tmp_path: Path
) -> None:
    """Accepted, released once, released until the broker gives up, rejected, renewed, and not
    acknowledged in time: every delivery comes with the same count, and the same error."""
    direct = kafka.bootstrap_servers
    places = {"direct": direct} | {
        home: gateway.bootstrap_servers(listener) for home, listener in HOMES.items()
    }
    prefixes = {name: "" if name == "direct" else f"{name}.." for name in places}
    share_workers.from_the_beginning(kafka, *(f"{each}{GROUP}" for each in prefixes.values()))
    for name, servers in places.items():
        clients.create(servers, TOPIC)
        clients.await_stored(kafka, f"{prefixes[name]}{TOPIC}")
    members = [Member(name, at, GROUP, (TOPIC,), SLEEP_MS) for name, at in places.items()]
    with share_workers.share_workers(tmp_path, *members) as workers:

        def produce(*values: str) -> None:
            for name, servers in places.items():
                share_workers.produce(servers, TOPIC, [f"{value}-{name}" for value in values])

        def await_all(event: str, *values: str) -> None:
            for name in places:
                workers.await_values(name, event, *(f"{value}-{name}" for value in values))

        produce("one", "again", "bad", "never", "two", "renew")
        await_all("accept", "one", "again", "two", "renew")
        await_all("reject", "bad")
        for name in places:
            last = ("release", f"never-{name}", DELIVERIES, "")
            workers.await_true(lambda last=last: workers.counts(last[1][6:])[last], "it ends")  # type: ignore[misc]
        produce("slow")
        await_all("accept", "slow")
    counts = {name: workers.counts(name, *ENDS) for name in places}
    for name in places:
        # Java may have fetched the record anew while its application slept: then the late
        # acknowledgement is of that delivery, and holds.
        late = [("failed", "slow", 1, "InvalidRecordStateException"), ("accept", "slow", 1, "")]
        assert sum(counts[name].pop(each, 0) for each in late) == 1
    for name in places:
        assert all(each["value"].endswith(f"-{name}") for each in workers.of(name) if each["value"])
        assert {each["topic"] for each in workers.of(name)} <= {TOPIC, ""}
        assert workers.errors(name) == set()
        share_workers.await_done(kafka, f"{prefixes[name]}{GROUP}", f"{prefixes[name]}{TOPIC}")
    assert counts["team-a"] == counts["direct"]
    assert counts["team-b"] == counts["direct"]
    assert counts["direct"]["take", "slow", 2, ""] == 1
