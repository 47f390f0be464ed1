"""A cluster in the middle of a rolling upgrade: node 1 is Kafka 4.3, node 2 is 3.9 and then 4.3.

What a node of the gateway advertises is what the broker behind it does, before a login and in a
tree as well; clients of every listener work as they do directly.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from devkit.broker import KafkaCluster
from devkit.gateway_config import Listener, MountedCluster
from devkit.gateway_process import GatewayProcess
from devkit.waiting import wait_until
from protocol.schema import api_key_of
from tests.live.support import clients
from tests.live.support.wire import ConnectionEnded, Wire

pytestmark = pytest.mark.long("brokers")

SECONDS = clients.SECONDS
NEW, OLD = 1, 2
APIS = [api_key_of(f"{name}Request") for name in ("Produce", "Metadata")]
"""APIs that Kafka 3.9 serves in fewer versions than 4.3, and the gateway in as many."""

PASSWORD = "wonderland"  # noqa: S105 - of this test
LOGIN = {
    "security_protocol": "SASL_PLAINTEXT",
    "sasl_mechanism": "PLAIN",
    "sasl_username": "alice",
    "sasl_password": PASSWORD,
}


class Site(NamedTuple):
    """Two brokers behind a gateway, and behind one whose tree has another cluster beside them."""

    kafka: KafkaCluster
    plain: GatewayProcess
    tree: GatewayProcess

    def at(self, listener: str) -> GatewayProcess:
        return self.tree if listener.startswith("tree") else self.plain

    def servers(self, listener: str) -> str:
        return self.at(listener).bootstrap_servers(listener)

    def node(self, listener: str, node_id: int) -> str:
        """The gateway's address for a broker."""
        entries = self.at(listener).plan.config["listeners"]
        (base,) = [one["broker_base_port"] for one in entries if one["name"] == listener]
        return f"127.0.0.1:{base + node_id - 1}"


LISTENERS = ["open", "sasl", "home", "tree-open", "tree-sasl"]


@pytest.fixture(scope="module")
def site() -> Iterator[Site]:
    with tempfile.TemporaryDirectory() as directory:
        password = Path(directory) / "alice"
        password.write_text(f"{PASSWORD}\n")
        sasl: dict[str, Any] = {
            "security_protocol": "SASL_PLAINTEXT",
            "sasl": {"mechanisms": ["PLAIN"], "users": {"alice": {"file": str(password)}}},
        }
        plain = [
            Listener("open", "asks nobody"),
            Listener("sasl", "asks everybody", security=sasl),
            Listener("home", "asks everybody", home="team-a", security=sasl),
        ]
        in_tree = [
            Listener("tree-open", "asks nobody", security={"volume": "la"}),
            Listener("tree-sasl", "asks everybody", security={"volume": "la", **sasl}),
        ]
        with (
            KafkaCluster(
                2, missed_quickly=True, jar_sets={OLD: "kafka-3.9"}, release="3.9"
            ) as kafka,
            KafkaCluster() as other,
        ):
            mounted = [
                MountedCluster("la", 1, kafka.bootstrap_servers),
                MountedCluster("ny", 2, other.bootstrap_servers),
            ]
            with (
                GatewayProcess(kafka.bootstrap_servers, plain, ["team-a"]) as gateway,
                GatewayProcess(mounted, in_tree, []) as tree,
            ):
                yield Site(kafka, gateway, tree)


def last_versions(address: str) -> list[int]:
    """The last version of each of the APIs that an address advertises, before a login."""
    with Wire(address) as wire:
        answer = wire.ask("ApiVersions", 0)
    found = {int(each.api_key): int(each.max_version) for each in answer.api_keys}
    return [found[key] for key in APIS]


def check_versions(site: Site, listener: str) -> None:
    """A node of a listener advertises what the broker does that it stands for; in a tree Metadata
    is answered on each node for all. A bootstrap port has what both do."""
    direct = {node: last_versions(site.kafka.addresses[node]) for node in (NEW, OLD)}
    least = [min(each) for each in zip(*direct.values(), strict=True)]
    for node, versions in direct.items():
        produce, metadata = versions
        expected = [produce, least[1] if listener.startswith("tree") else metadata]
        assert last_versions(site.node(listener, node)) == expected, (listener, node)
    if listener != "open":  # where it is forwarded to any broker
        assert last_versions(site.servers(listener)) == least


def check_client(site: Site, listener: str, topic: str) -> None:
    """librdkafka, which asks for versions only before its login, reaches all nodes."""
    login = {} if "open" in listener else LOGIN
    settings = clients.settings(site.servers(listener), **login)
    assert clients.round_trip(settings, topic, f"{topic}-readers") == ["first"]


@pytest.mark.parametrize("listener", LISTENERS)
def test_each_node_advertises_what_its_broker_does(site: Site, listener: str) -> None:
    assert last_versions(site.kafka.addresses[NEW]) != last_versions(site.kafka.addresses[OLD])
    check_versions(site, listener)


@pytest.mark.parametrize("listener", LISTENERS)
def test_clients_work(site: Site, listener: str) -> None:
    for number in range(5):
        check_client(site, listener, f"mixed-{listener}-{number}")
    assert "which is not enabled" not in site.kafka.log_tail(OLD, lines=1_000)


def test_a_broker_that_is_upgraded_and_one_that_is_downgraded(site: Site) -> None:
    before = last_versions(site.kafka.addresses[OLD])
    for jar_set in ("kafka", "kafka-3.9"):
        site.kafka.stop_broker(OLD)
        site.kafka.restart_broker(OLD, jar_set=jar_set)
        direct = last_versions(site.kafka.addresses[OLD])
        assert (direct == before) is (jar_set == "kafka-3.9")
        for listener in LISTENERS:
            await_produce(site.node(listener, OLD), direct[0])
            check_versions(site, listener)
            check_client(site, listener, f"{jar_set}-{listener}")


def await_produce(address: str, highest: int) -> None:
    """Wait until an address advertises Produce up to this version."""

    def looked() -> bool:
        try:
            return last_versions(address)[0] == highest
        except (OSError, ConnectionEnded):
            return False

    wait_until(looked, "the versions of the broker that is back", SECONDS)
