"""Both spellings of a name: requests may use either, listings use the listener's."""

from __future__ import annotations

from collections.abc import Callable

from devkit.broker import KafkaCluster
from tests.live.support import clients
from tests.live.support.wire import Wire

Names = Callable[[str], str]

INVALID_REQUEST = 42
ALL_ACKS = -1


def test_requests_use_either_and_answers_the_same(
    colon: str, legal: str, kafka: KafkaCluster, unique: Names
) -> None:
    topic = unique("orders")
    by_colon, by_dots = f"org:apache:kafka:{topic}", f"org.apache.kafka..{topic}"
    clients.create(legal, by_colon)
    clients.await_stored(kafka, by_dots)
    # produce() and consume() assert that the response has the name that the client used.
    for servers in (colon, legal):
        clients.produce(servers, by_colon, ["colon"])
        clients.produce(servers, by_dots, ["dots"])
    for servers in (colon, legal):
        for name in (by_colon, by_dots):
            read = clients.consume(servers, name, 4, unique("readers"))
            assert read == ["colon", "dots"] * 2


def test_assignments_by_topic_id_come_in_the_listener_s(
    colon: str, legal: str, unique: Names
) -> None:
    """KIP-848 assigns topic ids, so the client requests names that it has not spelled itself."""
    topic = unique("orders")
    by_colon, by_dots = f"team-a:{topic}", f"team-a..{topic}"
    clients.create(colon, by_colon)
    clients.produce(colon, by_colon, ["one"])
    for servers, asked, shown in ((colon, by_dots, by_colon), (legal, by_colon, by_dots)):
        with clients.consumer(servers, unique("readers"), group_protocol="consumer") as client:
            client.subscribe([asked])
            (record,) = clients.take(client, 1)
            assert record.topic() == shown


def test_listings_use_the_listener_s(
    colon: str, legal: str, home_a: str, home_b: str, kafka: KafkaCluster, unique: Names
) -> None:
    topic = unique("orders")
    clients.create(colon, f"team-a:{topic}", topic)
    clients.await_stored(kafka, f"team-a..{topic}", topic)
    assert {f"team-a:{topic}", topic} <= clients.listed(colon)
    assert {f"team-a..{topic}", topic} <= clients.listed(legal)
    assert f"team-a..{topic}" not in clients.listed(colon)
    assert {name for name in clients.listed(home_a) if topic in name} == {topic}
    assert topic not in clients.listed(home_b)


def test_a_topic_asked_for_under_both_is_answered_under_each(
    colon: str, kafka: KafkaCluster, unique: Names
) -> None:
    topic = unique("orders")
    names = [f"team-a:{topic}", f"team-a..{topic}"]
    clients.create(colon, names[0])
    clients.await_stored(kafka, names[1])
    with Wire(colon) as wire:
        answer = wire.ask("Metadata", 9, topics=[{"name": name} for name in names])
    assert [(entry.name, int(entry.error_code)) for entry in answer.topics] == [
        (names[0], 0),
        (names[1], 0),
    ]


def test_a_second_spelling_in_produce_is_an_invalid_request(
    colon: str, kafka: KafkaCluster, unique: Names
) -> None:
    topic = unique("orders")
    names = [f"team-a:{topic}", f"team-a..{topic}"]
    clients.create(colon, names[0])
    clients.await_stored(kafka, names[1])
    partition = {"index": 0, "records": b""}
    data = [{"name": name, "partition_data": [partition]} for name in names]
    with Wire(clients.leader_address(colon, names[0])) as wire:
        answer = wire.ask("Produce", 9, acks=ALL_ACKS, topic_data=data, transactional_id=None)
    codes = {entry.name: entry.partition_responses[0].error_code for entry in answer.responses}
    assert set(codes) == set(names)
    assert int(codes[names[1]]) == INVALID_REQUEST
    assert int(codes[names[0]]) != INVALID_REQUEST


def test_dots_mean_nothing_under_a_home(home_a: str, kafka: KafkaCluster, unique: Names) -> None:
    """Under a home a name is relative, and ``..`` inside it is part of the topic's name."""
    topic = f"team-b..{unique('orders')}"
    clients.create(home_a, topic)
    clients.await_stored(kafka, f"team-a..{topic}")
    clients.produce(home_a, topic, ["mine"])
    assert clients.consume(home_a, topic, 1, unique("readers")) == ["mine"]
    assert topic in clients.listed(home_a)
