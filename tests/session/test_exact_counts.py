"""Counts are exact: each byte and record that passed counts once, whenever flows are collected."""

from __future__ import annotations

from collections import Counter
from typing import Any
from uuid import UUID

import pytest

from gateway.apis.table import APIS
from gateway.flows import Flow
from protocol.errors import ProtocolError
from tests.session import fetching, samples
from tests.session.fetching import batch
from tests.session.pair import Pair, request_frame, response_frame, topic_id
from tests.session.producing import batch as produced_batch
from tests.session.producing import produce, produced

OWN = "team-a..orders"
COUNTS = ("requests", "led", "partitions", "bytes_in", "bytes_out", "records", "batches")
FETCHED = ("records_out", "batches_out", "partitions", "bytes_out")


class Totals(Counter[str]):
    """The counts of all flows that were collected."""

    def take(self, pair: Pair) -> None:
        """Collect flows, as the worker does once a second."""
        for flow in pair.session.take_flows():
            self.add(flow)

    def add(self, flow: Flow) -> None:
        """Add the counts of a flow."""
        for name in (*COUNTS, "records_out", "batches_out"):
            self[name] += getattr(flow, name)
        self["latencies"] += sum(flow.gateway_us) + sum(flow.broker_us)
        self["errors"] += sum(flow.errors.values())


def test_what_is_answered_after_a_collection_is_counted_with_the_next() -> None:
    pair, totals = Pair(), Totals()
    frame = request_frame("Produce", 9, produce({"team-a:orders": [produced_batch(3)]}))
    pair.send(frame)
    totals.take(pair)
    assert totals["requests"] == 0
    pair.session.broker_data(response_frame("Produce", 9, produced({OWN: [0]})))
    totals.take(pair)
    counted = {name: totals[name] for name in COUNTS}
    assert counted == {
        "requests": 1,
        "led": 1,
        "partitions": 1,
        "bytes_in": len(frame),
        "bytes_out": len(pair.to_client()),
        "records": 3,
        "batches": 1,
    }
    assert totals["latencies"] == 2
    assert pair.session.state.flows is None


def test_a_client_id_that_changes_while_a_request_is_in_flight() -> None:
    pair, found = Pair(), Counter[str]()
    for number, client_id in enumerate((b"first", b"second"), start=1):
        entity = produce({"team-a:orders": [produced_batch(number)]})
        pair.send(request_frame("Produce", 9, entity, number, client_id))
    for number in (1, 2):
        for flow in pair.session.take_flows():
            found[flow.source.client_id] += flow.records
        answer = response_frame("Produce", 9, produced({OWN: [0]}), number)
        pair.session.broker_data(answer)
        assert pair.session.state.flows is not None  # so that the connection is looked at again
    for flow in pair.session.take_flows():
        found[flow.source.client_id] += flow.records
    assert found == {"first": 1, "second": 2}
    assert pair.session.state.flows is None
    assert pair.session.state.earlier is None


def test_a_collection_in_the_middle_of_every_fetch() -> None:
    pair, totals = Pair(topics=[OWN, "team-b..x"]), Totals()
    asked = fetching.request(13, {1: [0, 1], 2: [0]})
    answered = {1: [batch(3) + batch(4), batch(5)], 2: [batch(6)]}
    frame = response_frame("Fetch", 13, fetching.response(13, answered))
    for at in range(1, len(frame), 7):
        pair.send(request_frame("Fetch", 13, asked))
        totals.take(pair)
        pair.session.broker_data(frame[:at])
        totals.take(pair)
        pair.session.broker_data(frame[at:])
    totals.take(pair)
    times = len(range(1, len(frame), 7))
    assert totals["records_out"] == 18 * times
    assert totals["batches_out"] == 4 * times
    assert totals["requests"] == 2 * times
    assert totals["bytes_out"] == len(pair.to_client()) == len(frame) * times


def test_what_did_not_pass_as_a_whole_is_not_counted() -> None:
    pair, totals = Pair(topics=[OWN, "team-b..x"]), Totals()
    pair.send(request_frame("Fetch", 13, fetching.request(13, {1: [0], 2: [0]})))
    entity = fetching.response(13, {1: [batch(3)], 2: [batch(6)]})
    pair.session.broker_data(response_frame("Fetch", 13, entity)[:-1])
    totals.take(pair)
    assert not +totals


