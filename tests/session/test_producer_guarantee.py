"""Produce requests with less than the strongest guarantee: raised, rejected, swallowed, counted."""

from __future__ import annotations

import logging
from datetime import timedelta
from typing import Any

import pytest

from gateway.config.policies import PolicySettings
from gateway.exchanges.exchange import Unanswerable
from gateway.policies.tree import Policies
from protocol import messages
from protocol.errors import ProtocolError
from protocol.messages import make
from tests.session.guarantees import (
    GOOD,
    LEAST,
    NUMBERED,
    OWN,
    PLAIN,
    RECORDS,
    STRICT,
    flows,
    pair,
    requiring,
    sent,
    weak,
)
from tests.session.pair import Pair, frames, request_frame, response_frame
from tests.session.producing import old_batch, produce, produced

# -- raised to acks=all ---------------------------------------------------------------------------


@pytest.mark.parametrize("version", [3, 8, 9, 12])
def test_a_head_goes_on_with_all_acks_before_its_records_have_come(version: int) -> None:
    made = pair()
    asked = produce({"team-a:orders": [RECORDS]}, version, acks=1, transactional_id="tx")
    frame = request_frame("Produce", version, asked)
    head = frame.index(RECORDS) + 10
    made.send(frame[:head])
    first = made.to_broker()
    made.send(frame[head:])
    whole = produce({OWN: [RECORDS]}, version, acks=-1, transactional_id="tx", timeout=LEAST)
    assert first + made.to_broker() == request_frame("Produce", version, whole)


def test_a_transactional_id_under_a_home_stands_before_the_acks() -> None:
    made = Pair(home="team-a")
    asked = produce({"orders": [GOOD]}, acks=1, transactional_id="tx")
    seen = made.ask("Produce", 9, asked)
    assert (seen.transactional_id, seen.acks) == ("team-a..tx", -1)


def test_by_topic_id() -> None:
    made = pair([OWN, "plain"])
    frame = request_frame("Produce", 13, produce({"1": [RECORDS]}, 13, acks=1))
    made.send(frame[:200])
    first = made.to_broker()
    made.send(frame[200:])
    expected = request_frame("Produce", 13, produce({"1": [RECORDS]}, 13, timeout=LEAST))
    assert first + made.to_broker() == expected
    assert made.ask("Produce", 13, produce({"2": [GOOD]}, 13, acks=1)).acks == 1


@pytest.mark.parametrize("version", [3, 9])
@pytest.mark.parametrize(
    ("topics", "acks", "asked", "expected"),
    [
        (["team-a:orders"], 1, timedelta(0), LEAST),
        (["team-a:orders"], 0, timedelta(milliseconds=-1), LEAST),
        (["team-a:orders"], 1, timedelta(seconds=45), timedelta(seconds=45)),
        (["team-a:orders"], 1, timedelta(minutes=2), timedelta(minutes=1)),
        (["team-a:orders"], -1, timedelta(0), timedelta(0)),
        (["nowhere:x", "team-a:orders"], 1, timedelta(0), LEAST),
        (["nowhere:x", "team-a:orders"], 1, timedelta(minutes=2), timedelta(minutes=1)),
        (["x"], 1, timedelta(0), timedelta(0)),
    ],
)
def test_the_timeout_that_acks_of_0_and_1_do_not_need_is_raised_too(
    version: int, topics: list[str], acks: int, asked: timedelta, expected: timedelta
) -> None:
    """If acks is all and the timeout is 0, a broker responds REQUEST_TIMED_OUT if there is a
    follower."""
    made = pair()
    request = produce({topic: [GOOD] for topic in topics}, version, acks=acks, timeout=asked)
    assert made.ask("Produce", version, request).timeout == expected


def test_several_topics_are_raised_if_one_is() -> None:
    made = pair()
    assert (
        made.ask("Produce", 9, produce({"x": [GOOD], "team-a:orders": [GOOD]}, acks=1)).acks == -1
    )
    assert made.ask("Produce", 9, produce({"x": [GOOD], "y": [GOOD]}, acks=1)).acks == 1


def test_the_response_is_restored_as_ever() -> None:
    made = pair()
    made.ask("Produce", 9, produce({"team-a:orders": [GOOD]}, acks=1))
    got = made.reply("Produce", 9, produced({OWN: [19]}))
    assert got.responses[0].name == "team-a:orders"
    assert got.responses[0].partition_responses[0].error_code == 19


