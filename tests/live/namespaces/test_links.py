"""Links: a team's topic under a second name in another namespace, by stock clients and tools.

The gateway is this file's own, because links raise the catalog's format for good.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from aiokafka import AIOKafkaConsumer
from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition
from confluent_kafka.admin import NewPartitions
from kafka import KafkaConsumer as PythonConsumer

from devkit import java
from devkit.broker import KafkaCluster
from devkit.gateway_process import GatewayProcess
from devkit.java import TOOL_SCRIPTS
from devkit.waiting import wait_until
from tests.docs import guide
from tests.live.conftest import LISTENERS
from tests.live.support import clients, fixtures, java_tools, namespaces
from tests.live.support.by_hand import fetch, topic_id
from tests.live.support.wire import Wire

Names = Callable[[str], str]

gateway = fixtures.own_gateway(*LISTENERS, namespaces=["team-a", "team-b"])

INVALID_REQUEST = 42
TOPIC_ALREADY_EXISTS = 36
UNKNOWN_TOPIC_OR_PARTITION = 3
UNKNOWN_TOPIC_ID = 100


@pytest.fixture(autouse=True)
def _format(gateway: GatewayProcess) -> None:
    """Upgrade the catalog's format, as an operator must before there can be links."""
    config = str(gateway.config_path)
    namespaces.command("catalog", "upgrade", "--format", "3", "--config", config)


@pytest.fixture
def orders(colon: str, kafka: KafkaCluster, unique: Names) -> str:
    """The name of a topic in team-a; its link in team-b has the same name."""
    name = unique("orders")
    namespaces.create_topic(colon, kafka, f"team-a:{name}")
    clients.await_led(colon, f"team-a:{name}")
    return name


def _link(servers: str, topic: str, link: str) -> None:
    namespaces.alter(servers, topic, {"gateway.link": link})


def _command(servers: str, *args: str) -> list[str]:
    return namespaces.command("topics", "--bootstrap-server", servers, *args).lines


def test_stock_tools_make_use_and_delete_a_link(
    colon: str, legal: str, home_b: str, kafka: KafkaCluster, orders: str
) -> None:
    """kafka-configs creates it, the console clients use both names, kafka-topics deletes it."""
    flat = f"team-a..{orders}"
    java_tools.configs(
        legal,
        *("--alter", "--entity-type", "topics", "--entity-name", flat),
        *("--add-config", f"gateway.link=team-b:{orders}"),
    )
    assert {f"team-a:{orders}", f"team-b:{orders}"} <= java_tools.list_topics(colon)
    assert orders in java_tools.list_topics(home_b)
    assert kafka.topics() & {flat, f"team-b..{orders}"} == {flat}

    java_tools.console_produce(colon, f"team-b:{orders}", ["by the link"])
    java_tools.console_produce(colon, f"team-a:{orders}", ["by the topic"])
    wanted = ["by the link", "by the topic"]
    assert java_tools.console_consume(colon, f"team-a:{orders}", 2) == wanted
    assert java_tools.console_consume(home_b, orders, 2, "--group", f"{orders}-java") == wanted
    described = java_tools.consumer_groups(home_b, "--describe", "--group", f"{orders}-java")
    assert orders in described.stdout
    assert "team-a" not in described.stdout

    shown = java_tools.configs(
        legal,
        *("--describe", "--entity-type", "topics", "--entity-name", f"team-b..{orders}", "--all"),
    ).stdout
    assert f"gateway.link.to=team-a..{orders}" in shown
    shown = java_tools.topics(colon, "--describe", "--topic", f"team-b:{orders}").stdout
    assert f"Topic: team-b:{orders}\tTopicId: " in shown
    other = java_tools.topics(colon, "--describe", "--topic", f"team-a:{orders}").stdout
    assert shown.partition("TopicId: ")[2][:22] != other.partition("TopicId: ")[2][:22]

    java_tools.topics(colon, "--delete", "--topic", f"team-b:{orders}")
    listed = java_tools.list_topics(colon)
    assert f"team-b:{orders}" not in listed
    assert f"team-a:{orders}" in listed
    assert java_tools.console_consume(colon, f"team-a:{orders}", 2) == wanted


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_a_subscription_to_both_is_refused_to_javas_user(
    colon: str, orders: str, protocol: str
) -> None:
    _link(colon, f"team-a:{orders}", f"team-b:{orders}")
    both = f"team-[ab]:{orders}"
    tried = java_tools.attempt(
        java.CONSOLE_CONSUMER,
        colon,
        *("--include", both, "--group", f"{orders}-{protocol}", "--timeout-ms", "120000"),
        *("--consumer-property", f"group.protocol={protocol}"),
    )
    said = tried.stdout + tried.stderr
    if protocol == "consumer":
        assert "InvalidRequestException" in said
        assert f"'team-a:{orders}' and 'team-b:{orders}' are one topic, by a link" in said
    else:
        assert "Unexpected error in join group response" in said


