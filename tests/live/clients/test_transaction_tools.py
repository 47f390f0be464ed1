"""kafka-transactions through the gateway, beside the same tool and requests at the broker."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any, Final

import pytest
from confluent_kafka import Producer, TopicPartition

from devkit import java
from devkit.broker import KafkaCluster
from protocol import messages
from tests.live.support import clients, java_tools
from tests.live.support.wire import Wire

Names = Callable[[str], str]

PREFIX: Final = "team-a.."
LAST: Final = 2
"""The version of ListTransactions with an expression (KIP-1152)."""

ONGOING, COMPLETE = "Ongoing", "CompleteCommit"
INVALID_REGULAR_EXPRESSION = 128


@dataclass(frozen=True)
class Transactions:
    """Names at home of what the fixture began: transactions of team-a that are ``open`` and
    ``committed``, the ``topic`` of both; ``foreign`` is the flat id of an open transaction of
    team-b."""

    open: str
    committed: str
    topic: str
    foreign: str
    servers: str
    direct: str


@pytest.fixture(scope="module")
def begun(home_a: str, home_b: str, kafka: KafkaCluster) -> Iterator[Transactions]:
    """Transactions of two homes. The open one of team-a has sent offsets, too."""
    topic, group = "transacted", "transacting"
    for servers in (home_a, home_b):
        clients.create(servers, topic)
    with ExitStack() as stack:
        made = []
        for servers, name in ((home_a, "tx-open"), (home_a, "tx-done"), (home_b, "tx-foreign")):
            asked = clients.settings(servers, transactional_id=name, transaction_timeout_ms=600_000)
            producer = Producer(asked)
            producer.init_transactions(clients.SECONDS)
            producer.begin_transaction()
            producer.produce(topic, "value")
            producer.flush(clients.SECONDS)
            made.append(producer)
        made[1].commit_transaction(clients.SECONDS)
        with clients.consumer(home_a, group) as client:
            client.subscribe([topic])
            made[0].send_offsets_to_transaction(
                [TopicPartition(topic, 0, 1)], client.consumer_group_metadata(), clients.SECONDS
            )
        for producer in (made[0], made[2]):
            stack.callback(producer.abort_transaction, clients.SECONDS)
        direct = clients.any_broker(kafka.bootstrap_servers)
        foreign = "team-b..tx-foreign"
        yield Transactions("tx-open", "tx-done", topic, foreign, home_a, direct)


def rows(servers: str, *args: str) -> list[list[str]]:
    """The table that kafka-transactions prints, without its head."""
    return [line.split() for line in java_tools.run(java.TRANSACTIONS, servers, *args).lines[1:]]


def own(table: list[list[str]]) -> list[list[str]]:
    """The rows about ids of team-a, with the ids as its home shows them."""
    return sorted(
        [row[0].removeprefix(PREFIX), *row[1:]] for row in table if row[0].startswith(PREFIX)
    )


def test_list(begun: Transactions) -> None:
    found, direct = rows(begun.servers, "list"), rows(begun.direct, "list")
    assert begun.foreign in [row[0] for row in direct]
    assert sorted(found) == own(direct)
    states = {row[0]: row[3] for row in found}
    assert (states[begun.open], states[begun.committed]) == (ONGOING, COMPLETE)


def test_list_with_filters(begun: Transactions) -> None:
    # A broker takes a transaction that has not begun for an old one, so it lists others, too.
    long = [row[0] for row in rows(begun.servers, "list", "--duration-filter", "600000")]
    assert begun.open not in long
    assert begun.open in [row[0] for row in rows(begun.servers, "list", "--duration-filter", "0")]
    for pattern, found in (("tx-o.*", [begun.open]), ("tx-", []), ("team-a.*", [])):
        listed = rows(begun.servers, "list", "--transactional-id-pattern", pattern)
        assert [row[0] for row in listed] == found, pattern


def test_describe(begun: Transactions) -> None:
    (found,) = rows(begun.servers, "describe", "--transactional-id", begun.open)
    (direct,) = rows(begun.direct, "describe", "--transactional-id", PREFIX + begun.open)
    # Columns: coordinator, id, producer id, epoch, state, timeout, start, duration, partitions.
    assert found[1] == begun.open
    assert [found[0], *found[2:7]] == [direct[0], *direct[2:7]]
    assert found[-1] == f"{begun.topic}-0"
    assert f"{PREFIX}{begun.topic}-0" in direct[-1]


def test_find_hanging(begun: Transactions) -> None:
    """The tool takes an open transaction for hanging if no listing has its producer id."""
    asked = ["--partition", "0", "--max-transaction-timeout", "0"]
    assert rows(begun.servers, "find-hanging", "--topic", begun.topic, *asked) == []
    assert rows(begun.direct, "find-hanging", "--topic", PREFIX + begun.topic, *asked) == []


def test_abort(colon: str, home_a: str, unique: Names) -> None:
    """An administrator ends an open transaction on a partition; a home's clients may not."""
    topic = unique("hanging")
    clients.create(home_a, topic)
    producer = Producer(clients.settings(home_a, transactional_id=unique("tx")))
    producer.init_transactions(clients.SECONDS)
    producer.begin_transaction()
    producer.produce(topic, "value")
    producer.flush(clients.SECONDS)
    where = ["--partition", "0", "--start-offset", "0"]
    assert _open_since(home_a, topic) == [0]
    denied = java_tools.attempt(java.TRANSACTIONS, home_a, "abort", "--topic", topic, *where)
    assert denied.returncode != 0
    assert "cluster authorization" in denied.stdout + denied.stderr
    assert _open_since(home_a, topic) == [0]
    java_tools.run(java.TRANSACTIONS, colon, "abort", "--topic", f"team-a:{topic}", *where)
    assert _open_since(home_a, topic) == [-1]