def test_what_is_left_of_a_request_is_raised_too() -> None:
    made = pair()
    seen = made.ask("Produce", 9, produce({"nowhere:x": [GOOD], "team-a:orders": [GOOD]}, acks=1))
    assert (seen.acks, [topic.name for topic in seen.topic_data]) == (-1, [OWN])
    got = made.reply("Produce", 9, produced({OWN: [0]}))
    codes = [topic.partition_responses[0].error_code for topic in got.responses]
    assert codes == [3, 0]
    assert weak(made) == {OWN: {"acks1_upgraded": 1}}


def test_what_is_left_in_the_default_namespace_is_not() -> None:
    made = pair()
    seen = made.ask("Produce", 9, produce({"nowhere:x": [GOOD], "x": [PLAIN]}, acks=1))
    assert seen.acks == 1
    assert weak(made) == {"x": {"acks1_observed": 1, "not_idempotent_observed": 1}}


def test_an_empty_name_beside_a_topic_is_the_brokers_and_the_rest_is_raised() -> None:
    made = pair()
    seen = made.ask("Produce", 9, produce({"": [GOOD], "team-a:orders": [GOOD]}, acks=1))
    assert (seen.acks, [topic.name for topic in seen.topic_data]) == (-1, ["", OWN])


def test_observed_where_the_policies_say_so() -> None:
    made = pair(namespaces={"team-a": requiring(acks="observe")})
    assert made.ask("Produce", 9, produce({"team-a:orders": [GOOD]}, acks=1)).acks == 1


def test_the_innermost_namespace_decides() -> None:
    made = pair(
        everywhere=requiring(acks="require"), namespaces={"team-a:sub": requiring(acks="observe")}
    )
    assert made.ask("Produce", 9, produce({"team-a:sub:x": [GOOD]}, acks=1)).acks == 1
    assert made.ask("Produce", 9, produce({"team-a:x": [GOOD]}, acks=1)) is None


# -- acks=0 ---------------------------------------------------------------------------------------


def test_the_response_to_acks_0_is_swallowed_and_others_keep_their_order() -> None:
    made = pair()
    none = produce({"team-a:orders": [PLAIN]}, acks=0)
    every = produce({"team-a:orders": [GOOD]})
    made.send(request_frame("Produce", 9, none, 1))
    made.send(request_frame("Produce", 9, every, 2) + request_frame("Produce", 9, none, 3))
    rejected = produce({"nowhere:x": [GOOD]})
    made.send(request_frame("Produce", 9, rejected, 4))
    assert [request.acks for request in sent(made)] == [-1, -1, -1]
    assert not made.session.quiet
    assert made.to_client() == b""
    answer = produced({OWN: [0]})
    made.session.broker_data(response_frame("Produce", 9, answer, 1))
    assert made.to_client() == b""
    made.session.broker_data(
        response_frame("Produce", 9, answer, 2) + response_frame("Produce", 9, answer, 3)
    )
    ids = [int.from_bytes(payload[:4], "big") for payload in frames(made.to_client())]
    assert ids == [2, 4]
    assert made.session.quiet
    flow = flows(made)[OWN]
    assert (flow.acks0, flow.acks_all, flow.led) == (2, 1, 3)
    assert flow.weak == {"acks0_upgraded": 2, "not_idempotent_observed": 2}
    shown = produced({"team-a:orders": [0]})
    assert flow.bytes_out == len(response_frame("Produce", 9, shown, 2))


def test_a_head_of_acks_0_goes_on_before_its_records_have_come() -> None:
    made = pair()
    frame = request_frame("Produce", 9, produce({"team-a:orders": [RECORDS]}, acks=0))
    made.send(frame[:300])
    assert made.to_broker()
    made.send(frame[300:])
    made.session.broker_data(response_frame("Produce", 9, produced({OWN: [0]})))
    assert made.to_client() == b""
    assert made.session.quiet


@pytest.mark.parametrize(
    ("version", "topic"), [(3, "team-a:orders"), (9, "team-a:orders"), (13, "1")]
)
def test_an_error_that_acks_0_would_hide_ends_the_connection(version: int, topic: str) -> None:
    made = pair([OWN])
    made.send(request_frame("Produce", version, produce({topic: [GOOD, GOOD]}, version, acks=0)))
    flows(made)  # collected before the broker has answered
    answered = produced({OWN if version < 13 else "1": [0, 19]}, version)
    with pytest.raises(Unanswerable, match=r"acks=all, failed with NOT_ENOUGH_REPLICAS.*'team-a:o"):
        made.session.broker_data(response_frame("Produce", version, answered))
    assert flows(made)[OWN].errors == {19: 1}


