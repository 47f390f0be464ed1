"""A listener's clients never see or change another's resources, by name, by id, or by accident."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from confluent_kafka import ConsumerGroupTopicPartitions, KafkaError, KafkaException, Producer
from confluent_kafka.cimpl import NewTopic

from devkit.broker import KafkaCluster
from devkit.gateway_process import GatewayProcess
from tests.live.support import by_hand, clients
from tests.live.support.by_hand import ALL_ACKS, TIMEOUT, UNKNOWN_TOPIC_OR_PARTITION
from tests.live.support.wire import Wire

Names = Callable[[str], str]

INVALID_TOPIC_EXCEPTION = 17
FETCH_SESSION_ID_NOT_FOUND = 70


# -- two homes --------------------------------------------------------------------------------


def test_groups_of_one_name_never_meet(
    home_a: str, home_b: str, kafka: KafkaCluster, unique: Names
) -> None:
    topic, group = unique("orders"), unique("app")
    homes = {"team-a": home_a, "team-b": home_b}
    for namespace, servers in homes.items():
        clients.create(servers, topic)
        clients.await_stored(kafka, f"{namespace}..{topic}")
        clients.produce(servers, topic, [namespace])
    # Both are members at the same time: in the same group, each would get half of the partitions.
    with (
        clients.consumer(home_a, group) as ours,
        clients.consumer(home_b, group) as theirs,
    ):
        for client, value in ((ours, "team-a"), (theirs, "team-b")):
            client.subscribe([topic])
            assert clients.values(clients.take(client, 1)) == [value]
            client.commit(asynchronous=False)
    broker = clients.admin(kafka.bootstrap_servers)
    known = {g.group_id for g in broker.list_consumer_groups().result(clients.SECONDS).valid or ()}
    assert {f"team-a..{group}", f"team-b..{group}"} <= known
    assert group not in known
    for servers in homes.values():
        found = clients.admin(servers).list_consumer_groups().result(clients.SECONDS)
        seen = [g.group_id for g in found.valid]
        assert seen.count(group) == 1
        assert not [name for name in seen if ".." in name or ":" in name]


def test_a_group_of_another_home_cannot_be_read(
    home_a: str, home_b: str, colon: str, unique: Names
) -> None:
    topic, group = unique("orders"), unique("app")
    clients.create(home_a, topic)
    clients.produce(home_a, topic, ["one"])
    clients.consume(home_a, topic, 1, group)
    for name in (group, f"team-a..{group}", f":team-a:{group}"):
        asked = [ConsumerGroupTopicPartitions(name)]
        found = clients.done(clients.admin(home_b).list_consumer_group_offsets(asked))[name]
        assert found.topic_partitions == []


def test_transactional_ids_of_one_name_never_fence_each_other(
    home_a: str, home_b: str, kafka: KafkaCluster, unique: Names
) -> None:
    topic, transactional_id = unique("orders"), unique("tx")
    producers = []
    for servers in (home_a, home_b):
        clients.create(servers, topic)
        producer = Producer(clients.settings(servers, transactional_id=transactional_id))
        producer.init_transactions(clients.SECONDS)
        producers.append(producer)
    for producer in producers:
        producer.begin_transaction()
        producer.produce(topic, "paid")
    for producer in producers:
        producer.commit_transaction(clients.SECONDS)
    for flat in (f"team-a..{topic}", f"team-b..{topic}"):
        assert clients.consume(kafka.bootstrap_servers, flat, 1, unique("direct")) == ["paid"]

    # The same id at the same home does fence, so the ids above were different names.
    newer = Producer(clients.settings(home_a, transactional_id=transactional_id))
    newer.init_transactions(clients.SECONDS)
    with pytest.raises(KafkaException) as fenced:
        producers[0].begin_transaction()
        producers[0].produce(topic, "late")
        producers[0].commit_transaction(clients.SECONDS)
    assert fenced.value.args[0].code() == KafkaError._FENCED


# -- topics of others -------------------------------------------------------------------------


def test_foreign_topics_by_name_are_unknown(
    home_b: str, kafka: KafkaCluster, home_a: str, unique: Names
) -> None:
    topic = unique("orders")
    clients.create(home_a, topic)
    clients.await_stored(kafka, f"team-a..{topic}")
    names = [f":team-a:{topic}", f"..team-a..{topic}", f"team-a:{topic}", f"team-a..{topic}", topic]
    with Wire(clients.any_broker(home_b)) as wire:
        asked = [{"name": name} for name in names]
        answer = wire.ask("Metadata", 9, topics=asked, allow_auto_topic_creation=False)
        assert {t.name: int(t.error_code) for t in answer.topics} == dict.fromkeys(
            names, UNKNOWN_TOPIC_OR_PARTITION
        )
        for name in names:
            (data,) = wire.ask("Fetch", 12, **by_hand.fetch({"topic": name})).responses
            assert int(data.partitions[0].error_code) == UNKNOWN_TOPIC_OR_PARTITION
            partition = [{"index": 0, "records": b""}]
            data = [{"name": name, "partition_data": partition}]
            (data,) = wire.ask(
                "Produce", 9, acks=ALL_ACKS, topic_data=data, transactional_id=None
            ).responses
            assert int(data.partition_responses[0].error_code) == UNKNOWN_TOPIC_OR_PARTITION
            (gone,) = wire.ask("DeleteTopics", 5, topic_names=(name,), timeout=TIMEOUT).responses
            assert int(gone.error_code) == UNKNOWN_TOPIC_OR_PARTITION
    assert f"team-a..{topic}" in kafka.topics()


def test_foreign_topics_by_id_are_unknown(
    home_b: str, home_a: str, kafka: KafkaCluster, unique: Names
) -> None:
    topic = unique("orders")
    clients.create(home_a, topic)
    clients.await_stored(kafka, f"team-a..{topic}")
    topic_id = by_hand.topic_id(home_a, topic)
    assert topic_id == by_hand.topic_id(kafka.bootstrap_servers, f"team-a..{topic}")
    by_hand.assert_unknown_id(home_b, topic_id)
    assert f"team-a..{topic}" in kafka.topics()


def test_a_fetch_session_belongs_to_its_connection(
    home_a: str, home_b: str, colon: str, kafka: KafkaCluster, unique: Names
) -> None:
    """A broker serves any client that names a session's id (KIP-227); the gateway does not."""
    topic = unique("orders")
    clients.create(home_a, topic)
    clients.await_stored(kafka, f"team-a..{topic}")
    with Wire(clients.any_broker(home_a)) as owner:
        opened = owner.ask("Fetch", 12, **by_hand.fetch({"topic": topic}, epoch=0))
        assert (int(opened.error_code), opened.session_id > 0) == (0, True)
        incremental = {**by_hand.fetch({"topic": topic}, opened.session_id, 1), "topics": []}
        for servers in (home_a, home_b, colon):
            with Wire(clients.any_broker(servers)) as other:
                answer = other.ask("Fetch", 12, **incremental)
                assert int(answer.error_code) == FETCH_SESSION_ID_NOT_FOUND
                assert answer.responses == ()
                full = other.ask(
                    "Fetch", 12, **by_hand.fetch({"topic": "x"}, opened.session_id, -1)
                )
                assert (int(full.error_code), full.session_id) == (0, 0)
        again = owner.ask("Fetch", 12, **incremental)
        assert int(again.error_code) == 0


