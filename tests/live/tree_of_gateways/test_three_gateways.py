"""A tree over three gateways, with stock clients that know only one of the gateways."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from functools import partial
from typing import Any

import pytest
from confluent_kafka import TopicPartition
from confluent_kafka.admin import OffsetSpec

from devkit.broker import KafkaCluster
from devkit.waiting import wait_until
from gateway.node_ids import MOUNTED_BITS
from tests.live.support import clients
from tests.live.support.wire import Wire
from tests.live.tree_of_gateways import stock_clients
from tests.live.tree_of_gateways.sites import (
    LA,
    NAMES,
    NUMBERS,
    ROOT,
    TRACKING,
    VOLUMES,
    Site,
    Tree,
    absolute,
    flat,
    metadata,
    relative,
)

COUNT = 100
"""Records that a client writes to each topic."""

MARK_BITS = 48
"""Bits of a producer id that are the broker's own; the cluster's number stands above them."""

AWAY = [(site, volume) for site in VOLUMES for volume in VOLUMES if site != volume]


def written(kafka: KafkaCluster, topic: str) -> int:
    """The number of records in partition 0 of a topic, as its cluster counts them."""
    latest = OffsetSpec.latest()  # type: ignore[no-untyped-call]
    asked = {TopicPartition(topic, 0): latest}
    (future,) = clients.admin(kafka.bootstrap_servers).list_offsets(asked).values()
    return int(future.result(clients.SECONDS).offset)


def stored(kafka: KafkaCluster, topic: str, count: int) -> list[str]:
    """The values of a topic in its cluster, of which there must be ``count``."""
    assert written(kafka, topic) == count
    return clients.consume(kafka.bootstrap_servers, topic, count, f"direct-{topic}")


def everywhere(site: str, name: str) -> dict[str, str]:
    """A name in each volume, as clients of a site's own listener spell it."""
    return {mount: absolute(site, mount, name) for mount in VOLUMES}


@pytest.mark.parametrize("site", VOLUMES, ids=NAMES.get)
@pytest.mark.parametrize("kind", stock_clients.CLIENTS)
def test_a_client_of_one_gateway_works_with_all_clusters(tree: Tree, kind: str, site: str) -> None:
    name = f"search:{kind}-from-{NAMES[site]}"
    topics = everywhere(site, name)
    # Groups of the client's own cluster, and of each of the others.
    turn = VOLUMES.index(site) + list(stock_clients.CLIENTS).index(kind)
    home = VOLUMES[turn % len(VOLUMES)]
    group = f"{kind}-from-{NAMES[site]}"
    named = group if home == site else absolute(site, home, group)

    work = stock_clients.CLIENTS[kind]
    done = work(tree[site].servers(), named, list(topics.values()), COUNT)

    assert done == stock_clients.expected(list(topics.values()), COUNT)
    for mount, topic in topics.items():
        kafka = tree[mount].kafka
        assert stored(kafka, flat(name), COUNT) == done.read[topic]
        told = stock_clients.described(kafka.bootstrap_servers, [flat(name)])
        assert told == {flat(name): done.configs[topic]}
        groups = clients.admin(kafka.bootstrap_servers).list_consumer_groups()
        listed = {each.group_id for each in groups.result(clients.SECONDS).valid}
        assert (group in listed) == (mount == home)


@pytest.mark.parametrize(("site", "volume"), AWAY, ids=lambda mount: NAMES[mount])
def test_relative_names_at_a_listener_whose_cluster_is_elsewhere(
    tree: Tree, site: str, volume: str
) -> None:
    servers, owner = tree[site].servers(volume), tree[volume]
    name = f"search:at-{NAMES[site]}"
    topic = relative(volume, name)
    clients.create(servers, topic)
    clients.await_stored(owner.kafka, flat(name))
    clients.await_led(servers, topic)
    sent = [f"{NAMES[site]} {number}" for number in range(COUNT)]
    clients.produce(servers, topic, sent)
    group = f"at-{NAMES[site]}"
    assert clients.consume(servers, topic, COUNT, group) == sent
    assert stored(owner.kafka, flat(name), COUNT) == sent
    (described,) = clients.admin(owner.servers()).describe_consumer_groups([group]).values()
    assert described.result(clients.SECONDS).group_id == group


def test_listings_hold_the_names_of_the_listener_s_volume_alone(tree: Tree) -> None:
    for mount in VOLUMES:
        clients.create(tree[mount].servers(), f"only-in-{NAMES[mount]}")
        clients.await_stored(tree[mount].kafka, f"only-in-{NAMES[mount]}")
    for site, volume in _every(tree):
        lists_all = partial(_lists_all, site.servers(volume), volume, tree[volume].kafka)
        wait_until(lists_all, f"the topics of :{volume} at {NAMES[site.mount]}", clients.SECONDS)
        assert f"only-in-{NAMES[volume]}" in clients.listed(site.servers(volume))


