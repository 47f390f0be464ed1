"""Impostors, lying peers and wrongly configured peers: no information gets through."""

from __future__ import annotations

import struct
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import timedelta
from functools import partial
from typing import Final

import pytest
from confluent_kafka.cimpl import NewTopic

from devkit.broker import KafkaCluster
from devkit.certificates import Authority, Credentials
from devkit.waiting import wait_until
from gateway.error_codes import (
    TOPIC_AUTHORIZATION_FAILED,
    UNKNOWN_TOPIC_OR_PARTITION,
    UNSUPPORTED_VERSION,
)
from gateway.node_ids import MOUNTED_BITS
from gateway.referrals import envelope
from gateway.referrals.questions import Outcome, Question
from protocol import messages
from protocol.schema import api_key_of
from tests.live.support import clients
from tests.live.support.wire import ConnectionEnded, Wire, entity
from tests.live.tree_of_gateways import peer_client, wrong_trees
from tests.live.tree_of_gateways.peer_client import PeerClient, locate
from tests.live.tree_of_gateways.sites import (
    LA,
    NUMBERS,
    ROOT,
    TRACKING,
    VOLUMES,
    Tree,
    absolute,
    metadata,
)
from tests.pace import Pace

METADATA: Final = api_key_of("MetadataRequest")
PRODUCE: Final = api_key_of("ProduceRequest")
CREATE_TOPICS: Final = api_key_of("CreateTopicsRequest")

BOUNDED: Final = 1.5
"""Seconds for a response, 0.5 of them for the wait; the rest is for a busy machine."""

MINUTE: Final = timedelta(minutes=1)


# -- at the peers' port --------------------------------------------------------------------------


def credentials_of(tree: Tree, mount: str) -> Credentials:
    """The certificate of a gateway of the tree."""
    return tree[mount].place.credentials


@pytest.fixture
def bystander(tree: Tree, authority: Authority) -> Iterator[None]:
    """A peer's connection that gets responses before an attack, and after it."""
    with PeerClient(tree[LA].peer_address, authority, credentials_of(tree, ROOT)) as peer:
        assert peer.ask(locate(TRACKING, "root")).outcome is Outcome.ANSWERED
        yield
        assert peer.ask(locate(TRACKING, "root")).outcome is Outcome.ANSWERED


def test_a_peer_is_answered(tree: Tree, authority: Authority) -> None:
    """The owner's parent responds, so the tests below fail only for the lack of the right
    certificate."""
    with PeerClient(tree[LA].peer_address, authority, credentials_of(tree, ROOT)) as peer:
        answer = peer.ask(locate("la:tracking:search", "root"))
    assert (answer.outcome, answer.mount) == (Outcome.ANSWERED, TRACKING)
    assert answer.number == NUMBERS[TRACKING]
    assert [hop.gateway_id for hop in answer.hops] == ["la", "tracking"]


