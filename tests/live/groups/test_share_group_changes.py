"""Topics of share groups that are deleted, made anew and moved while members work.

What a move is to the members of the old name, a deletion is direct at a broker.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

import pytest

from devkit import java
from devkit.broker import KafkaCluster
from devkit.gateway_config import Listener
from devkit.gateway_process import GatewayProcess
from tests.live.support import clients, java_tools, namespaces, share_workers
from tests.live.support.fixtures import own_gateway
from tests.live.support.share_workers import Member

pytestmark = pytest.mark.long("kills")
"""The heartbeats in which members hear of a change are outwaited."""

SOON: Final = {"metadata.max.age.ms": "1000", "allow.auto.create.topics": "false"}
"""Members notice a change soon, and make none of the topics that they name."""


@pytest.fixture(scope="module")
def kafka() -> Iterator[KafkaCluster]:
    """A broker whose members of share groups send heartbeats every second."""
    with KafkaCluster(overrides=share_workers.QUICK) as cluster:
        yield cluster


gateway = own_gateway(
    Listener("colon", "every namespace"),
    Listener("admin", "for administrators", list_namespaces=True),
    namespaces=["from", "to"],
)


def test_a_topic_that_is_deleted_and_made_anew(
    gateway: GatewayProcess, kafka: KafkaCluster, tmp_path: Path
) -> None:
    """The members go on with the new topic, whose records are delivered for the first time."""
    places = {
        "plain-anew": (kafka.bootstrap_servers, "plain-anew"),
        "from-anew": (gateway.bootstrap_servers("colon"), "from:anew"),
    }
    share_workers.from_the_beginning(kafka, *places)
    for servers, topic in places.values():
        clients.create(servers, topic)
        clients.await_stored(kafka, namespaces.flat(topic))
    members = [
        Member(name, servers, name, (topic,), settings=SOON)
        for name, (servers, topic) in places.items()
    ]
    with share_workers.share_workers(tmp_path, *members) as workers:
        for name, (servers, topic) in places.items():
            share_workers.produce(servers, topic, ["one", "again"])
            workers.await_values(name, "accept", "one", "again")
        for servers, topic in places.values():
            namespaces.delete(servers, topic)
            clients.await_gone(kafka, namespaces.flat(topic))
            clients.create(servers, topic)
            clients.await_led(servers, topic)
        for name, (servers, topic) in places.items():
            share_workers.produce(servers, topic, ["two", "again-two"])
            workers.await_values(name, "accept", "two", "again-two")
    there, here = (workers.told(name) for name in places)
    assert here == there
    assert here["release", "again-two", ""] == here["accept", "again-two", ""] == 1


def test_a_topic_that_is_moved(
    gateway: GatewayProcess, kafka: KafkaCluster, tmp_path: Path
) -> None:
    """Members of the group that read the new name go on where those of the old name were; these get
    the records of the next topic of that name, and no others."""
    colon, direct = gateway.bootstrap_servers("colon"), kafka.bootstrap_servers
    share_workers.from_the_beginning(kafka, "moving", "plain-moving")
    clients.create(colon, "from:moving")
    clients.create(direct, "plain-from")
    clients.await_stored(kafka, "from..moving")
    members = [
        Member("direct-old", direct, "plain-moving", ("plain-from",), settings=SOON),
        Member("direct-new", direct, "plain-moving", ("plain-to",), settings=SOON),
        Member("here-old", colon, "moving", ("from:moving",), settings=SOON),
        Member("here-new", colon, "moving", ("to:moving",), settings=SOON),
    ]
    with share_workers.share_workers(tmp_path, *members) as workers:

        def produce(value: str, plain: str, name: str, by: str) -> None:
            share_workers.produce(direct, plain, [value])
            share_workers.produce(colon, name, [value])
            for place in ("direct", "here"):
                workers.await_values(f"{place}-{by}", "accept", value)

        produce("one", "plain-from", "from:moving", "old")
        namespaces.delete(direct, "plain-from")
        clients.await_gone(kafka, "plain-from")
        clients.create(direct, "plain-to")
        admin = gateway.bootstrap_servers("admin")
        namespaces.alter(admin, "from:moving", {"gateway.namespace": "to"})
        produce("two", "plain-to", "to:moving", "new")
        clients.create(direct, "plain-from")
        clients.create(colon, "from:moving")
        produce("other", "plain-from", "from:moving", "old")
        produce("three", "plain-to", "to:moving", "new")
    for which in ("old", "new"):
        assert workers.told(f"here-{which}") == workers.told(f"direct-{which}")
        assert workers.errors(f"here-{which}") == workers.errors(f"direct-{which}")
    assert workers.values("here-old", "take") == {"one", "other"}
    described = ["--describe", "--group", "moving"]
    shown = java_tools.run(java.SHARE_GROUPS, colon, *described).stdout
    assert {"from:moving", "to:moving"} <= {*shown.split()}


def test_a_topic_that_is_moved_with_an_alias(
    gateway: GatewayProcess, kafka: KafkaCluster, tmp_path: Path
) -> None:
    """Its members work on under the old name, and notice nothing."""
    colon, admin = gateway.bootstrap_servers("colon"), gateway.bootstrap_servers("admin")
    share_workers.from_the_beginning(kafka, "passing")
    clients.create(colon, "from:passing")
    clients.await_stored(kafka, "from..passing")
    member = Member("passing", colon, "passing", ("from:passing",), settings=SOON)
    with share_workers.share_workers(tmp_path, member) as workers:
        share_workers.produce(colon, "from:passing", ["one"])
        workers.await_values("passing", "accept", "one")
        until = datetime.now(UTC) + timedelta(hours=1)
        alias = {"gateway.alias.until": until.strftime("%Y-%m-%dT%H:%M:%SZ")}
        namespaces.alter(admin, "from:passing", {"gateway.namespace": "to", **alias})
        share_workers.produce(colon, "to:passing", ["two", "again"])
        workers.await_values("passing", "accept", "two", "again")
    assert workers.outcome("passing").again == frozenset()
    assert workers.errors("passing") == set()
