"""Moving a topic between namespaces (KIP-37: Move): metadata only.

Moves under load are in test_move_under_load.py.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest
from confluent_kafka import Consumer, TopicPartition

from devkit.broker import KafkaCluster
from devkit.waiting import wait_until
from tests.live.support import clients, namespaces
from tests.live.support.namespaces import (
    DEFAULT,
    INVALID_CONFIG,
    INVALID_TOPIC_EXCEPTION,
    TOPIC_ALREADY_EXISTS,
)
from tests.live.support.wire import Wire

Names = Callable[[str], str]
Stored = Callable[[], set[str]]

UNKNOWN_TOPIC_OR_PARTITION = 3


def test_move_keeps_records_and_positions(
    admin: str, colon: str, kafka: KafkaCluster, topics_on_broker: Stored, unique: Names
) -> None:
    """Metadata only: the broker's topic stays the same, and the old name no longer exists."""
    source, target, topic = unique("from"), unique("to"), unique("orders")
    old, new, group = f"{source}:{topic}", f"{target}:{topic}", unique("app")
    namespaces.create(admin, f"{source}:", f"{target}:")
    namespaces.create_topic(colon, kafka, old)
    clients.produce(colon, old, ["one", "two"])
    assert clients.consume(colon, old, 1, group) == ["one"]
    topic_id = _topic_id(colon, old)

    namespaces.alter(admin, old, {"gateway.namespace": target})
    here = {name for name in topics_on_broker() if source in name or target in name}
    assert here == {namespaces.flat(old)}
    assert {name for name in clients.listed(colon) if topic in name} == {new}
    assert namespaces.describe(colon, new)["gateway.namespace"] == (target, DEFAULT)
    assert _topic_id(colon, new) != topic_id
    assert _topic_id(kafka.bootstrap_servers, namespaces.flat(old)) == topic_id
    code, _ = namespaces.rejection(namespaces.description(colon, old))
    assert code == UNKNOWN_TOPIC_OR_PARTITION
    clients.produce(colon, new, ["three"])
    assert clients.consume(colon, new, 2, group) == ["two", "three"]

    # The old name is free: a topic created under it now is another topic, stored elsewhere.
    namespaces.create(colon, old)
    clients.produce(colon, old, ["other"])
    assert clients.consume(colon, old, 1, unique("readers")) == ["other"]
    assert clients.consume(colon, new, 3, unique("readers")) == ["one", "two", "three"]
    # The move back fails, because the old name is taken; the default namespace accepts the topic.
    code, text = namespaces.rejection(
        namespaces.alteration(admin, new, {"gateway.namespace": source})
    )
    assert (code, old in text) == (TOPIC_ALREADY_EXISTS, True)
    namespaces.alter(admin, new, {"gateway.namespace": ""})
    assert clients.consume(colon, topic, 3, unique("readers")) == ["one", "two", "three"]
    namespaces.delete(colon, topic, old)
    wait_until(
        lambda: not {stored for stored in topics_on_broker() if topic in stored},
        f"the end of both topics {topic}",
        clients.SECONDS,
    )


@pytest.mark.long("kills")
def test_an_alias_keeps_the_old_name_for_a_while(
    admin: str, colon: str, kafka: KafkaCluster, unique: Names
) -> None:
    source, target = unique("from"), unique("to")
    namespaces.create(admin, f"{source}:", f"{target}:")
    topic, passing = unique("orders"), unique("passing")
    for name in (topic, passing):
        namespaces.create_topic(colon, kafka, f"{source}:{name}")
        clients.produce(colon, f"{source}:{name}", ["one"])
    until = datetime.now(UTC) + timedelta(seconds=10)
    for name, end in ((passing, until), (topic, until + timedelta(hours=1))):
        move = {
            "gateway.namespace": target,
            "gateway.alias.until": end.strftime("%Y-%m-%dT%H:%M:%SZ"),
        }
        namespaces.alter(admin, f"{source}:{name}", move)

    old, new = f"{source}:{topic}", f"{target}:{topic}"
    clients.produce(colon, old, ["two"])
    clients.produce(colon, new, ["three"])
    for name in (old, new):
        values = clients.consume(colon, name, 3, unique("readers"))
        assert values == ["one", "two", "three"]
    # A topic is listed once.
    assert {name for name in clients.listed(colon) if topic in name} == {new}
    code, _ = namespaces.rejection(namespaces.creation(colon, old))
    assert code == TOPIC_ALREADY_EXISTS

    def expired() -> bool:
        old = namespaces.description(colon, f"{source}:{passing}")
        return old.exception(clients.SECONDS) is not None

    wait_until(expired, f"the end of the alias of {passing}", clients.SECONDS, poll=0.2)
    assert time.time() >= until.timestamp() - 1
    assert clients.consume(colon, f"{target}:{passing}", 1, unique("readers")) == ["one"]
    assert namespaces.description(colon, old).exception(clients.SECONDS) is None


def test_moves_that_are_rejected(
    admin: str, home_a: str, colon: str, kafka: KafkaCluster, unique: Names
) -> None:
    """A rejected move changes nothing."""
    source, topic = unique("from"), unique("orders")
    old = f"{source}:{topic}"
    namespaces.create(admin, f"{source}:full:")
    for name in (old, f"{source}:full:{topic}"):
        namespaces.create_topic(colon, kafka, name)
    missing = f"{source}:nowhere"
    cases = {
        (missing, ""): (INVALID_TOPIC_EXCEPTION, f"namespace '{missing}' does not exist"),
        (f"{source}:full", ""): (TOPIC_ALREADY_EXISTS, f"{source}:full:{topic}"),
        (f"{source}:full", "2020-01-01"): (INVALID_CONFIG, "gateway.alias.until"),
        ("not_a_tier", ""): (INVALID_TOPIC_EXCEPTION, "not_a_tier"),
    }
    for (target, until), (code, part) in cases.items():
        put = {"gateway.namespace": target} | ({"gateway.alias.until": until} if until else {})
        said = namespaces.rejection(namespaces.alteration(admin, old, put))
        assert (said[0], part in said[1]) == (code, True), f"{put}: {said}"
        assert not {text for text in (namespaces.flat(old), "..") if text in said[1]}
    # ``gateway.topic`` alone moves no topic, and a client with a home cannot move a topic out of
    # it.
    code, _ = namespaces.rejection(namespaces.alteration(admin, old, {"gateway.topic": "other"}))
    assert code == INVALID_CONFIG
    confined = unique("orders")
    namespaces.create_topic(colon, kafka, f"team-a:{confined}")
    out = namespaces.alteration(home_a, confined, {"gateway.namespace": ":team-b"})
    assert out.exception(clients.SECONDS) is not None
    assert f"team-b:{confined}" not in clients.listed(colon)
    assert {old, f"{source}:full:{topic}"} <= clients.listed(colon)
    with clients.consumer(colon, unique("readers")) as client:
        assert _end(client, old) == 0


def _end(client: Consumer, topic: str) -> int:
    _, end = client.get_watermark_offsets(TopicPartition(topic, 0), timeout=clients.SECONDS)
    return int(end)


def _topic_id(servers: str, topic: str) -> object:
    with Wire(clients.any_broker(servers)) as wire:
        (found,) = wire.ask("Metadata", 12, topics=[{"name": topic}]).topics
    assert int(found.error_code) == 0
    return found.topic_id