@pytest.mark.parametrize("here", [False, True])
def test_all_bytes_of_every_api_are_counted(here: bool) -> None:
    counted_apis = set()
    for api in dict.fromkeys(name for name, _ in samples.decided(here=here)):
        row = next(row for row in APIS.values() if row.name == api)
        for version in dict.fromkeys((row.first, row.last)):
            for topic in ("team-a:orders", "nowhere:x"):
                pair, totals = Pair(topics=[OWN]), Totals()
                try:
                    sent, got = exchange(pair, api, version, topic, here)
                except ProtocolError:
                    continue  # a response cannot reject, or the sample is no response to this
                totals.take(pair)
                counted = totals["bytes_in"], totals["bytes_out"], totals["led"]
                assert counted == (sent, got, 1), (api, version, topic)
                counted_apis.add(api)
    assert len(counted_apis) >= (3 if here else 30)


def exchange(pair: Pair, api: str, version: int, topic: str, here: bool) -> tuple[int, int]:
    """Make one request and its response; returns how many bytes the client sent and got."""
    topic = samples.forwarded(api, topic)
    request = request_frame(api, version, samples.request(api, version, topic, topic_id(1)))
    pair.send(request)
    if pair.session.waiting is not None:
        raise ProtocolError("answered by another test")
    if pair.to_broker():
        flat = samples.PLAIN if topic == samples.PLAIN else OWN
        entity = samples.response(api, version, flat, topic_id(1), "", text="no")
        pair.session.broker_data(response_frame(api, version, entity))
    return len(request), len(pair.to_client())


def test_bytes_after_the_last_field_are_counted_though_they_are_cut_off() -> None:
    pair, totals = Pair(), Totals()
    entity = samples.request("Metadata", 12, "team-a:orders", UUID(int=1))
    frame = request_frame("Metadata", 12, entity)
    longer = (len(frame) - 4 + 3).to_bytes(4, "big") + frame[4:] + b"abc"
    pair.send(longer)
    answer = samples.response("Metadata", 12, OWN, topic_id(1), "")
    pair.session.broker_data(response_frame("Metadata", 12, answer))
    totals.take(pair)
    assert totals["bytes_in"] == len(longer)


@pytest.mark.parametrize(("api_key", "version"), [(18, 99), (0, 2)])
def test_what_is_not_served_is_counted(api_key: int, version: int) -> None:
    pair, totals = Pair(), Totals()
    head = api_key.to_bytes(2, "big") + version.to_bytes(2, "big") + bytes(4) + b"\x00\x03abc"
    payload = head + (b"\x00\x01" + bytes(8))  # as Produce: acks=1, a timeout, no topics
    frame = len(payload).to_bytes(4, "big") + payload
    pair.send(frame)
    totals.take(pair)
    assert totals["bytes_in"] == len(frame)
    assert totals["bytes_out"] == len(pair.to_client()) > 0
    assert (totals["requests"], totals["led"]) == (1, 1)


# -- produced -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("version", "first", "second"), [(9, "team-a:orders", "x"), (13, "1", "2")]
)
def test_what_the_broker_did_not_take_is_not_counted(version: int, first: str, second: str) -> None:
    pair, totals = Pair(topics=[OWN, "x"]), Totals()
    batches = [produced_batch(1), produced_batch(20), produced_batch(300)]
    entity = produce({first: [*batches], second: [produced_batch(4000)]}, version)
    frame = request_frame("Produce", version, entity)
    pair.send(frame)
    own = OWN if version < 13 else first
    # In another order than in the request.
    answer = produced({second: [6], own: [0, 6, 0]}, version)
    pair.session.broker_data(response_frame("Produce", version, answer))
    totals.take(pair)
    assert (totals["records"], totals["batches"]) == (301, 2)
    assert totals["bytes_in"] == len(frame)
    assert totals["partitions"] == 4


def test_one_batch_that_the_broker_did_not_take() -> None:
    pair, totals = Pair(), Totals()
    pair.send(request_frame("Produce", 9, produce({"team-a:orders": [produced_batch(5)]})))
    pair.session.broker_data(response_frame("Produce", 9, produced({OWN: [6]})))
    totals.take(pair)
    assert (totals["records"], totals["requests"], totals["errors"]) == (0, 1, 1)