def _lists_all(servers: str, volume: str, kafka: KafkaCluster) -> bool:
    names = {relative(volume, name.replace("..", ":")) for name in kafka.topics()}
    return clients.listed(servers) == names


@pytest.mark.parametrize("site", VOLUMES, ids=NAMES.get)
def test_configs_of_another_gateway_s_topics(tree: Tree, site: str) -> None:
    """If a gateway's client changes a config, clients of all gateways see it."""
    name = f"configs-from-{NAMES[site]}"
    topics = everywhere(site, name)
    servers = tree[site].servers()
    clients.create(servers, *topics.values())
    clients.await_led(servers, *topics.values())
    wanted = stock_clients.retentions(list(topics.values()))
    assert stock_clients.altered(servers, wanted) == wanted
    for other in VOLUMES:
        seen = stock_clients.described(
            tree[other].servers(), list(everywhere(other, name).values())
        )
        assert sorted(seen.values()) == sorted(wanted.values())
    for mount, topic in topics.items():
        told = stock_clients.described(tree[mount].kafka.bootstrap_servers, [name])
        assert told == {name: wanted[topic]}


@pytest.mark.parametrize("site", VOLUMES, ids=NAMES.get)
def test_an_idempotent_producer_writes_to_all_clusters(tree: Tree, site: str) -> None:
    name, count = f"numbered-from-{NAMES[site]}", 5 * COUNT
    topics = everywhere(site, name)
    servers = tree[site].servers()
    clients.create(servers, *topics.values())
    clients.await_led(servers, *topics.values())
    stock_clients.write(servers, list(topics.values()), count)
    for mount in VOLUMES:
        values = stored(tree[mount].kafka, name, count)
        assert values == [str(number) for number in range(count)]


def test_producer_ids_are_unique_in_the_tree(tree: Tree) -> None:
    """Brokers of all clusters tell producers apart by their ids alone.

    An id has the number of the cluster that assigned it. At a listener for a gateway's own volume,
    it is that gateway's cluster.
    """
    ids = {(site.mount, volume): producer_id(site.servers(volume)) for site, volume in _every(tree)}
    assert len({*ids.values()}) == len(ids)
    numbers = {place: each >> MARK_BITS for place, each in ids.items()}
    assert {*numbers.values()} <= {*NUMBERS.values()}
    assert all(numbers[mount, mount] == NUMBERS[mount] for mount in VOLUMES)


def producer_id(servers: str) -> int:
    """The id of a new idempotent producer."""

    def given() -> Any:
        with Wire(servers) as wire:
            answer = wire.ask(
                "InitProducerId",
                4,
                transactional_id=None,
                transaction_timeout=timedelta(seconds=60),
                producer_id=-1,
                producer_epoch=-1,
            )
        return None if int(answer.error_code) else answer

    return int(wait_until(given, "a producer id", clients.SECONDS).producer_id)


def test_every_listener_for_a_volume_shows_the_same_brokers(tree: Tree) -> None:
    """Clients of a volume see the same tree at every gateway.

    Node ids, cluster id and controller are the same, and node ids have the numbers of all volumes.
    """
    for volume in VOLUMES:
        wait_until(partial(_alike, tree, volume), f"the brokers of :{volume}", clients.SECONDS)
        nodes, _, controller = about_tree(tree[ROOT].servers(volume))
        assert {node >> MOUNTED_BITS for node, *_ in nodes} == {*NUMBERS.values()}
        assert controller >> MOUNTED_BITS == NUMBERS[volume]


def _alike(tree: Tree, volume: str) -> bool:
    """Whether all gateways list the same brokers, of all volumes, to the clients of a volume."""
    told = [about_tree(site.servers(volume)) for site in tree.values()]
    return len(told[0][0]) == len(VOLUMES) and all(each == told[0] for each in told)


def about_tree(servers: str) -> tuple[Sequence[tuple[int, str, int]], str, int]:
    """The brokers, sorted, the cluster id and the controller of a listener."""
    answer = metadata(servers)
    brokers = sorted((each.node_id, each.host, each.port) for each in answer.brokers)
    return brokers, answer.cluster_id, answer.controller_id


def test_a_group_of_one_gateway_reads_what_clients_of_another_write(tree: Tree) -> None:
    """A consumer at the root and a producer at the bottom use a topic between the two."""
    name = "between"
    clients.create(tree[LA].servers(), name)
    at_top, at_bottom = absolute(ROOT, LA, name), absolute(TRACKING, LA, name)
    clients.await_led(tree[TRACKING].servers(), at_bottom)
    sent = [str(number) for number in range(COUNT)]
    with clients.consumer(tree[ROOT].servers(), name) as client:
        client.subscribe([at_top])
        clients.produce(tree[TRACKING].servers(), at_bottom, sent)
        assert clients.values(clients.take(client, COUNT)) == sent


def _every(tree: Tree) -> list[tuple[Site, str]]:
    """Every gateway, with every volume that it has a listener for."""
    return [(site, volume) for site in tree.values() for volume in VOLUMES]
