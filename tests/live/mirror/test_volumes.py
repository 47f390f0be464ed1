"""The example of a tree: MirrorMaker between two listeners of a gateway, each of another
cluster."""

from __future__ import annotations

import pytest

from devkit.broker import KafkaCluster
from devkit.gateway_config import MountedCluster
from devkit.gateway_process import GatewayProcess
from tests.live.mirror import sites
from tests.live.mirror.examples import addresses, listeners, mirror_maker
from tests.live.support import clients

pytestmark = pytest.mark.long("brokers")


def test_two_clusters_of_one_gateway(a: KafkaCluster, b: KafkaCluster) -> None:
    values, all_listeners = listeners("mirror-tree.yaml")
    mounted = [
        MountedCluster(
            one["mount"],
            one["number"],
            kafka.bootstrap_servers,
            {"name": one["name"], "namespaces": one["namespaces"]},
        )
        for one, kafka in zip(values["clusters"], (a, b), strict=True)
    ]
    topics = ["team-a:deep", "wide.internal"]
    with GatewayProcess(mounted, all_listeners, []) as gateway:
        source, target = (gateway.bootstrap_servers(one.name) for one in all_listeners)
        sites.create(source, topics, 2)
        for topic in topics:
            sites.fill(source, topic, 1_000, 2)
        with mirror_maker("mirror-tree.properties", addresses(values, gateway)):
            for topic in topics:
                sites.await_records(target, topic, 1_000)
                found = sites.content(target, topic).partitions
                assert found == sites.content(source, topic).partitions
        # Through the other listener, by the name from the root.
        assert sum(sites.ends(source, ["/ny/dr/la/team-a/deep"]).values()) == 1_000
    assert clients.listed(b.bootstrap_servers) >= {"dr.la.team-a..deep", "dr.la..wide.internal"}
