"""Changes at the source while MirrorMaker runs.

Configs of topics and namespaces, partitions, new topics. Configs of the target's own namespaces do
not change.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import pytest
from confluent_kafka.cimpl import NewPartitions

from devkit.broker import KafkaCluster
from devkit.gateway_config import Listener
from devkit.gateway_process import GatewayProcess
from devkit.mirror_maker import MirrorMakerProcess
from devkit.waiting import wait_until
from tests.live.mirror import sites
from tests.live.support import clients, namespaces
from tests.live.support.clients import SECONDS
from tests.live.support.namespaces import describe

pytestmark = pytest.mark.long("brokers")

TOPIC: Final = "team-a:orders"


@pytest.fixture(scope="module")
def site_a(a: KafkaCluster) -> Iterator[GatewayProcess]:
    """The gateway at the source."""
    listeners = [Listener("colon", "all")]
    with GatewayProcess(a.bootstrap_servers, listeners, ["team-a"]) as gateway:
        yield gateway


@pytest.fixture(scope="module")
def site_b(b: KafkaCluster) -> Iterator[GatewayProcess]:
    """The gateway at the target."""
    listeners = [
        Listener("colon", "all"),
        Listener("home", "the copies", home="dr:a", list_subtree=True),
    ]
    with GatewayProcess(b.bootstrap_servers, listeners, ["dr:a:team-a"]) as gateway:
        yield gateway


def test_changes_follow_and_the_targets_namespaces_keep_what_is_theirs(
    site_a: GatewayProcess, site_b: GatewayProcess
) -> None:
    source, home = site_a.bootstrap_servers("colon"), site_b.bootstrap_servers("home")
    everything = site_b.bootstrap_servers("colon")
    namespaces.alter(source, "team-a:", {"retention.ms": "3600000"})
    namespaces.alter(everything, "dr:a:", {"segment.ms": "700000"})
    sites.create(source, [TOPIC], 2, {"max.message.bytes": "123456"})
    with MirrorMakerProcess({"A": source, "B": home}, [("A", "B")], sites.IDENTITY):
        # A config that a topic inherits at the source is set on its copy, because the target's
        # namespace may have another value.
        _await_set(home, TOPIC, {"max.message.bytes": "123456", "retention.ms": "3600000"})
        namespaces.alter(source, TOPIC, {"max.message.bytes": "234567"})
        namespaces.alter(source, "team-a:", {"retention.ms": "7200000"})
        _await_set(home, TOPIC, {"max.message.bytes": "234567", "retention.ms": "7200000"})
        # MirrorMaker deletes every config with a default at the source, again and again.
        before = _its_own(everything)
        namespaces.alter(source, TOPIC, {}, drop=["max.message.bytes"])
        _await_set(home, TOPIC, {"retention.ms": "7200000"})
        assert describe(home, TOPIC)["segment.ms"][0] == "700000"
        assert _its_own(everything) == before

        created = clients.admin(source).create_partitions([NewPartitions(TOPIC, 5)])
        clients.done(created)
        sites.create(source, ["team-a:later.internal"], 3)
        wait_until(
            lambda: [_partitions(home, one) for one in (TOPIC, "team-a:later.internal")] == [5, 3],
            "partitions, and a new topic, at the target",
            SECONDS,
            poll=0.5,
        )


def _its_own(servers: str) -> dict[str, object]:
    """The configs of the target's namespace, except its topic count.

    MirrorMaker creates topics of its own there while it starts.
    """
    found = describe(servers, "dr:a:")
    return {key: value for key, value in found.items() if key != "gateway.topics"}


def _await_set(servers: str, topic: str, configs: dict[str, str]) -> None:
    wait_until(
        lambda: topic in clients.listed(servers) and sites.set_configs(servers, topic) == configs,
        f"{configs} of {topic}",
        SECONDS,
        poll=0.5,
    )


def _partitions(servers: str, topic: str) -> int:
    found = clients.admin(servers).list_topics(timeout=SECONDS).topics
    return len(found[topic].partitions) if topic in found else 0
