"""A namespace whose name is a prefix of a group's and a transactional id, at a real broker.

If a user has no right to these ids, creating the namespace does not capture them. If a user adopts
them, no right changes.
"""

from __future__ import annotations

from collections.abc import Callable

from confluent_kafka import Producer, TopicPartition

from devkit.broker import KafkaCluster
from gateway.acl_model import AclBinding, pattern_of
from tests.acls.samples import entry
from tests.live.support import authorized, clients
from tests.live.support.fixtures import own_users_gateway
from tests.live.support.namespaces import new_topic, rejection

GROUP, TX = "captured.x..g", "captured.x..tx"
INVALID, CLUSTER_DENIED = 17, 31
RIGHTS = (
    "TOPIC:LITERAL:{topic} ALLOW ALL alice",
    f"GROUP:LITERAL:{GROUP} ALLOW ALL alice",
    f"TRANSACTIONAL_ID:LITERAL:{TX} ALLOW ALL alice",
    "TOPIC:PREFIXED:captured: ALLOW CREATE bob",
    "TOPIC:PREFIXED:captured: ALLOW DELETE bob",
)

gateway = own_users_gateway(namespaces=["captured"])


def made_by(servers: str, user: str, *, adopt: bool = False) -> tuple[int, str]:
    """The error code and message of creating ``captured:x``, or (0, "") if it is created."""
    configs = {"gateway.adopt": "true"} if adopt else {}
    wanted = new_topic("captured:x:", configs)
    future = authorized.admin(servers, user).create_topics([wanted])["captured:x:"]
    if future.exception(clients.SECONDS) is None:
        return 0, ""
    return rejection(future)


def used(servers: str, topic: str) -> list[str]:
    """The records that alice reads and commits as a member, after she wrote them in a
    transaction."""
    producer = Producer(clients.settings(servers, **authorized.login("alice"), transactional_id=TX))
    producer.init_transactions(clients.SECONDS)
    producer.begin_transaction()
    producer.produce(topic, "one")
    producer.commit_transaction(clients.SECONDS)
    return clients.consume(servers, topic, 1, GROUP, **authorized.login("alice"))


def committed(servers: str, topic: str) -> int:
    """The group's offset, as alice fetches it."""
    with clients.consumer(servers, GROUP, **authorized.login("alice")) as client:
        (found,) = client.committed([TopicPartition(topic, 0)], clients.SECONDS)
    return int(found.offset)


def test_who_makes_the_namespace_does_not_take_them(
    users: str, kafka: KafkaCluster, unique: Callable[[str], str]
) -> None:
    topic = unique("captured")
    clients.create(kafka.bootstrap_servers, topic)
    clients.await_stored(kafka, topic)
    bindings = []
    for line in RIGHTS:
        pattern, _, rest = line.format(topic=topic).partition(" ")
        bindings.append(AclBinding(pattern_of(pattern), entry(rest)))
    authorized.add_acls(users, bindings)
    assert used(users, topic) == ["one"]
    offset = committed(users, topic)
    assert offset > 0

    code, message = made_by(users, "bob")
    assert (code, "existing names: 4 that you do not see here" in message) == (INVALID, True)
    assert made_by(users, "bob", adopt=True)[0] == CLUSTER_DENIED
    code, message = made_by(users, authorized.ADMIN)
    assert code == INVALID
    assert f"groups: '{GROUP}'; transactional ids: '{TX}'; ACLs: 'GROUP:LITERAL:{GROUP}'" in message
    assert made_by(users, authorized.ADMIN, adopt=True) == (0, "")

    assert committed(users, topic) == offset
    assert used(users, topic) == ["one"]