def test_acks_0_in_the_default_namespace_has_no_response_at_all() -> None:
    made = pair()
    assert made.ask("Produce", 9, produce({"x": [PLAIN]}, acks=0)).acks == 0
    assert made.session.quiet
    assert weak(made) == {"x": {"acks0_observed": 1, "not_idempotent_observed": 1}}


def test_an_empty_name_with_acks_0_is_swallowed_where_the_rest_is_raised() -> None:
    made = pair()
    made.ask("Produce", 9, produce({"": [GOOD], "team-a:orders": [GOOD]}, acks=0))
    with pytest.raises(Unanswerable):
        made.session.broker_data(response_frame("Produce", 9, produced({"": [17], OWN: [0]})))
    made = pair()
    made.ask("Produce", 9, produce({"": [GOOD], "x": [GOOD]}, acks=0))
    assert made.session.quiet


def test_what_is_rejected_does_not_name_the_topic_for_what_comes() -> None:
    """A producer is bound to a topic's name once it has written under that name."""
    made = pair(**NUMBERED)
    assert made.ask("Produce", 9, produce({"team-a:orders": [PLAIN]})) is None
    made.to_client()
    assert made.ask("Produce", 9, produce({OWN: [GOOD]})) is not None


@pytest.mark.parametrize("version", [3, 9, 12])
def test_a_head_waits_for_its_batch_header(version: int) -> None:
    made = pair(**NUMBERED)
    records = GOOD + RECORDS
    frame = request_frame("Produce", version, produce({"team-a:orders": [records]}, version))
    at = frame.index(records)
    made.send(frame[: at + 60])
    assert made.to_broker() == b""
    made.send(frame[at + 60 : at + 61])
    first = made.to_broker()
    assert first
    made.send(frame[at + 61 :])
    expected = request_frame("Produce", version, produce({OWN: [records]}, version))
    assert first + made.to_broker() == expected
    made.session.broker_data(response_frame("Produce", version, produced({OWN: [0]}, version)))
    flow = flows(made)[OWN]
    assert (flow.records, flow.idempotent, flow.led) == (3, 1, 1)


def test_byte_by_byte() -> None:
    made = pair(**NUMBERED)
    frame = request_frame("Produce", 9, produce({"team-a:orders": [GOOD]}))
    for at in range(len(frame)):
        made.send(frame[at : at + 1])
    assert made.to_broker() == request_frame("Produce", 9, produce({OWN: [GOOD]}))


def test_a_head_that_is_rejected_is_collected() -> None:
    made = pair(**NUMBERED)
    frame = request_frame("Produce", 9, produce({"team-a:orders": [PLAIN + RECORDS]}))
    made.send(frame[:500])
    made.send(frame[500:])
    assert made.to_broker() == b""
    assert made.answer("Produce", 9).responses[0].partition_responses[0].error_code == 44


# -- clients before KIP-98 ------------------------------------------------------------------------


@pytest.mark.parametrize("magic", [0, 1])
def test_magic_below_2_is_rejected_where_idempotence_is_required(magic: int) -> None:
    made = pair(**NUMBERED)
    assert made.ask("Produce", 9, produce({"team-a:orders": [old_batch(magic)]})) is None
    (partition,) = made.answer("Produce", 9).responses[0].partition_responses
    assert partition.error_code == 44
    assert "magic 0 or 1" in partition.error_message


@pytest.mark.parametrize("magic", [0, 1])
def test_magic_below_2_is_observed_otherwise_and_the_broker_has_its_say(magic: int) -> None:
    made = pair()
    assert made.ask("Produce", 9, produce({"team-a:orders": [old_batch(magic)]})) is not None
    got = made.reply("Produce", 9, produced({OWN: [87]}))
    assert got.responses[0].partition_responses[0].error_code == 87
    assert weak(made) == {OWN: {"not_idempotent_observed": 1}}


def test_a_topic_of_an_old_format_takes_no_idempotent_producer() -> None:
    """UNSUPPORTED_FOR_MESSAGE_FORMAT, from brokers before 3.0 (message.format.version)."""
    made = pair()
    assert made.ask("Produce", 9, produce({"team-a:orders": [GOOD]})) is not None
    got = made.reply("Produce", 9, produced({OWN: [43]}))
    assert got.responses[0].partition_responses[0].error_code == 43


# -- counted --------------------------------------------------------------------------------------


