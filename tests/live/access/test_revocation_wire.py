"""Revoked rights end within a second also for open sessions and waiting requests.

These are fetch sessions, held requests, memberships and transactions, by hand because clients hide
them. The connections are spread over two workers.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from datetime import timedelta
from typing import Any

import pytest
from confluent_kafka.cimpl import NewTopic

from devkit.broker import KafkaCluster
from devkit.topics import create_topics
from devkit.waiting import wait_until
from gateway.acl_model import ResourceType
from protocol import messages
from protocol.headers import request_header_version
from protocol.schema import api_key_of
from tests.live.access.test_revocation import grants
from tests.live.support import authorized, by_hand, clients
from tests.live.support.fixtures import own_users_gateway
from tests.live.support.wire import Wire, entity, request_frame, response_body
from tests.pace import Pace

Names = Callable[[str], str]

pytestmark = pytest.mark.alone

AT_ONCE = 1.0
"""Seconds, on an idle machine, after which no request is allowed any more."""
CONNECTIONS = 4
"""Enough that both workers almost surely have some of them."""

TOPIC_AUTHORIZATION_FAILED = 29
GROUP_AUTHORIZATION_FAILED = 30
TRANSACTIONAL_ID_AUTHORIZATION_FAILED = 53
FETCH_SESSION_ID_NOT_FOUND = 70

TIMEOUT = timedelta(seconds=30)
RECORDS = 1
"""The number of the topic's records."""
FETCH_BY_NAME = 12


gateway = own_users_gateway(workers=2, gateway_id="revoking-wire")


@pytest.fixture
def topic(servers: str, kafka: KafkaCluster, unique: Names) -> str:
    """A topic with a record, which alice may use with any group and transactional id."""
    name = unique("orders")
    create_topics(authorized.admin(servers), [NewTopic(name, 1, 1)])
    clients.await_stored(kafka, name)
    authorized.delete_acls(servers)
    authorized.add_acls(servers, grants("alice", name))
    _produce(servers, name)
    return name


def _produce(servers: str, topic: str) -> None:
    clients.produce(servers, topic, ["record"], **authorized.login(authorized.ADMIN))


@pytest.fixture
def alice(servers: str, topic: str) -> Iterator[list[Wire]]:
    """Connections of alice to the only broker."""
    with ExitStack() as stack:
        brokers = authorized.admin(servers).list_topics(timeout=clients.SECONDS).brokers
        (broker,) = brokers.values()
        address = f"{broker.host}:{broker.port}"
        wires = [stack.enter_context(Wire(address)) for _ in range(CONNECTIONS)]
        for wire in wires:
            authorized.prove(wire, "alice")
        for number, wire in enumerate(wires):  # their workers must have read her ACLs
            by_hand.await_coordinators(wire, [named(topic, number)], [named(topic, number)])
        yield wires


def named(topic: str, number: int) -> str:
    """The group, or the transactional id, of a connection of alice."""
    return f"{topic}-{number}"


def await_rejection(ask: Callable[[], int], *codes: int) -> None:
    """Wait until an allowed request is rejected with any of these codes, at most a second."""
    with Pace() as pace:
        began = time.monotonic()
        wait_until(lambda: ask() in codes, f"one of {codes}", clients.SECONDS, poll=0.01)
        took = time.monotonic() - began
    assert took < pace.stretched(AT_ONCE)


# -- reading ----------------------------------------------------------------------------------


def fetch(topic: str, session_id: int, epoch: int, offset: int = 0) -> dict[str, Any]:
    asked: dict[str, Any] = by_hand.fetch({"topic": topic}, session_id, epoch)
    asked["topics"][0]["partitions"][0]["fetch_offset"] = offset
    return asked


