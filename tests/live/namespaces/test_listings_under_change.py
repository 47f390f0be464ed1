"""Listings while topics are created and deleted: no errors, and all lasting topics.

A plain broker answers 800 of 800 such requests without an error; clients such as KafkaJS, which
request all topics when they connect, give up at an error.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from devkit.broker import KafkaCluster
from devkit.waiting import wait_until
from tests.live.support import clients, namespaces
from tests.live.support.wire import Wire

Names = Callable[[str], str]

LISTINGS = 60
STAY = 20
METADATA = (1, 4, 9, 12)
PAGE = 7
"""The number of partitions in a page of DescribeTopicPartitions."""


@contextmanager
def changing(servers: str, prefix: str) -> Iterator[list[str]]:
    """Create and delete topics of this prefix, again and again; yields the names so far."""
    made: list[str] = []
    ended = threading.Event()

    def run() -> None:
        admin = clients.admin(servers)
        while not ended.is_set():
            name = f"{prefix}{len(made)}"
            clients.create(servers, name)
            made.append(name)
            clients.done(admin.delete_topics([name]))

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield made
    finally:
        ended.set()
        thread.join()


def metadata(wire: Wire, version: int) -> dict[str, set[int]]:
    topics = () if version == 0 else None
    response = wire.ask("Metadata", version, topics=topics)
    return {one.name: {int(one.error_code)} for one in response.topics}


def pages(wire: Wire) -> dict[str, set[int]]:
    """All topics by DescribeTopicPartitions, with their error codes."""
    found: dict[str, set[int]] = {}
    cursor: Any = None
    while True:
        response = wire.ask(
            "DescribeTopicPartitions", 0, topics=[], response_partition_limit=PAGE, cursor=cursor
        )
        for topic in response.topics:
            found.setdefault(topic.name, set()).add(int(topic.error_code))
        if response.next_cursor is None:
            return found
        following = response.next_cursor
        cursor = {
            "topic_name": following.topic_name,
            "partition_index": following.partition_index,
        }


@pytest.mark.parametrize("by", ["the gateway", "a broker"])
def test_no_listing_has_an_error_and_all_have_what_stays(
    servers: str, kafka: KafkaCluster, unique: Names, by: str
) -> None:
    namespace = unique("listed")
    namespaces.create(servers, f"{namespace}:")
    stay = {f"{namespace}:stays{number}" for number in range(STAY)}
    for name in stay:
        clients.create(servers, name)
    at, prefix = servers, f"{namespace}:passing"
    if by == "a broker":
        at, prefix = kafka.bootstrap_servers, f"{namespace}..passing"
    with changing(at, prefix) as made, Wire(servers.partition(",")[0]) as wire:
        wait_until(lambda: made, "the first change", clients.SECONDS)
        for number in range(LISTINGS):
            asked = number % (len(METADATA) + 1)
            listed = pages(wire) if asked == len(METADATA) else metadata(wire, METADATA[asked])
            assert {code for codes in listed.values() for code in codes} == {0}
            assert stay <= listed.keys()


def test_what_a_broker_has_made_is_listed_at_once(
    servers: str, kafka: KafkaCluster, unique: Names
) -> None:
    namespace = unique("made")
    namespaces.create(servers, f"{namespace}:")
    with Wire(servers.partition(",")[0]) as wire, Wire(kafka.bootstrap_servers) as plain:
        for version in METADATA:
            flat = f"{namespace}..by-a-broker-{version}"
            clients.create(kafka.bootstrap_servers, flat)
            clients.await_stored(kafka, flat)
            assert flat in metadata(plain, version)
            assert f"{namespace}:by-a-broker-{version}" in metadata(wire, version)