def test_a_request_counts_once_for_each_namespace() -> None:
    made = pair()
    topics: dict[str, list[bytes | None]] = {
        "x": [PLAIN],
        "y": [PLAIN],
        "team-a:b": [PLAIN],
        "team-a:a": [PLAIN],
    }
    made.send(request_frame("Produce", 9, produce(topics, acks=1)))
    each = {"acks1_upgraded": 1, "not_idempotent_observed": 1}
    assert weak(made) == {"x": each, "team-a..b": each}


def test_strong_producers_are_not_counted() -> None:
    made = pair()
    made.send(request_frame("Produce", 9, produce({"x": [GOOD], "team-a:a": [GOOD, GOOD]})))
    assert weak(made) == {}


def test_acks_that_are_none_are_left_to_the_broker() -> None:
    made = pair(**STRICT)
    assert made.ask("Produce", 9, produce({"team-a:orders": [GOOD]}, acks=2)).acks == 2
    assert weak(made) == {}


def test_other_policies_hold_from_the_next_request_on() -> None:
    made = pair()
    assert made.ask("Produce", 9, produce({"team-a:orders": [GOOD]}, acks=1)).acks == -1
    policies = Policies(PolicySettings.model_validate(STRICT))
    made.see(made.view.successor(made.catalog.snapshot, policies))
    assert made.ask("Produce", 9, produce({"team-a:orders": [GOOD]}, acks=1), 8) is None


# -- brokers before 2.8 ---------------------------------------------------------------------------


def init_producer_id(version: int = 4) -> Any:
    cls = messages.message_class("InitProducerIdRequest", version)
    return messages.build(cls, transactional_id=None, producer_id=-1, producer_epoch=-1)


def test_a_broker_that_wants_idempotent_write_of_a_new_producer(
    caplog: pytest.LogCaptureFixture,
) -> None:
    made = pair()
    rejected = make(messages.message_class("InitProducerIdResponse", 4), {"error_code": 31})
    with caplog.at_level(logging.WARNING):
        for number in (7, 8):
            made.ask("InitProducerId", 4, init_producer_id(), number)
            got = made.reply("InitProducerId", 4, rejected, number)
            assert got.error_code == 31
    (line,) = caplog.messages
    assert "grant the gateway's principal there IDEMPOTENT_WRITE" in line
    assert "--operation IdempotentWrite --cluster" in line


def test_an_answer_without_error_says_nothing(caplog: pytest.LogCaptureFixture) -> None:
    made = pair()
    made.ask("InitProducerId", 4, init_producer_id())
    cls = messages.message_class("InitProducerIdResponse", 4)
    got = made.reply("InitProducerId", 4, messages.build(cls, producer_id=9))
    assert got.producer_id == 9
    assert not caplog.messages


@pytest.mark.parametrize(("version", "told"), [(3, False), (7, False), (8, True), (12, True)])
def test_a_broker_that_wants_idempotent_write_of_every_batch(
    version: int, told: bool, caplog: pytest.LogCaptureFixture
) -> None:
    made = pair()
    made.ask("Produce", version, produce({"team-a:orders": [GOOD]}, version))
    got = made.reply("Produce", version, produced({OWN: [31]}, version))
    (topic,) = got.responses
    (partition,) = topic.partition_responses
    assert (topic.name, partition.error_code) == ("team-a:orders", 31)
    if told:
        assert "IDEMPOTENT_WRITE on the cluster" in partition.error_message
    assert len(caplog.messages) == 1
    assert flows(made)[OWN].errors == {31: 1}


def test_the_same_for_acks_0(caplog: pytest.LogCaptureFixture) -> None:
    made = pair()
    made.send(request_frame("Produce", 9, produce({"team-a:orders": [GOOD]}, acks=0)))
    with pytest.raises(Unanswerable, match="CLUSTER_AUTHORIZATION_FAILED"):
        made.session.broker_data(response_frame("Produce", 9, produced({OWN: [31]})))
    assert len(caplog.messages) == 1


def test_a_swallowed_response_that_cannot_be_read() -> None:
    made = pair()
    made.send(request_frame("Produce", 9, produce({"team-a:orders": [GOOD]}, acks=0), 7))
    frame = response_frame("Produce", 9, produced({OWN: [0]}), 7)
    longer = (len(frame) - 4 + 3).to_bytes(4, "big") + frame[4:] + bytes(3)
    with pytest.raises(ProtocolError, match="bytes after its end"):
        made.session.broker_data(longer)
