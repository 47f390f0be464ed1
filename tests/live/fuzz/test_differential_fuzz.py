"""Plain Kafka is the oracle of every API and version that the gateway serves.

Random well-formed requests, in sequences, get equal responses, except for the differences that
``differences`` explains.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from devkit.broker import KafkaCluster
from devkit.gateway_config import Listener
from devkit.gateway_process import GatewayProcess
from gateway.apis.table import APIS
from tests.live.fuzz import lanes
from tests.live.fuzz.answers import Leaf, differences
from tests.live.fuzz.differences import WITH_A_PLUGIN, why
from tests.live.fuzz.lanes import Address
from tests.live.fuzz.requests import Request
from tests.live.support import clients

REQUESTS = int(os.environ.get("FUZZ_REQUESTS", "20000"))
SEED = os.environ.get("FUZZ_SEED", "kafka")

MOST_RACES = 4
"""Differences in 20,000 requests that may fail to come again when resent; mostly there are none."""

ENOUGH_FOR_ALL = 5_000
"""Requests after which every API has been sent."""

STILL = {
    # State does not change by itself: no auto-created topic, no record that expires, no session
    # evicted by another, no group that a broker forgets before the other.
    "auto.create.topics.enable": "false",
    "log.retention.ms": "-1",
    "max.incremental.fetch.session.cache.slots": "1000000",
    "offsets.retention.check.interval.ms": "86400000",
    "offsets.topic.num.partitions": "1",
    "transaction.state.log.num.partitions": "1",
}
LISTENERS = (
    Listener("plain", "every namespace, names with colons"),
    Listener("home", "team-a is home", home="team-a"),
    Listener("legal", "every namespace, names in the legal spelling", spelling="legal"),
)


@dataclass(frozen=True, slots=True)
class Sides:
    """A broker, and the ways to another broker through a gateway."""

    plain: Address
    gateways: tuple[Address, ...]
    process: GatewayProcess


@pytest.fixture(scope="module")
def sides() -> Iterator[Sides]:
    """A broker, and a gateway's default namespace, home, and namespace in two spellings."""
    with KafkaCluster(overrides=STILL) as kafka, KafkaCluster(overrides=STILL) as behind:
        namespaces = ["team-a", "org:apache"]
        with GatewayProcess(behind.bootstrap_servers, LISTENERS, namespaces) as gateway:
            plain, home, legal = (
                clients.any_broker(gateway.bootstrap_servers(listener.name))
                for listener in LISTENERS
            )
            ways = (
                Address(plain),
                Address(home),
                Address(plain, "org:apache:"),
                Address(legal, "org.apache.."),
            )
            yield Sides(Address(kafka.bootstrap_servers), ways, gateway)


@pytest.mark.long("searches")
@pytest.mark.timeout(600 + REQUESTS // 10)
def test_random_requests_are_answered_as_by_a_broker(sides: Sides) -> None:
    found = asyncio.run(lanes.fuzz(sides.plain, sides.gateways, SEED, REQUESTS))
    print(f"{found.requests} requests; differences that are known:")
    for reason, count in found.explained.most_common():
        print(f"{count:8} {reason}")
    told = "\n\n".join(failure.report() for failure in found.failures.values())
    assert not found.failures, f"{len(found.failures)} differences\n{told}"
    once = "\n\n".join(race.report() for race in found.races)
    print(f"differences that did not come again: {len(found.races)}\n{once}")
    assert len(found.races) <= MOST_RACES * max(REQUESTS // 20_000, 1), once
    if "/" in SEED:
        return  # a sequence that failed before
    assert found.requests >= REQUESTS
    asked = {api.name for api in APIS.values()} - WITH_A_PLUGIN
    assert REQUESTS < ENOUGH_FOR_ALL or found.by_api.keys() == asked
    assert "Traceback" not in sides.process.log()


# -- the comparison itself --------------------------------------------------------------------


def test_a_difference_is_found_wherever_it_is() -> None:
    answer = {"error_code": 0, "topics": [{"name": "a", "partitions": [{"partition_index": 1}]}]}
    assert list(differences(answer, answer)) == []
    changed = {"error_code": 70, "topics": []}
    assert list(differences(answer, changed)) == [
        Leaf("error_code", 0, 70),
        Leaf("topics[]", answer["topics"][0], "(missing)"),  # type: ignore[index]
    ]
    more = {"error_code": 0, "topics": [{"name": "a", "partitions": []}, {"name": "b"}]}
    assert [leaf.path for leaf in differences(answer, more)] == [
        "topics[].partitions[]",
        "topics[]",
    ]


def test_only_what_the_table_has_is_known() -> None:
    values = {"session_id": 77, "session_epoch": 0, "topics": [], "forgotten_topics_data": []}
    full = Request("Fetch", 12, values)
    assert why(full, Leaf("error_code", 0, 70)) is None
    assert why(Request("Heartbeat", 1, {}), Leaf("error_code", 0, 25)) is None
    offsets = Request("OffsetFetch", 5, {"group_id": "g"})
    assert why(offsets, Leaf("topics[].partitions[].error_code", 0, 3)) is not None
