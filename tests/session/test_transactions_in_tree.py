"""Transactions and producers of one volume at nodes of a tree of two volumes."""

from __future__ import annotations

from typing import Any

import pytest

from gateway.error_codes import (
    GROUP_AUTHORIZATION_FAILED,
    NOT_LEADER_OR_FOLLOWER,
    OPERATION_NOT_ATTEMPTED,
    POLICY_VIOLATION,
    TOPIC_AUTHORIZATION_FAILED,
)
from tests.session.far import CLICKS, FOREIGN, LA, NY, FarPair, codes, message
from tests.session.producing import batch, produce


def test_offsets_in_a_transaction() -> None:
    pair = FarPair()
    topics = [{"name": FOREIGN, "partitions": [{"partition_index": 0}]}]
    values = {"group_id": "app", "transactional_id": "tx", "topics": topics}
    sent = pair.ask("TxnOffsetCommit", 3, message("TxnOffsetCommitRequest", 3, **values))
    assert [topic.name for topic in sent.topics] == [CLICKS]
    assert pair.made == {CLICKS: 3}


@pytest.mark.parametrize("api", ["TxnOffsetCommit", "AddOffsetsToTxn"])
@pytest.mark.parametrize(("group", "transactional"), [("app", ":ny:tx"), ("/ny/app", "tx")])
def test_a_group_of_another_volume_than_the_transactions(
    api: str, group: str, transactional: str
) -> None:
    pair = FarPair()
    values: dict[str, object] = {"group_id": group, "transactional_id": transactional}
    if api == "TxnOffsetCommit":
        values["topics"] = [{"name": "search:orders", "partitions": [{}]}]
    assert pair.ask(api, 3, message(f"{api}Request", 3, **values)) is None
    got = pair.answer(api, 3)
    found = codes(got) if api == "TxnOffsetCommit" else [got.error_code]
    assert found == [GROUP_AUTHORIZATION_FAILED]


def test_partitions_of_another_volume_are_not_added() -> None:
    pair = FarPair()
    topics = [{"name": name, "partitions": [0]} for name in ("search:orders", FOREIGN)]
    values = {"v3_and_below_transactional_id": "tx", "v3_and_below_topics": topics}
    assert (
        pair.ask("AddPartitionsToTxn", 3, message("AddPartitionsToTxnRequest", 3, **values)) is None
    )
    got = pair.answer("AddPartitionsToTxn", 3)
    assert [
        part.partition_error_code
        for topic in got.results_by_topic_v3_and_below
        for part in topic.results_by_partition
    ] == [OPERATION_NOT_ATTEMPTED, TOPIC_AUTHORIZATION_FAILED]


def produced(pair: FarPair, version: int = 9) -> Any:
    (topic,) = pair.answer("Produce", version).responses
    return topic.partition_responses[0]


def test_a_transaction_does_not_write_in_another_volume() -> None:
    # The node is of ny, the transactional id of la:tracking (KIP-890: no AddPartitionsToTxn).
    pair = FarPair(NY)
    written = batch(1, producer_id=7, transactional=True)
    assert (
        pair.ask("Produce", 9, produce({":ny:search:orders": [written]}, transactional_id="tx"))
        is None
    )
    found = produced(pair)
    assert found.error_code == POLICY_VIOLATION
    assert "'tx'" in found.error_message
    # The node is of la:tracking, the topic is not.
    pair = FarPair()
    assert pair.ask("Produce", 9, produce({FOREIGN: [written]}, transactional_id="tx")) is None
    assert produced(pair).error_code == POLICY_VIOLATION
    assert pair.ask("Produce", 9, produce({FOREIGN: [batch(1)]})) is None
    assert produced(pair).error_code == NOT_LEADER_OR_FOLLOWER


@pytest.mark.parametrize(
    ("home", "producer_id", "transactional", "code"),
    [
        (LA, 7, False, None),
        (NY, -1, False, None),
        (NY, 7, True, None),
        (NY, 1 << 48 | 7, False, None),
        (NY, 7, False, POLICY_VIOLATION),
    ],
)
def test_an_unmarked_producer_writes_in_the_listeners_volume_only(
    home: str, producer_id: int, transactional: bool, code: int | None
) -> None:
    pair = FarPair(home)
    name = "search:orders" if home == LA else ":ny:search:orders"
    transactional_id = ":ny:tx" if transactional else None
    records = batch(1, producer_id=producer_id, transactional=transactional)
    sent = pair.ask("Produce", 9, produce({name: [records]}, transactional_id=transactional_id))
    assert (sent is None) == (code is not None)
    if code is not None:
        found = produced(pair)
        assert found.error_code == code
        assert "Create the producer anew" in found.error_message