# -- namespaces that do not exist -------------------------------------------------------------


def test_creating_in_a_missing_namespace_names_it(
    gateway: GatewayProcess, colon: str, home_a: str, kafka: KafkaCluster, unique: Names
) -> None:
    topic = unique("orders")
    cases = {
        (colon, f"org:nowhere:deep:{topic}"): "org:nowhere",
        (colon, f"nowhere:{topic}"): "nowhere",
        (home_a, f"sub:{topic}"): "team-a:sub",
    }
    for (servers, name), missing in cases.items():
        future = clients.admin(servers).create_topics([NewTopic(name, 1)])[name]
        assert clients.error_code(future) == INVALID_TOPIC_EXCEPTION
        assert f"namespace '{missing}' does not exist" in clients.error_text(future)
        said = f"'{name}': InvalidNamespaceException: namespace '{missing}' does not exist"
        gateway.wait_for_log(said)
    assert not {flat for flat in kafka.topics() if topic in flat}


@pytest.mark.parametrize("version", [0, 1, 2, 3, 4, 12])
def test_topics_are_auto_created_where_they_are_asked_for(
    colon: str, legal: str, home_a: str, kafka: KafkaCluster, unique: Names, version: int
) -> None:
    """Each in its namespace, but no topic if the namespace does not exist or the name reads so."""
    topic, default = unique("auto"), unique("auto-default")
    asked = {
        home_a: [f"home-{topic}", f"sub:{topic}"],
        legal: [f"team-b..{topic}", f"nowhere..{topic}"],
        colon: [f"nowhere:{topic}", f"team-a:{topic}", f"org:apache:kafka:{topic}", default],
    }
    for servers, names in asked.items():
        codes = by_hand.metadata_codes(servers, version, names, allowed=True)
        assert codes == dict.fromkeys(names, UNKNOWN_TOPIC_OR_PARTITION)
    made = {
        f"team-a..home-{topic}",
        f"team-a..{topic}",
        f"team-b..{topic}",
        f"org.apache.kafka..{topic}",
        default,
    }
    clients.await_stored(kafka, *made)
    _await_marker(colon, kafka, unique)
    assert {flat for flat in kafka.topics() if topic in flat or default in flat} == made