def test_the_topics_that_are_left_of_a_request_are_counted() -> None:
    pair, found = Pair(), dict[str, Flow]()
    entity = produce({"nowhere:x": [produced_batch(1)], "team-a:orders": [produced_batch(7)]})
    frame = request_frame("Produce", 9, entity)
    pair.send(frame)
    pair.session.broker_data(response_frame("Produce", 9, produced({OWN: [0]})))
    found = {flow.flat: flow for flow in pair.session.take_flows()}
    flow = found[OWN]
    assert (flow.records, flow.batches, flow.acks_all, flow.led) == (7, 1, 1, 1)
    assert flow.bytes_in == len(frame)
    assert sum(flow.led for flow in found.values()) == 1


def test_bytes_of_produce_add_up_and_others_have_their_records() -> None:
    pair = Pair(topics=[OWN, "x"])
    frame = request_frame("Produce", 9, produce({"x": [b"one"], "team-a:orders": [b"a", b"bc"]}))
    pair.send(frame)
    pair.session.broker_data(response_frame("Produce", 9, produced({"x": [0], OWN: [0, 0]})))
    counted = {flow.flat: flow for flow in pair.session.take_flows()}
    assert (counted[OWN].bytes_in, counted["x"].bytes_in) == (3, len(frame) - 3)


def test_without_acks_what_was_sent_is_counted() -> None:
    pair, totals = Pair(), Totals()
    frame = request_frame("Produce", 9, produce({"orders": [produced_batch(5)]}, acks=0))
    pair.send(frame[:-5])
    totals.take(pair)
    pair.send(frame[-5:])
    totals.take(pair)
    assert (totals["records"], totals["bytes_in"], totals["bytes_out"]) == (5, len(frame), 0)


# -- fetched --------------------------------------------------------------------------------------

MANY = batch(1) + batch(20, 61) + batch(7, control=True) + batch(9, magic=1) + batch(300, 5_000)

RECORDS: dict[str, tuple[bytes, int, int]] = {
    "none": (b"", 0, 0),
    "one": (batch(5), 5, 1),
    "many": (MANY, 321, 3),
    "the last cut off": (MANY + batch(4000)[:-1], 321, 3),
    "a header cut off": (MANY + batch(4000)[:60], 321, 3),
    "no batch at all": (b"\xff" * 100, 0, 0),
    "a count that cannot be": (batch(5) + batch((1 << 32) - 1), 5, 2),
}


@pytest.mark.parametrize("case", RECORDS)
@pytest.mark.parametrize("size", [1 << 30, 1000, 67, 3])
def test_records_of_fetches_are_counted_however_they_arrive(case: str, size: int) -> None:
    records, count, batches = RECORDS[case]
    pair, totals = Pair(topics=[OWN, "team-b..x"]), Totals()
    pair.send(request_frame("Fetch", 13, fetching.request(13, {1: [0, 1], 2: [0]})))
    frame = response_frame("Fetch", 13, fetching.response(13, {1: [records, records], 2: [MANY]}))
    for at in range(0, len(frame), size):
        pair.session.broker_data(frame[at : at + size])
    assert pair.to_client() == frame
    totals.take(pair)
    assert totals["records_out"] == 2 * count + 321
    assert totals["batches_out"] == 2 * batches + 3
    assert totals["partitions"] == 3
    assert totals["bytes_out"] == len(frame)


@pytest.mark.parametrize("size", [1 << 30, 50])
def test_names_that_become_shorter_or_longer_are_counted_as_the_client_gets_them(size: int) -> None:
    answered: dict[Any, list[bytes]] = {OWN: [batch(3)], "team-b..x": [batch(4)]}
    pair, totals = Pair(), Totals()
    asked = fetching.request(12, {"team-a:orders": [0], "team-b:x": [0], "nowhere:x": [0]})
    pair.send(request_frame("Fetch", 12, asked))
    frame = response_frame("Fetch", 12, fetching.response(12, answered))
    for at in range(0, len(frame), size):
        pair.session.broker_data(frame[at : at + size])
    totals.take(pair)
    assert totals["bytes_out"] == len(pair.to_client())
    assert totals["records_out"] == 7