@pytest.mark.usefixtures("bystander")
@pytest.mark.parametrize("shown", ["nothing", "unknown subject", "no neighbour", "foreign"])
def test_without_a_peer_s_certificate_nothing_is_answered(
    tree: Tree, authority: Authority, shown: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """``tracking`` is a gateway of the tree, but the root does not know it."""
    foreign = Authority(tmp_path_factory.mktemp("foreign"), "foreign")
    certificate = {
        "nothing": None,
        "unknown subject": authority.peer("stranger"),
        "no neighbour": credentials_of(tree, TRACKING),
        "foreign": foreign.peer("la"),
    }[shown]
    received = b""
    with (
        suppress(ConnectionEnded),
        PeerClient(tree[ROOT].peer_address, authority, certificate) as client,
    ):
        with suppress(ConnectionEnded):
            client.send_request(
                envelope.API_KEY, envelope.VERSION, envelope.request_body(locate(LA, "la"))
            )
        received = client.wait_for_end()
    assert received == b""


@pytest.mark.usefixtures("bystander")
def test_without_tls_nothing_is_answered(tree: Tree) -> None:
    with Wire(tree[LA].peer_address) as wire, pytest.raises(ConnectionEnded):
        wire.ask("ApiVersions", 0)


def _envelope(question: Question) -> bytes:
    return envelope.request_body(question)


BAD_FRAMES: Final[Mapping[str, tuple[int, int, bytes]]] = {
    "a client's request": (METADATA, 4, struct.pack(">i?", 0, False)),
    "an envelope that is garbage": (envelope.API_KEY, 0, b"\xff" * 50),
    "an envelope that ends early": (envelope.API_KEY, 0, _envelope(locate(LA, "root"))[:-3]),
    "an envelope with more behind it": (envelope.API_KEY, 0, _envelope(locate(LA, "root")) + b"x"),
    "an envelope of a version to come": (envelope.API_KEY, 1, _envelope(locate(LA, "root"))),
    "an envelope without our tag": (
        envelope.API_KEY,
        0,
        messages.made(
            "EnvelopeRequest",
            0,
            {"request_data": b"", "request_principal": b"", "client_host_address": b""},
        ),
    ),
}


@pytest.mark.usefixtures("bystander")
@pytest.mark.parametrize("sent", BAD_FRAMES)
def test_what_is_no_question_ends_the_connection(
    tree: Tree, authority: Authority, sent: str
) -> None:
    api_key, version, body = BAD_FRAMES[sent]
    with PeerClient(tree[LA].peer_address, authority, credentials_of(tree, ROOT)) as peer:
        peer.send_request(api_key, version, body)
        assert peer.wait_for_end() == b""


@pytest.mark.usefixtures("bystander")
@pytest.mark.parametrize("size", [-1, 0, 2**31 - 1])
def test_sizes_that_no_request_has_end_the_connection(
    tree: Tree, authority: Authority, size: int
) -> None:
    with PeerClient(tree[LA].peer_address, authority, credentials_of(tree, ROOT)) as peer:
        peer.send(struct.pack(">i", size) + bytes(100))
        assert peer.wait_for_end() == b""


def _create(name: str) -> bytes:
    wanted = [{"name": name, "num_partitions": 1, "replication_factor": 1}]
    values = {"topics": wanted, "timeout": MINUTE}
    return messages.write(entity(messages.message_class("CreateTopicsRequest", 7), values))


def test_questions_that_a_peer_may_not_ask(tree: Tree, authority: Authority) -> None:
    """Loops, too many hops, unknown mounts, requests that gateways do not forward."""
    create = _create(":la:smuggled")

    def ask(mount: str, question: Question, at: str = LA) -> Outcome:
        with PeerClient(tree[at].peer_address, authority, credentials_of(tree, mount)) as peer:
            return peer.ask(question).outcome

    def request(target: str, api_key: int, version: int, body: bytes, *path: str) -> Question:
        return peer_client.request(target, api_key, version, body, *path, principal="User:x")

    assert ask(ROOT, locate(TRACKING, "root", "la")) is Outcome.REJECTED
    assert ask(ROOT, locate(TRACKING, "root", hops=0)) is Outcome.REJECTED
    assert ask(ROOT, locate("ny", "root")) is Outcome.NO_SUCH_MOUNT
    assert ask(ROOT, request(LA, PRODUCE, 9, b"", "root")) is Outcome.REJECTED
    assert ask(ROOT, request(LA, envelope.API_KEY, 0, b"", "root")) is Outcome.REJECTED
    assert ask(ROOT, request("la:none", CREATE_TOPICS, 7, create, "root")) is Outcome.NO_SUCH_MOUNT
    assert ask(ROOT, request(LA, CREATE_TOPICS, 99, create, "root")) is Outcome.REJECTED
    assert ask(ROOT, request(LA, CREATE_TOPICS, 7, b"\xff" * 20, "root")) is Outcome.REJECTED
    assert "smuggled" not in tree[LA].kafka.topics()


# -- at the ports of clients -----------------------------------------------------------------------


def test_an_envelope_at_a_port_of_clients_is_an_api_that_is_not_served(tree: Tree) -> None:
    """Neither bootstrap ports nor brokers' ports advertise it or answer it."""
    body = envelope.request_body(locate(LA, "root"))
    for site in tree.values():
        clients.create(site.servers(), "enveloped")
        node = clients.leader_address(site.servers(), "enveloped")
        for address in (*(site.servers(volume) for volume in VOLUMES), node):
            with Wire(address) as wire:
                served = {int(each.api_key) for each in wire.ask("ApiVersions", 0).api_keys}
                assert envelope.API_KEY not in served
                response = wire.exchange(envelope.API_KEY, envelope.VERSION, body)
                answered = messages.parse("EnvelopeResponse", envelope.VERSION, response)
                assert int(answered.error_code) == UNSUPPORTED_VERSION
                assert not answered.response_data


# -- peers that are configured wrongly -------------------------------------------------------------


DENIED: Final = (TOPIC_AUTHORIZATION_FAILED, UNKNOWN_TOPIC_OR_PARTITION)


def denied(servers: str, name: str) -> bool:
    """Whether a client gets the error that denies a topic, and no other information.

    The error is not retriable; it would be while the other gateway takes more than half a second.
    """
    (topic,) = metadata(servers, name).topics
    assert not topic.partitions
    return int(topic.error_code) in DENIED


@pytest.mark.long("kills")
def test_a_peer_that_may_speak_for_nobody_learns_nothing(
    tree: Tree, clusters: Mapping[str, KafkaCluster], authority: Authority
) -> None:
    """A client of such a peer learns nothing of a topic that other clients of the tree can use."""
    near, far = absolute(ROOT, ROOT, "for-some"), absolute(ROOT, LA, "for-some")
    clients.create(tree[ROOT].servers(), near, far)
    clients.await_led(tree[ROOT].servers(), near, far)
    clients.produce(tree[ROOT].servers(), far, ["secret"])
    with wrong_trees.denying(clusters, authority) as denying:
        servers = denying[ROOT].servers()
        wait_until(lambda: denied(servers, far), "a peer that responds", clients.SECONDS)
        for name in (far, absolute(ROOT, LA, "for-nobody")):
            wait_until(partial(denied, servers, name), f"a word about {name}", clients.SECONDS)
            response = metadata(servers, near, name)
            assert {each.node_id >> MOUNTED_BITS for each in response.brokers} == {NUMBERS[ROOT]}
            own, other = response.topics
            assert int(own.error_code) == 0
            assert int(other.error_code) in DENIED
            assert not other.partitions
        (created,) = (
            clients.admin(servers)
            .create_topics([NewTopic(absolute(ROOT, LA, "no"), 1, 1)])
            .values()
        )
        assert clients.error_code(created) in DENIED
        (deleted,) = clients.admin(servers).delete_topics([far]).values()
        assert clients.error_code(deleted) in DENIED
        assert wrong_trees.lookups(denying[ROOT].gateway, outcome="denied") > 0
        assert wrong_trees.lookups(denying[ROOT].gateway, outcome="answered") == 0
    assert clients.consume(tree[ROOT].servers(), far, 1, "for-some") == ["secret"]
    assert "no" not in clusters[LA].topics()


@pytest.mark.long("kills")
def test_gateways_in_a_circle_ask_each_other_once(
    clusters: Mapping[str, KafkaCluster], authority: Authority, pace: Pace
) -> None:
    """A name without an owner is soon known as such, and a child's false mount is never
    believed."""
    count = 20
    with wrong_trees.in_a_circle(clusters, authority) as circle:
        for mount, gateway in circle.items():
            servers = gateway.bootstrap_servers("all")
            clients.create(servers, f"in-{mount}")
            clients.await_led(servers, f"in-{mount}")
        for mount, gateway in circle.items():
            servers = gateway.bootstrap_servers("all")
            for number in range(count):
                names = (f":{wrong_trees.NOBODY}:{number}", f":{mount}:lie:{number}")

                def own_alone(
                    servers: str = servers, own: str = f"in-{mount}", names: Sequence[str] = names
                ) -> bool:
                    began = time.monotonic()
                    topic, *others = metadata(servers, own, *names).topics
                    assert time.monotonic() - began < pace.stretched(BOUNDED)
                    assert all(int(each.error_code) for each in others)
                    assert not any(each.partitions for each in others)
                    # Its own cluster, too, has only half a second to respond, beside the other
                    # clusters.
                    return int(topic.error_code) == 0

                wait_until(own_alone, f"the topic of {mount}", clients.SECONDS)
        asked = sum(map(wrong_trees.lookups, circle.values()))
        # A client's question passes each gateway at most once, and each gateway asks some questions
        # of its own, about the owners of volumes that its listener reaches.
        assert 0 < asked <= 2 * 3 * (2 * count * 3)
        assert sum(map(wrong_trees.lookups, circle.values())) - asked < count
