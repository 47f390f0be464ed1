"""Produce: the bytes forwarded before its records have come, the bytes collected, and the
counts."""

from __future__ import annotations

import pytest

from gateway.exchanges.exchange import Refresh
from gateway.flows import Flow
from protocol import messages
from protocol.errors import ProtocolError
from tests.protocol.oracle import encode
from tests.session.pair import Pair, frames, raw_frame, request_frame, response_frame, topic_id
from tests.session.producing import batch, produce, produced

OWN = "team-a..orders"
RECORDS = bytes(range(256)) * 400


def flows(pair: Pair) -> dict[str, Flow]:
    return {flow.flat: flow for flow in pair.session.state.take_flows()}


@pytest.mark.parametrize("version", [3, 9, 12])
def test_the_head_goes_on_before_the_records_have_come(version: int) -> None:
    pair = Pair()
    frame = request_frame("Produce", version, produce({"team-a:orders": [RECORDS]}, version))
    head = frame.index(RECORDS) + 61
    pair.send(frame[:head])
    first = pair.to_broker()
    assert b"team-a..orders" in first
    assert first.endswith(RECORDS[:61])
    pair.send(frame[head : head + 1000])
    assert pair.to_broker() == frame[head : head + 1000]
    pair.send(frame[head + 1000 :])
    rest = pair.to_broker()
    whole = request_frame("Produce", version, produce({OWN: [RECORDS]}, version))
    assert first + frame[head : head + 1000] + rest == whole


def test_by_topic_id_nothing_changes() -> None:
    pair = Pair(topics=[OWN])
    frame = request_frame("Produce", 13, produce({"1": [RECORDS]}, 13))
    pair.send(frame[:200])
    assert pair.to_broker() == frame[:200]
    pair.send(frame[200:])
    assert pair.to_broker() == frame[200:]


def test_what_follows_a_streamed_request_in_one_read() -> None:
    pair = Pair()
    frame = request_frame("Produce", 9, produce({"team-a:orders": [RECORDS]}))
    pair.send(frame[:200])
    pair.send(frame[200:] + frame[:150])
    sent = pair.to_broker()
    first = sent[: 4 + int.from_bytes(sent[:4], "big")]
    longer = len("team-a..orders") - len("team-a:orders")
    assert sent[len(first) :] == sent[: 150 + longer]


def test_several_topics_are_collected() -> None:
    pair = Pair()
    frame = request_frame("Produce", 9, produce({"team-a:orders": [RECORDS], "team-b:x": [b"b"]}))
    pair.send(frame[:-1])
    assert pair.to_broker() == b""
    pair.send(frame[-1:])
    expected = request_frame("Produce", 9, produce({OWN: [RECORDS], "team-b..x": [b"b"]}))
    assert pair.to_broker() == expected


def test_several_partitions_are_collected() -> None:
    pair = Pair()
    frame = request_frame("Produce", 9, produce({"team-a:orders": [RECORDS, b"b", None]}))
    pair.send(frame[:-1])
    assert pair.to_broker() == b""
    pair.send(frame[-1:])
    assert pair.to_broker() == request_frame("Produce", 9, produce({OWN: [RECORDS, b"b", None]}))


def test_the_same_topic_twice_passes_as_it_does_without_a_gateway() -> None:
    pair = Pair()
    once = produce({"team-a:orders": [b"a"]})
    twice = messages.build(type(once), acks=-1, topic_data=once.topic_data * 2)
    sent = pair.ask("Produce", 9, twice)
    assert [topic.name for topic in sent.topic_data] == [OWN, OWN]


def test_an_empty_name_is_left_to_the_broker() -> None:
    pair = Pair()
    sent = pair.ask("Produce", 9, produce({"": [b"a"], "team-a:orders": [b"b"]}))
    assert [topic.name for topic in sent.topic_data] == ["", OWN]


def test_no_topic_id_is_left_to_the_broker() -> None:
    pair = Pair(topics=[OWN])
    sent = pair.ask("Produce", 13, produce({"0": [b"a"], "1": [b"b"]}, 13))
    assert [topic.topic_id for topic in sent.topic_data] == [None, topic_id(1)]


def test_without_acks_nothing_is_expected() -> None:
    pair = Pair()
    frame = request_frame("Produce", 9, produce({"orders": [RECORDS]}, acks=0))
    pair.send(frame[:300])
    pair.send(frame[300:] + frame)
    assert len(frames(pair.to_broker())) == 2
    assert pair.session.quiet
    flow = flows(pair)["orders"]
    assert (flow.acks0, flow.led) == (2, 2)


def test_a_rejection_without_acks_ends_the_connection() -> None:
    pair = Pair()
    with pytest.raises(ProtocolError, match="acks=0"):
        pair.send(request_frame("Produce", 9, produce({"nowhere:x": [b"a"]}, acks=0)))
    assert pair.to_broker() == b""


def test_a_rejection_without_acks_looks_at_the_catalog_first() -> None:
    pair = Pair()
    pair.session.client_data(request_frame("Produce", 9, produce({"nowhere:x": [b"a"]}, acks=0)))
    assert pair.session.waiting is Refresh.CATALOG
    with pytest.raises(ProtocolError, match="acks=0"):
        pair.resume()


def test_a_rejected_request_is_collected_and_answered() -> None:
    pair = Pair()
    frame = request_frame("Produce", 9, produce({"nowhere:x": [RECORDS]}))
    pair.send(frame[:500])
    pair.send(frame[500:-1])
    assert pair.to_broker() == b""
    assert pair.to_client() == b""
    pair.send(frame[-1:])
    assert pair.to_broker() == b""
    (topic,) = pair.answer("Produce", 9).responses
    assert (topic.name, topic.partition_responses[0].error_code) == ("nowhere:x", 3)