def test_an_open_fetch_session(servers: str, topic: str, alice: list[Wire]) -> None:
    """An open session ends, and a new session contains no partition that may not be read."""
    for wire in alice:

        def opens(wire: Wire = wire) -> Any:
            # This connection's worker may not have read the restored rights yet.
            answer = wire.ask("Fetch", FETCH_BY_NAME, **fetch(topic, 0, 0))
            return answer if answer.session_id > 0 else None

        opened = wait_until(opens, "a session", clients.SECONDS)
        assert opened.responses[0].partitions[0].records
        nothing = {**fetch(topic, opened.session_id, 1), "topics": []}
        assert int(wire.ask("Fetch", FETCH_BY_NAME, **nothing).error_code) == 0
        authorized.delete_acls(servers, "alice")
        _produce(servers, topic)

        def again(wire: Wire = wire, session_id: int = opened.session_id) -> int:
            more = {**fetch(topic, session_id, 2), "topics": []}
            answer = wire.ask("Fetch", FETCH_BY_NAME, **more)
            assert not answer.responses
            return int(answer.error_code)

        await_rejection(again, FETCH_SESSION_ID_NOT_FOUND)
        anew = wire.ask("Fetch", FETCH_BY_NAME, **fetch(topic, 0, 0))
        (partition,) = anew.responses[0].partitions
        assert int(partition.error_code) == TOPIC_AUTHORIZATION_FAILED
        assert not partition.records
        authorized.add_acls(servers, grants("alice", topic))


def test_a_fetch_that_waits(servers: str, topic: str, alice: list[Wire]) -> None:
    """A Fetch that waits at the broker gets no records that are written a second later."""
    key = api_key_of("FetchRequest")
    asked = {**fetch(topic, 0, -1, RECORDS), "min_bytes": 1, "max_wait": TIMEOUT}
    body = messages.write(entity(messages.message_class("FetchRequest", FETCH_BY_NAME), asked))
    header = request_header_version(key, FETCH_BY_NAME)
    for wire in alice:
        wire.send(request_frame(key, FETCH_BY_NAME, body, 77, header))
    with Pace() as pace:
        authorized.delete_acls(servers, "alice")
        revoked = time.monotonic()
        wait_until(
            lambda: time.monotonic() > revoked + pace.stretched(AT_ONCE),
            "a second",
            clients.SECONDS,
        )
    _produce(servers, topic)
    for wire in alice:
        answer = response_body(key, FETCH_BY_NAME, 77, wire.frame())
        found = messages.parse("FetchResponse", FETCH_BY_NAME, answer)
        partitions = [one for each in found.responses for one in each.partitions]
        assert not any(one.records for one in partitions)
        codes = {int(one.error_code) for one in partitions} | {int(found.error_code)}
        assert codes & {TOPIC_AUTHORIZATION_FAILED, FETCH_SESSION_ID_NOT_FOUND}


# -- members of groups ------------------------------------------------------------------------


def test_a_member_of_a_classic_group(servers: str, topic: str, alice: list[Wire]) -> None:
    joined = []
    for number, wire in enumerate(alice):
        group = named(topic, number)
        member = _join(wire, group)
        assert _heartbeat(wire, group, member) == 0
        joined.append((wire, group, member))
    authorized.delete_acls(servers, "alice")
    for wire, group, member in joined:
        await_rejection(
            lambda wire=wire, group=group, member=member: _heartbeat(wire, group, member),  # type: ignore[misc]
            GROUP_AUTHORIZATION_FAILED,
        )
        assert _commit(wire, group, member, topic) == GROUP_AUTHORIZATION_FAILED


def _join(wire: Wire, group: str) -> dict[str, Any]:
    member_id = ""
    for _ in range(2):  # first the broker assigns its id (KIP-394)
        joined = wire.ask(
            "JoinGroup",
            7,
            group_id=group,
            member_id=member_id,
            session_timeout=TIMEOUT,
            rebalance_timeout=TIMEOUT,
            protocol_type="consumer",
            protocols=[{"name": "range", "metadata": b"\0\0\0\0\0\0\xff\xff\xff\xff"}],
        )
        member_id = joined.member_id
    member = {"member_id": member_id, "generation_id": joined.generation_id}
    synced = wire.ask(
        "SyncGroup",
        5,
        group_id=group,
        protocol_type="consumer",
        protocol_name="range",
        assignments=[{"member_id": member_id, "assignment": b""}],
        **member,
    )
    assert int(synced.error_code) == 0
    return member


