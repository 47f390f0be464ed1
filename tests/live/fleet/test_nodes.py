"""Gateways as nodes, as seen by Kafka's own admin tools and other clients."""

from __future__ import annotations

import json
import re

from devkit import java
from devkit.waiting import wait_until
from tests.commands.running import command
from tests.live.fleet.conftest import Gateways, created
from tests.live.support import clients, java_tools
from tests.live.support.wire import Wire

SECONDS = clients.SECONDS
FIRST = 2**30 + 1


def nodes(servers: str) -> dict[int, str]:
    """The nodes that the gateway at this address lists.

    The request is by hand, because a client would query any of the nodes, so also the other
    gateway.
    """
    with Wire(servers) as wire:
        brokers = wire.ask("Metadata", 9, topics=(), allow_auto_topic_creation=False).brokers
    return {one.node_id: f"{one.host}:{one.port}" for one in brokers}


def gateway_nodes(servers: str) -> set[int]:
    """The ids of the gateways' nodes."""
    return {node for node in nodes(servers) if node >= FIRST}


def test_each_lists_both_at_the_other_ones_address(gateways: Gateways) -> None:
    servers = [one.bootstrap_servers("all") for one in gateways]
    wait_until(lambda: all(len(gateway_nodes(one)) == 2 for one in servers), "both", SECONDS)
    first, second = (nodes(one) for one in servers)
    assert first.keys() == second.keys()
    assert not {*first.values()} & {*second.values()}
    at = [str(one.plan.config["listeners"][0]["gateway_port"]) for one in gateways]
    for found, other in ((first, at[1]), (second, at[0])):
        assert {found[node].rpartition(":")[2] for node in (FIRST, FIRST + 1)} == {other}
    for one in gateways:
        assert gateway_nodes(one.bootstrap_servers("tools")) == set()


def test_javas_tools_take_them_for_brokers_that_have_nothing(
    gateways: Gateways,
) -> None:
    servers = gateways[0].bootstrap_servers("all")
    created(gateways, "team-a:tools")
    clients.produce(servers, "team-a:tools", ["one"])
    assert clients.consume(servers, "team-a:tools", 1, "group-of-tools") == ["one"]
    listed = java_tools.consumer_groups(servers, "--list").lines
    assert listed.count("group-of-tools") == 1
    sizes = java_tools.run(java.LOG_DIRS, servers, "--describe", "--topic-list", "team-a:tools")
    found = {one["broker"]: one["logDirs"] for one in json.loads(sizes.lines[-1])["brokers"]}
    for node in (FIRST, FIRST + 1):
        (directory,) = found.pop(node)
        assert (directory["logDir"], directory["partitions"]) == ("gateway", [])
    assert '"partition": "team-a:tools-0"' in json.dumps(found)
    described = java_tools.topics(servers, "--describe", "--topic", "team-a:tools").stdout
    (leader,) = re.findall(r"Leader: (\d+)", described)
    assert int(leader) < FIRST


async def test_a_gateway_that_is_forgotten_is_not_listed(gateways: Gateways) -> None:
    first, second = gateways
    config = str(first.config_path)
    said = await command("catalog", "status", "--config", config)
    assert f"node {FIRST + 1}" in said.out
    assert await _up(config) == {"gw-a": True, "gw-b": True}
    second.kill()
    assert await _up(config) == {"gw-a": True, "gw-b": False}
    servers = first.bootstrap_servers("all")
    assert gateway_nodes(servers) == {FIRST, FIRST + 1}, "it may come back"
    said = await command("catalog", "forget", "--config", config, "--gateway", "gw-b")
    assert said.status == 0, said.err
    wait_until(lambda: gateway_nodes(servers) == set(), "one alone", SECONDS)
    second.start_again()
    wait_until(lambda: gateway_nodes(servers) == {FIRST, FIRST + 1}, "both", SECONDS)


async def _up(config: str) -> dict[str, bool]:
    """Which gateways are up, as the command reports."""
    said = await command("fleet", "--config", config, "--json")
    listed = json.loads(said.out)["gateways"]
    return {one["gateway_id"]: all(each["up"] for each in one["listeners"]) for one in listed}