def test_librdkafkas_consumers_are_told_as_well(colon: str, orders: str) -> None:
    _link(colon, f"team-a:{orders}", f"team-b:{orders}")
    names = [f"team-a:{orders}", f"team-b:{orders}"]
    for more in ({}, {"group_protocol": "consumer"}):
        with clients.consumer(colon, f"{orders}-{len(more)}", **more) as reader:
            reader.subscribe(names)
            error = wait_until(partial(_error, reader), "an error", clients.SECONDS, poll=0)
            # A heartbeat's error is fatal, and a fatal error has a code of librdkafka's own.
            assert "Broker: Invalid request" in str(error), error


def _error(reader: Consumer) -> KafkaError | None:
    found = reader.poll(0.1)
    return None if found is None else found.error()


def test_offsets_are_kept_by_either_name(colon: str, home_b: str, orders: str) -> None:
    """To a group, both names are the same partition of the same topic."""
    _link(colon, f"team-a:{orders}", f"team-b:{orders}")
    clients.produce(home_b, orders, ["1", "2", "3"], enable_idempotence=True)
    group = f"{orders}-offsets"
    assert clients.consume(colon, f"team-b:{orders}", 3, group) == ["1", "2", "3"]
    with clients.consumer(colon, group) as reader:
        reader.subscribe([f"team-a:{orders}"])
        clients.produce(colon, f"team-a:{orders}", ["4"])
        (record,) = clients.take(reader, 1)
        assert record.topic() == f"team-a:{orders}"
        assert record.value() == b"4"


async def test_aiokafka_and_kafka_python_read_by_the_link(colon: str, orders: str) -> None:
    _link(colon, f"team-a:{orders}", f"team-b:{orders}")
    clients.produce(colon, f"team-a:{orders}", ["first", "second"])
    reader = AIOKafkaConsumer(
        f"team-b:{orders}",
        bootstrap_servers=colon,
        group_id=f"{orders}-aiokafka",
        auto_offset_reset="earliest",
    )
    async with reader:
        records = [await reader.getone(), await reader.getone()]
    assert [(one.topic, one.value) for one in records] == [
        (f"team-b:{orders}", b"first"),
        (f"team-b:{orders}", b"second"),
    ]


def test_kafka_python_reads_by_the_link(colon: str, legal: str, orders: str) -> None:
    _link(colon, f"team-a:{orders}", f"team-b:{orders}")
    clients.produce(colon, f"team-a:{orders}", ["first", "second"])
    reader: Any = PythonConsumer(
        f"team-b..{orders}",
        bootstrap_servers=legal,
        group_id=f"{orders}-python",
        auto_offset_reset="earliest",
        consumer_timeout_ms=60_000,
    )
    records = [next(reader), next(reader)]
    reader.close()
    assert [one.topic for one in records] == [f"team-b..{orders}"] * 2
    assert [one.value for one in records] == [b"first", b"second"]


def test_by_topic_id(colon: str, orders: str) -> None:
    """Fetch v13 names topics only by id: each name has its own id, and a link's id ends with it."""
    _link(colon, f"team-a:{orders}", f"team-b:{orders}")
    clients.produce(colon, f"team-a:{orders}", ["record"])
    topic, link = (topic_id(colon, f"team-{each}:{orders}") for each in "ab")
    assert topic != link
    for known in (topic, link):
        with Wire(clients.leader_address(colon, f"team-a:{orders}")) as wire:
            (answer,) = wire.ask("Fetch", 13, **fetch({"topic_id": known})).responses
            assert answer.topic_id == known
            (partition,) = answer.partitions
            assert int(partition.error_code) == 0
            assert b"record" in bytes(partition.records or b"")
    namespaces.delete(colon, f"team-b:{orders}")
    with Wire(clients.leader_address(colon, f"team-a:{orders}")) as wire:
        (answer,) = wire.ask("Fetch", 13, **fetch({"topic_id": link})).responses
        assert int(answer.partitions[0].error_code) == UNKNOWN_TOPIC_ID


