"""A namespace that is deleted and created again lists no earlier group, at a real broker."""

from __future__ import annotations

from collections.abc import Callable

from confluent_kafka.admin import AdminClient

from devkit.broker import KafkaCluster
from devkit.gateway_config import Listener
from devkit.gateway_process import GatewayProcess
from tests.live.support import clients, namespaces
from tests.live.support.fixtures import COLON, own_gateway

gateway = own_gateway(COLON, Listener("home", "gone is home", home="gone"), namespaces=["gone"])


def groups(admin: AdminClient) -> set[str]:
    """The groups that ListGroups returns."""
    listed = admin.list_consumer_groups().result(clients.SECONDS)
    assert not listed.errors
    return {one.group_id for one in listed.valid}


def test_made_anew_it_has_none_of_them(
    kafka: KafkaCluster, gateway: GatewayProcess, unique: Callable[[str], str]
) -> None:
    home, root = gateway.bootstrap_servers("home"), gateway.bootstrap_servers("colon")
    other = unique("other")
    clients.create(home, "t")
    clients.create(root, other)
    for servers, topic, group in ((home, "t", "left"), (root, other, other)):
        clients.round_trip(clients.settings(servers), topic, group)
    # A member that stays connected: it is denied, and its session ends.
    short = {"session_timeout_ms": 6000, "heartbeat_interval_ms": 500}
    with clients.consumer(home, "busy", **short) as member:
        member.subscribe(["t"])
        clients.take(member, 1)
        assert groups(clients.admin(home)) == {"left", "busy"}
        namespaces.delete(root, "gone:")
        namespaces.await_free(root, "gone:")  # creates the namespace
    assert groups(clients.admin(home)) == set()
    at_brokers = groups(clients.admin(kafka.bootstrap_servers))
    assert not [group for group in at_brokers if group.startswith("gone..")]
    assert other in at_brokers