def _heartbeat(wire: Wire, group: str, member: dict[str, Any]) -> int:
    return int(wire.ask("Heartbeat", 4, group_id=group, **member).error_code)


def _commit(wire: Wire, group: str, member: dict[str, Any], topic: str) -> int:
    partition = {"partition_index": 0, "committed_offset": 1, "committed_metadata": ""}
    answer = wire.ask(
        "OffsetCommit",
        8,
        group_id=group,
        member_id=member["member_id"],
        generation_id_or_member_epoch=member["generation_id"],
        topics=[{"name": topic, "partitions": [partition]}],
    )
    return int(answer.topics[0].partitions[0].error_code)


@pytest.mark.parametrize(
    ("taken", "code"),
    [
        (ResourceType.GROUP, GROUP_AUTHORIZATION_FAILED),
        (ResourceType.TOPIC, TOPIC_AUTHORIZATION_FAILED),
    ],
    ids=["group", "topic"],
)
def test_a_member_of_a_kip_848_group(
    servers: str, topic: str, alice: list[Wire], taken: ResourceType, code: int
) -> None:
    """Its group, or a topic of its subscription, is denied.

    A heartbeat without changes names no topics, here as at a broker; a Fetch of them is denied.
    """
    epochs = []
    for number, wire in enumerate(alice):
        joined = _beat(wire, named(topic, number), 0, (topic,))
        assert int(joined.error_code) == 0
        epochs.append(joined.member_epoch)
    authorized.delete_acls(servers, "alice")
    authorized.add_acls(
        servers, [acl for acl in grants("alice", topic) if acl.pattern.type is not taken]
    )
    for number, wire in enumerate(alice):
        group, epoch = named(topic, number), epochs[number]
        names = (topic,) if taken is ResourceType.TOPIC else None

        def beat(
            wire: Wire = wire,
            group: str = group,
            epoch: int = epoch,
            names: tuple[str, ...] | None = names,
        ) -> int:
            return int(_beat(wire, group, epoch, names).error_code)

        await_rejection(beat, code)


def _beat(wire: Wire, group: str, epoch: int, topics: tuple[str, ...] | None = None) -> Any:
    return wire.ask(
        "ConsumerGroupHeartbeat",
        1,
        group_id=group,
        member_id="member",
        member_epoch=epoch,
        rebalance_timeout=TIMEOUT if topics else timedelta(milliseconds=-1),
        subscribed_topic_names=topics,
        topic_partitions=[] if topics else None,
    )


# -- transactions -----------------------------------------------------------------------------


def test_an_open_transaction(servers: str, topic: str, alice: list[Wire]) -> None:
    """Its producer can neither extend nor end an open transaction any more."""
    producers = []
    for number, wire in enumerate(alice):
        transactional_id = named(topic, number)
        made = by_hand.init_producer_id(wire, transactional_id)
        assert int(made.error_code) == 0
        producer = {"producer_id": made.producer_id, "producer_epoch": made.producer_epoch}
        assert _add(wire, transactional_id, producer, topic) == 0
        producers.append((wire, transactional_id, producer))
    authorized.delete_acls(servers, "alice")
    for wire, transactional_id, producer in producers:
        await_rejection(
            lambda w=wire, i=transactional_id, p=producer: _add(w, i, p, topic),  # type: ignore[misc]
            TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
        )
        ended = wire.ask("EndTxn", 3, transactional_id=transactional_id, committed=True, **producer)
        assert int(ended.error_code) == TRANSACTIONAL_ID_AUTHORIZATION_FAILED


def _add(wire: Wire, transactional_id: str, producer: dict[str, int], topic: str) -> int:
    fields = {
        "transactional_id": transactional_id,
        "topics": [{"name": topic, "partitions": (0,)}],
        **producer,
    }
    asked = {f"v3_and_below_{name}": value for name, value in fields.items()}
    (added,) = wire.ask("AddPartitionsToTxn", 3, **asked).results_by_topic_v3_and_below
    return int(added.results_by_partition[0].partition_error_code)
