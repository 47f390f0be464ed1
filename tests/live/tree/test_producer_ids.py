"""Two clusters give two producers equal ids, and both write to the same partition of the tree."""

from __future__ import annotations

import io
import itertools
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from kio.records.schema import NewRecordBatch, Record
from kio.records.writers import write_batch
from kio.static.primitive import TZAwareMicros, i8, i16, i32, i64

from devkit.broker import KafkaCluster
from devkit.gateway_process import GatewayProcess
from devkit.waiting import wait_until
from tests.live.support import clients
from tests.live.support.wire import Wire
from tests.live.tree.conftest import LISTENERS, mounted

pytestmark = pytest.mark.long("kills")

MARK_BITS = 48
"""Bits of a producer id that are the broker's own (DESIGN.md: the number stands above them)."""

TRANSACTIONAL = 1 << 4
"""The attribute of a batch in a transaction (KIP-98)."""

NOT_YET = {14, 15, 16, 51}
"""Error codes of a coordinator that loads, is being created or is elsewhere, or of a transaction
that ends."""

UNMARKED = """
from gateway.apis.records import init_producer_id

init_producer_id.marked = lambda version, body, number: body
"""
"""A ``sitecustomize`` with which a gateway forwards the brokers' producer ids as they are."""

RECORDS = 5
LA_TOPIC = "shared"


def batch(producer_id: int, value: str, sequence: int, attributes: int = 0) -> bytes:
    """A batch of one record, with an epoch of 0 and a sequence number."""
    record = Record(
        attributes=i8(0),
        timestamp=TZAwareMicros.parse(datetime.fromtimestamp(int(time.time()), UTC)),
        offset=i64(0),
        key=None,
        value=value.encode(),
        headers=(),
    )
    out = io.BytesIO()
    made = NewRecordBatch(
        producer_id=i64(producer_id),
        producer_epoch=i16(0),
        base_sequence=i32(sequence),
        attributes=i16(attributes),
        records=(record,),
    )
    write_batch(out, made)
    return out.getvalue()


def own_part(producer_id: int) -> int:
    """The id that the broker itself assigned."""
    return producer_id & ((1 << MARK_BITS) - 1)


def producer_id(wire: Wire, transactional_id: str | None = None) -> int:
    """A new producer's id, of epoch 0."""

    def given() -> int | None:
        answer = wire.ask(
            "InitProducerId",
            4,
            transactional_id=transactional_id,
            transaction_timeout=timedelta(seconds=60),
            producer_id=-1,
            producer_epoch=-1,
        )
        if int(answer.error_code) in NOT_YET:
            return None
        assert (int(answer.error_code), answer.producer_epoch) == (0, 0)
        return int(answer.producer_id)

    found = wait_until(given, "a producer id", clients.SECONDS)
    assert found is not None
    return found


def equal_ids(la: Wire, ny: Wire) -> tuple[str, int, int]:
    """A transactional id with its producer id of Los Angeles, and an idempotent producer's id of
    New York.

    The brokers assigned equal ids to both.
    """
    names = (f"transactional-{number}" for number in itertools.count())
    name, transacted, behind = "", -1, producer_id(ny)
    # Each broker may skip ids, because the gateway's own producers are assigned ids, too.
    while own_part(behind) != transacted:
        if own_part(behind) < transacted:
            behind = producer_id(ny)
        else:
            name = next(names)
            transacted = producer_id(la, name)
    return name, transacted, behind


def produce(wire: Wire, records: bytes, transactional_id: str | None = None) -> int:
    """Write a batch to the shared topic; its error code."""
    data = [{"name": LA_TOPIC, "partition_data": [{"index": 0, "records": records}]}]
    answer = wire.ask(
        "Produce",
        9,
        transactional_id=transactional_id,
        acks=-1,
        timeout=timedelta(seconds=30),
        topic_data=data,
    )
    return int(answer.responses[0].partition_responses[0].error_code)


def add_partition(wire: Wire, name: str, transacted: int) -> None:
    """Let a transaction write to the shared topic."""

    def added() -> bool:
        answer = wire.ask(
            "AddPartitionsToTxn",
            3,
            v3_and_below_transactional_id=name,
            v3_and_below_producer_id=transacted,
            v3_and_below_producer_epoch=0,
            v3_and_below_topics=[{"name": LA_TOPIC, "partitions": [0]}],
        )
        code = int(
            answer.results_by_topic_v3_and_below[0].results_by_partition[0].partition_error_code
        )
        assert code in NOT_YET | {0}
        return code == 0

    wait_until(added, "the partition in the transaction", clients.SECONDS)


def both_write(tree: GatewayProcess) -> tuple[list[str], list[str]]:
    """The records acknowledged to two producers with equal ids at their brokers, and the records
    read."""
    servers = tree.bootstrap_servers("la")
    clients.create(servers, LA_TOPIC, ":ny:tracking:elsewhere")
    clients.await_led(servers, LA_TOPIC, ":ny:tracking:elsewhere")
    node_of_la = clients.leader_address(servers, LA_TOPIC)
    node_of_ny = clients.leader_address(servers, ":ny:tracking:elsewhere")
    acknowledged: list[str] = []
    with Wire(node_of_la) as la, Wire(node_of_ny) as ny:
        name, transacted, idempotent = equal_ids(la, ny)
        for sequence in range(RECORDS):
            value = f"idempotent-{sequence}"
            if produce(la, batch(idempotent, value, sequence)) == 0:
                acknowledged.append(value)
        add_partition(la, name, transacted)
        for sequence in range(RECORDS):
            value = f"transacted-{sequence}"
            records = batch(transacted, value, sequence, TRANSACTIONAL)
            if produce(la, records, name) == 0:
                acknowledged.append(value)
        ended = la.ask("EndTxn", 3, transactional_id=name, producer_id=transacted, committed=True)
        assert int(ended.error_code) == 0
    clients.produce(servers, LA_TOPIC, ["last"])
    read: list[str] = []
    with clients.consumer(servers, "everything") as client:
        client.subscribe([LA_TOPIC])
        while "last" not in read:
            read += clients.values(clients.take(client, 1))
    return acknowledged, read[:-1]


@contextmanager
def fresh_tree(python_path: Path | None = None) -> Iterator[GatewayProcess]:
    """Two clusters without any records, behind a single gateway."""
    with (
        KafkaCluster() as la,
        KafkaCluster() as ny,
        GatewayProcess(mounted(la, ny), LISTENERS, [], python_path=python_path) as gateway,
    ):
        yield gateway


def test_producers_with_equal_ids_lose_and_double_nothing() -> None:
    with fresh_tree() as tree:
        acknowledged, read = both_write(tree)
    wanted = [f"{who}-{n}" for who in ("idempotent", "transacted") for n in range(RECORDS)]
    assert acknowledged == wanted
    assert read == wanted


def test_without_the_number_in_ids_records_are_lost(tmp_path: Path) -> None:
    """Without the rewriting of ids, the records are lost, so the test above would notice."""
    (tmp_path / "sitecustomize.py").write_text(UNMARKED)
    with fresh_tree(tmp_path) as tree:
        acknowledged, read = both_write(tree)
    assert set(acknowledged) - set(read), "nothing was lost: the ids cannot have been equal"