def _open_since(servers: str, topic: str) -> list[int]:
    """The offsets at which transactions on partition 0 began; -1: there is none."""
    with Wire(clients.any_broker(servers)) as wire:
        asked = [{"name": topic, "partition_indexes": [0]}]
        (found,) = wire.ask("DescribeProducers", 0, topics=asked).topics
    (partition,) = found.partitions
    return [int(each.current_txn_start_offset) for each in partition.active_producers]


def listed(servers: str, version: int = LAST, **values: Any) -> Any:
    """The response to ListTransactions."""
    asked = {"duration_filter": -1, "transactional_id_pattern": None, **values}
    cls = messages.message_class("ListTransactionsRequest", version)
    known = {name: value for name, value in asked.items() if messages.has_field(cls, name)}
    with Wire(clients.any_broker(servers)) as wire:
        return wire.ask("ListTransactions", version, **known)


def as_at_home(response: Any) -> list[tuple[str, int, str]]:
    """The transactions of team-a in a broker's response, as its home shows them."""
    return sorted(
        (each.transactional_id.removeprefix(PREFIX), each.producer_id, each.transaction_state)
        for each in response.transaction_states
        if each.transactional_id.startswith(PREFIX)
    )


@pytest.mark.parametrize("version", range(LAST + 1))
def test_each_version_lists_the_same(begun: Transactions, version: int) -> None:
    for filters in ({}, {"state_filters": [ONGOING, "nonsense"]}, {"state_filters": ["nonsense"]}):
        found, direct = (listed(each, version, **filters) for each in (begun.servers, begun.direct))
        assert found.unknown_state_filters == direct.unknown_state_filters
        shown = [
            (each.transactional_id, each.producer_id, each.transaction_state)
            for each in found.transaction_states
        ]
        assert sorted(shown) == as_at_home(direct)
    ids = {
        each.transactional_id: each.producer_id for each in listed(begun.direct).transaction_states
    }
    mine, foreign = ids[PREFIX + begun.open], ids[begun.foreign]
    found = listed(begun.servers, version, producer_id_filters=[mine, foreign])
    assert [each.transactional_id for each in found.transaction_states] == [begun.open]
    missing = listed(begun.servers, version, producer_id_filters=[2**40])
    assert listed(begun.servers, version, producer_id_filters=[foreign]) == missing


PATTERNS: Final = ("tx-.*", "tx-open", "tx-", ".*open", "(?i)TX-OPEN", "tx-(open|done)", "", "x?")


@pytest.mark.parametrize("pattern", PATTERNS)
def test_an_expression_means_what_it_means_at_a_broker(begun: Transactions, pattern: str) -> None:
    """The broker is asked the same of its flat ids."""
    flat = f"team-a\\.\\.({pattern})" if pattern else ""
    found = listed(begun.servers, transactional_id_pattern=pattern)
    direct = listed(begun.direct, transactional_id_pattern=flat)
    assert (found.error_code, direct.error_code) == (0, 0)
    assert sorted(each.transactional_id for each in found.transaction_states) == [
        each[0] for each in as_at_home(direct)
    ]


@pytest.mark.parametrize("pattern", ["(", "[a", r"(?<=a)b", "a{2,1}", "*"])
def test_an_expression_that_is_not_valid(begun: Transactions, pattern: str) -> None:
    asked: dict[str, Any] = {"transactional_id_pattern": pattern, "state_filters": ["nonsense"]}
    found, direct = listed(begun.servers, **asked), listed(begun.direct, **asked)
    assert found == direct
    assert found.error_code == INVALID_REGULAR_EXPRESSION


def test_descriptions_without_a_transaction(begun: Transactions) -> None:
    for ids in ([], ["missing"], ["missing", "missing"]):
        found, direct = (_described(each, ids) for each in (begun.servers, begun.direct))
        assert found == direct


def _described(servers: str, ids: list[str]) -> Any:
    with Wire(clients.any_broker(servers)) as wire:
        return wire.ask("DescribeTransactions", 0, transactional_ids=ids)