@pytest.mark.parametrize("version", [4, 12])
def test_a_request_that_forbids_auto_creation_creates_nothing(
    colon: str, kafka: KafkaCluster, unique: Names, version: int
) -> None:
    topic = unique("auto")
    names = [topic, f"nowhere:{topic}", f"team-a:{topic}"]
    codes = by_hand.metadata_codes(colon, version, names, allowed=False)
    assert codes == dict.fromkeys(names, UNKNOWN_TOPIC_OR_PARTITION)
    _await_marker(colon, kafka, unique)
    assert not {flat for flat in kafka.topics() if topic in flat}


def _await_marker(servers: str, kafka: KafkaCluster, unique: Names) -> None:
    """Create a topic and wait until the broker lists it, and so any topic requested before it."""
    marker = unique("marker")
    clients.create(servers, f"team-a:{marker}")
    clients.await_stored(kafka, f"team-a..{marker}")


@pytest.mark.parametrize("version", [0, 1, 3])
def test_old_metadata_shows_what_exists(
    colon: str, kafka: KafkaCluster, unique: Names, version: int
) -> None:
    """A topic that another client created at the broker itself is found, after a refresh."""
    topic = unique("direct")
    clients.create(kafka.bootstrap_servers, f"team-a..{topic}")
    clients.await_stored(kafka, f"team-a..{topic}")
    with Wire(colon) as wire:
        answer = wire.ask("Metadata", version, topics=[{"name": f"team-a:{topic}"}])
        (entry,) = answer.topics
        assert (entry.name, int(entry.error_code)) == (f"team-a:{topic}", 0)
        everything = wire.ask("Metadata", version, topics=() if version == 0 else None)
        names = {entry.name for entry in everything.topics}
        assert f"team-a:{topic}" in names
        assert not {name for name in names if name.startswith("__") or name == f"team-a..{topic}"}
        assert len(answer.brokers) == 1
        shown = {(broker.host, broker.port) for broker in answer.brokers}
        assert shown.isdisjoint(_addresses(kafka))


def _addresses(kafka: KafkaCluster) -> set[tuple[str, int]]:
    pairs = (address.rpartition(":") for address in kafka.addresses.values())
    return {(host, int(port)) for host, _, port in pairs}