def test_records_that_claim_to_go_on_after_the_frame() -> None:
    pair = Pair()
    frame = bytearray(request_frame("Produce", 3, produce({"team-a:orders": [b"abc"]}, 3)))
    at = frame.index(b"\x00\x00\x00\x03abc")
    frame[at : at + 4] = (1 << 30).to_bytes(4, "big")
    with pytest.raises(ProtocolError):
        pair.send(bytes(frame))


def test_records_batches_and_acks_are_counted() -> None:
    pair = Pair()
    idempotent = batch(7, producer_id=5)
    transactional = batch(2, producer_id=5, transactional=True)
    pair.send(request_frame("Produce", 9, produce({"team-a:orders": [batch(3)]}, acks=1)))
    pair.send(
        request_frame(
            "Produce", 9, produce({"team-a:orders": [idempotent, transactional, None], "x": [b""]})
        )
    )
    for answer in (produced({OWN: [0]}), produced({OWN: [0, 0, 0], "x": [0]})):
        pair.session.broker_data(response_frame("Produce", 9, answer))
    counted = flows(pair)
    flow = counted[OWN]
    assert (flow.records, flow.batches, flow.partitions) == (12, 3, 4)
    assert (flow.idempotent, flow.transactional) == (2, 1)
    assert (flow.acks0, flow.acks1, flow.acks_all) == (0, 1, 1)
    assert (flow.namespace, flow.logical) == ("team-a", "team-a:orders")
    assert (counted["x"].records, counted["x"].partitions, counted["x"].led) == (0, 1, 0)


def test_a_record_count_that_cannot_be_is_not_counted() -> None:
    pair = Pair()
    lie = batch(0).replace(bytes(4) + b"the", (1 << 31).to_bytes(4, "big") + b"the")
    pair.send(request_frame("Produce", 9, produce({"team-a:orders": [lie]})))
    pair.session.broker_data(response_frame("Produce", 9, produced({OWN: [0]})))
    flow = flows(pair)[OWN]
    assert (flow.records, flow.batches) == (0, 1)


def test_a_batch_whose_header_has_not_come_is_counted_all_the_same() -> None:
    pair = Pair()
    frame = request_frame("Produce", 9, produce({"team-a:orders": [batch(3) + RECORDS]}))
    half = frame.index(batch(3)) + 30
    pair.send(frame[:half])
    assert pair.to_broker() == b""
    pair.send(frame[half:])
    pair.session.broker_data(response_frame("Produce", 9, produced({OWN: [0]})))
    assert flows(pair)[OWN].records == 3


def test_a_rejected_request_is_counted_once_however_often_it_is_decided() -> None:
    pair = Pair()
    entity = produce({"team-a:orders": [batch(3)], "nowhere:x": [batch(1)]})
    pair.send(request_frame("Produce", 9, entity))
    counted = flows(pair)
    assert sum(flow.acks_all for flow in counted.values()) <= 1
    assert sum(flow.records for flow in counted.values()) <= 4


@pytest.mark.parametrize("tail", [b"\x01\x00\x00", b"\x00\x01\x00", b"\x00\x00\x01"])
@pytest.mark.parametrize("last", [1, 2, 3, 5])
def test_a_streamed_request_that_does_not_add_up_is_never_whole(tail: bytes, last: int) -> None:
    """A broker would read on behind the records, up to the number of tagged fields given there."""
    pair = Pair()
    whole = request_frame("Produce", 9, produce({"team-a:orders": [RECORDS]}))
    frame = whole[:-3] + tail
    pair.send(frame[:200])
    assert pair.to_broker()
    with pytest.raises(ProtocolError, match="do not fit"):
        for at in range(200, len(frame), last):
            pair.send(frame[at : at + last])
    longer = len("team-a..orders") - len("team-a:orders")
    assert len(pair.to_broker()) < len(frame) - 200 + longer


@pytest.mark.parametrize("arrived", [-3, -2, -1])
def test_a_tail_that_has_arrived_with_the_head_is_checked(arrived: int) -> None:
    pair = Pair()
    frame = request_frame("Produce", 9, produce({"team-a:orders": [bytes(100)]}))
    frame = frame[:-3] + b"\x01\x00\x00"
    with pytest.raises(ProtocolError, match="do not fit"):
        pair.send(frame[:arrived])
        pair.send(frame[arrived:])


@pytest.mark.parametrize(("version", "more"), [(7, b"x"), (9, b"\x00"), (9, bytes(70_000))])
def test_bytes_behind_the_end_are_cut_off_where_the_request_would_stream(
    version: int, more: bytes
) -> None:
    pair = Pair()
    whole = request_frame("Produce", version, produce({"plain": [RECORDS]}, version))
    frame = (len(whole) - 4 + len(more)).to_bytes(4, "big") + whole[4:] + more
    pair.send(frame[:200])
    assert pair.to_broker() == b""
    pair.send(frame[200:])
    assert pair.to_broker() == whole


def test_a_streamed_request_with_tagged_fields_is_collected() -> None:
    pair = Pair()
    body = encode(produce({"plain": [RECORDS]}), [(100, b"new")])
    frame = raw_frame(0, 9, body)
    pair.send(frame[:-1])
    assert pair.to_broker() == b""
    pair.send(frame[-1:])
    assert pair.to_broker() == frame
