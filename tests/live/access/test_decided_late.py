"""Requests behind a Fetch that waits at the broker are authorized when their turn comes.

A broker with its own authorizer does the same, and rejects them with the same codes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import pytest
from confluent_kafka.cimpl import NewTopic

from devkit.broker import KafkaCluster
from devkit.topics import create_topics
from devkit.waiting import wait_until
from protocol import messages
from protocol.headers import request_header_version
from protocol.schema import api_key_of
from tests.live.access.test_revocation import grants
from tests.live.support import authorized, by_hand, clients
from tests.live.support.fixtures import own_users_gateway
from tests.live.support.wire import ConnectionEnded, Wire, entity, request_frame, response_body
from tests.session.producing import batch

Names = Callable[[str], str]

TOPIC_AUTHORIZATION_FAILED = 29
GROUP_AUTHORIZATION_FAILED = 30
WAIT = timedelta(seconds=60)
FETCH = 12

gateway = own_users_gateway(workers=1, gateway_id="decided-late")


@pytest.fixture
def topic(servers: str, kafka: KafkaCluster, unique: Names) -> str:
    """A topic that alice may use with any group, with two records."""
    name = unique("orders")
    create_topics(authorized.admin(servers), [NewTopic(name, 1, 1)])
    clients.await_stored(kafka, name)
    authorized.delete_acls(servers)
    authorized.add_acls(servers, grants("alice", name))
    clients.produce(servers, name, ["one", "two"], **authorized.login(authorized.ADMIN))
    return name


@pytest.fixture
def alice(servers: str, topic: str) -> Iterator[Wire]:
    """A connection of alice to the only broker."""
    (broker,) = authorized.admin(servers).list_topics(timeout=clients.SECONDS).brokers.values()
    with Wire(f"{broker.host}:{broker.port}") as wire:
        authorized.prove(wire, "alice")
        yield wire


def framed(name: str, version: int, correlation_id: int, **values: object) -> bytes:
    key = api_key_of(f"{name}Request")
    body = messages.write(entity(messages.message_class(f"{name}Request", version), values))
    return request_frame(key, version, body, correlation_id, request_header_version(key, version))


def answered(wire: Wire, name: str, version: int, correlation_id: int) -> Any:
    key = api_key_of(f"{name}Request")
    body = response_body(key, version, correlation_id, wire.frame())
    return messages.parse(f"{name}Response", version, body)


def waiting_fetch(topic: str) -> bytes:
    """A Fetch of records that have not been written yet."""
    asked: dict[str, Any] = by_hand.fetch({"topic": topic})
    asked["topics"][0]["partitions"][0]["fetch_offset"] = 2
    return framed("Fetch", FETCH, 1, **{**asked, "min_bytes": 1, "max_wait": WAIT})


def produce(topic: str) -> dict[str, Any]:
    partition = {"index": 0, "records": batch(1)}
    return {
        "acks": -1,
        "timeout": WAIT,
        "topic_data": [{"name": topic, "partition_data": [partition]}],
    }


def delete_records(topic: str) -> dict[str, Any]:
    return {"topics": [{"name": topic, "partitions": [{"partition_index": 0, "offset": 2}]}]}


def list_offsets(topic: str) -> dict[str, Any]:
    return {
        "replica_id": -1,
        "topics": [{"name": topic, "partitions": [{"partition_index": 0, "timestamp": -1}]}],
    }


def create_partitions(topic: str) -> dict[str, Any]:
    return {"topics": [{"name": topic, "count": 3}], "timeout": WAIT}


def delete_groups(topic: str) -> dict[str, Any]:
    return {"groups_names": [topic]}


BEHIND: dict[str, tuple[int, Callable[[str], dict[str, Any]], set[int]]] = {
    "Produce": (9, produce, {TOPIC_AUTHORIZATION_FAILED}),
    "DeleteRecords": (2, delete_records, {TOPIC_AUTHORIZATION_FAILED}),
    "ListOffsets": (6, list_offsets, {TOPIC_AUTHORIZATION_FAILED}),
    "CreatePartitions": (3, create_partitions, {TOPIC_AUTHORIZATION_FAILED}),
    "DeleteGroups": (2, delete_groups, {GROUP_AUTHORIZATION_FAILED}),
}


def codes(value: Any) -> set[int]:
    """Every error code of a response except 0."""
    if isinstance(value, tuple):
        return set().union(*map(codes, value)) if value else set()
    if not hasattr(value, "__dataclass_fields__"):
        return set()
    found: set[int] = set()
    for name in value.__dataclass_fields__:
        inner = getattr(value, name)
        found |= {int(inner)} - {0} if name == "error_code" else codes(inner)
    return found


def await_revoked(servers: str, topic: str) -> None:
    """Delete alice's ACLs, and wait until the only worker applies the deletion."""
    authorized.delete_acls(servers, "alice")
    with Wire(servers) as wire:
        authorized.prove(wire, "alice")
        wait_until(
            lambda: (
                codes(wire.ask("ListOffsets", 6, **list_offsets(topic)))
                == {TOPIC_AUTHORIZATION_FAILED}
            ),
            "nothing is allowed",
            clients.SECONDS,
        )


def stored(kafka: KafkaCluster, topic: str) -> tuple[int, int]:
    """The first offset and the end of its partition."""
    with Wire(kafka.bootstrap_servers) as wire:
        found = []
        for at in (-2, -1):
            asked = list_offsets(topic)
            asked["topics"][0]["partitions"][0]["timestamp"] = at
            (answer,) = wire.ask("ListOffsets", 6, **asked).topics
            found.append(answer.partitions[0].offset)
    return found[0], found[1]


@pytest.mark.parametrize("api", BEHIND)
def test_a_right_that_goes_while_a_request_waits_behind_a_fetch(
    servers: str, kafka: KafkaCluster, topic: str, alice: Wire, api: str
) -> None:
    version, values, expected = BEHIND[api]
    alice.send(waiting_fetch(topic) + framed(api, version, 2, **values(topic)))
    await_revoked(servers, topic)
    clients.produce(servers, topic, ["three"], **authorized.login(authorized.ADMIN))
    fetched = answered(alice, "Fetch", FETCH, 1)
    assert not any(one.records for each in fetched.responses for one in each.partitions)
    assert codes(answered(alice, api, version, 2)) == expected
    assert stored(kafka, topic) == (0, 3)


def test_a_right_that_goes_while_records_arrive(
    servers: str, kafka: KafkaCluster, topic: str, alice: Wire
) -> None:
    asked = produce(topic)
    asked["topic_data"][0]["partition_data"][0]["records"] = batch(1) + bytes(150_000)
    frame = framed("Produce", 9, 1, **asked)
    alice.send(frame[:60_000])
    await_revoked(servers, topic)
    with pytest.raises((ConnectionEnded, ConnectionError)):
        alice.send(frame[60_000:])
        alice.frame()
    assert stored(kafka, topic) == (0, 2)