def test_a_deleted_topic_leaves_its_link_dangling(
    colon: str, kafka: KafkaCluster, orders: str
) -> None:
    """By ``kafka-gateway topics``: a topic that is created again is not the shared topic."""
    linked = _command(colon, "--link", "--topic", f"team-a:{orders}", "--to-namespace", "team-b")
    assert linked == [f"Linked topic team-a:{orders} as team-b:{orders}."]
    rows = _command(colon, "--links", "--namespace", "team-b")
    assert any(row.split() == [f"team-b:{orders}", f"team-a:{orders}"] for row in rows)
    namespaces.delete(colon, f"team-a:{orders}")
    clients.await_gone(kafka, f"team-a..{orders}")
    namespaces.create_topic(colon, kafka, f"team-a:{orders}")
    assert f"team-b:{orders}" not in clients.listed(colon)
    rows = _command(colon, "--links", "--namespace", "team-b")
    assert any(
        row.startswith(f"team-b:{orders}") and row.endswith("dangling: its topic was deleted")
        for row in rows
    )
    code, text = namespaces.rejection(namespaces.creation(colon, f"team-b:{orders}"))
    assert (code, "delete the link first" in text) == (TOPIC_ALREADY_EXISTS, True)
    unlinked = _command(colon, "--unlink", "--topic", f"team-b:{orders}")
    assert unlinked == [f"Removed link team-b:{orders}; its topic stays."]
    assert not any(f"team-b:{orders}" in row for row in _command(colon, "--links"))


def test_a_link_follows_a_move(colon: str, orders: str) -> None:
    _link(colon, f"team-a:{orders}", f":{orders}-shared")
    clients.produce(colon, f"team-a:{orders}", ["before"])
    namespaces.alter(colon, f"team-a:{orders}", {"gateway.namespace": "team-b"})
    clients.produce(colon, f"{orders}-shared", ["after"])
    read = clients.consume(colon, f"team-b:{orders}", 2, f"{orders}-moved")
    assert read == ["before", "after"]
    assert namespaces.describe(colon, f"team-b:{orders}")["gateway.link"][0] == f"{orders}-shared"


def test_nothing_changes_a_topic_under_its_link(colon: str, orders: str) -> None:
    _link(colon, f"team-a:{orders}", f"team-b:{orders}")
    link = f"team-b:{orders}"
    code, text = namespaces.rejection(namespaces.alteration(colon, link, {"retention.ms": "1000"}))
    assert (code, "is a link to a topic" in text) == (INVALID_REQUEST, True)
    grown = clients.admin(colon).create_partitions([NewPartitions(link, 5)])[link]
    assert clients.error_code(grown) == INVALID_REQUEST
    (emptied,) = clients.admin(colon).delete_records([TopicPartition(link, 0, 1)]).values()
    with pytest.raises(KafkaException) as raised:
        emptied.result(clients.SECONDS)
    assert raised.value.args[0].code() == INVALID_REQUEST


def test_a_namespace_takes_its_links_with_it_and_no_topic(
    colon: str, kafka: KafkaCluster, orders: str, unique: Names
) -> None:
    space = unique("space")
    namespaces.create(colon, f"{space}:")
    _link(colon, f"team-a:{orders}", f"{space}:{orders}")
    namespaces.delete(colon, f"{space}:")
    namespaces.await_free(colon, f"{space}:")
    assert f"{space}:{orders}" not in clients.listed(colon)
    assert f"team-a..{orders}" in kafka.topics()
    assert "gateway.link" not in namespaces.describe(colon, f"team-a:{orders}")


def test_the_page(
    admin: str, admin_legal: str, gateway: GatewayProcess, kafka: KafkaCluster
) -> None:
    """Every command of docs/links.md, top to bottom, prints the output that the page shows."""
    addresses = {guide.ADMIN: admin, guide.ADMIN_LEGAL: admin_legal}
    addresses["gateway.yaml"] = str(gateway.config_path)
    for link in _command(admin, "--links"):
        if ":" in link:
            _command(admin, "--unlink", "--topic", link.split()[0], "--if-exists")
    for step in guide.steps("docs/links.md"):
        words = [addresses.get(word, word) for word in step.words[1:]]
        if "--link" in words:
            clients.await_stored(kafka, "sales..orders")  # created by the command before
        if step.words[0] == "kafka-gateway":
            said = namespaces.attempt(*words)
            status, out = said.status, said.out + said.err
        else:
            main_class = TOOL_SCRIPTS[step.words[0]]
            tried = java_tools.attempt(main_class, words[1], *words[2:])
            status, out = tried.returncode, tried.stdout + tried.stderr
        assert status == step.status, f"{step}\n{out}"
        lines = [" ".join(line.split()) for line in out.splitlines()]
        for shown in step.shown:
            assert " ".join(shown.split()) in lines, f"{step}\n{out}"
    for namespace in ("sales", "billing"):
        _command(admin, "--delete", "--namespace", namespace)
