"""The session itself: frames, their order, the requests that wait, and the errors that end a
connection."""

from __future__ import annotations

from itertools import pairwise

import pytest

from gateway.exchanges.exchange import Interlude, Prepare, Refresh, Turn, Work
from gateway.session.deciding import Deciding
from gateway.session.in_flight import MAX_IN_FLIGHT
from protocol import messages
from protocol.errors import ProtocolError
from protocol.messages import make
from protocol.schema import api_key_of
from tests.session import samples
from tests.session.pair import (
    CLIENT_ID,
    Pair,
    frames,
    raw_frame,
    request_frame,
    response_frame,
    topic_id,
)
from tests.session.producing import batch, produce

OWN = "team-a..orders"


def correlation_ids(data: bytes) -> list[int]:
    """The correlation ids of the responses in ``data``, in order."""
    return [int.from_bytes(payload[:4], "big") for payload in frames(data)]


def quiet(pair: Pair) -> bool:
    return pair.session.quiet


def saturated(pair: Pair) -> bool:
    return pair.session.saturated


def waiting(pair: Pair) -> Refresh | Prepare | Work | Interlude | Turn | Deciding | None:
    return pair.session.waiting


def heartbeat(correlation_id: int, group: str = "app") -> bytes:
    entity = messages.build(messages.message_class("HeartbeatRequest", 4), group_id=group)
    return request_frame("Heartbeat", 4, entity, correlation_id)


def heartbeat_response(correlation_id: int) -> bytes:
    entity = messages.build(messages.message_class("HeartbeatResponse", 4))
    return response_frame("Heartbeat", 4, entity, correlation_id)


def metadata(correlation_id: int, name: str | None) -> bytes:
    cls = messages.message_class("MetadataRequest", 12)
    topics = None if name is None else samples.request("Metadata", 12, name, topic_id(1)).topics
    return request_frame("Metadata", 12, messages.build(cls, topics=topics), correlation_id)


RESERVED = "__kafka_gateway"


def produced(correlation_id: int, name: str = "orders") -> bytes:
    return request_frame("Produce", 9, produce({name: [batch(1)]}), correlation_id)


def produce_response(correlation_id: int) -> bytes:
    entity = messages.build(messages.message_class("ProduceResponse", 9))
    return response_frame("Produce", 9, entity, correlation_id)


def test_pipelined_requests_go_on_in_one_read_and_in_order() -> None:
    pair = Pair(home="team-a")
    pair.send(produced(1) + produced(2) + produced(3))
    assert len(frames(pair.to_broker())) == 3
    pair.session.broker_data(produce_response(1) + produce_response(2))
    assert correlation_ids(pair.to_client()) == [1, 2]
    pair.session.broker_data(produce_response(3))
    assert correlation_ids(pair.to_client()) == [3]


def test_local_answers_wait_for_the_responses_before_them() -> None:
    pair = Pair()
    pair.send(produced(1) + produced(2, "nope:x") + produced(3) + produced(4, "nope:x"))
    assert len(frames(pair.to_broker())) == 2
    assert pair.to_client() == b""
    pair.session.broker_data(produce_response(1))
    assert correlation_ids(pair.to_client()) == [1, 2]
    pair.session.broker_data(produce_response(3))
    assert correlation_ids(pair.to_client()) == [3, 4]


def test_a_local_answer_with_nothing_before_it_goes_at_once() -> None:
    pair = Pair()
    pair.send(heartbeat(1, RESERVED))
    assert correlation_ids(pair.to_client()) == [1]
    assert quiet(pair)


def test_quiet_means_nothing_is_under_way() -> None:
    pair = Pair()
    assert quiet(pair)
    pair.send(heartbeat(1))
    assert not quiet(pair)
    pair.session.broker_data(heartbeat_response(1))
    assert quiet(pair)


CUT_APIS = [
    ("Produce", 9),
    ("Produce", 13),
    ("Metadata", 0),
    ("Metadata", 12),
    ("Fetch", 12),
    ("JoinGroup", 5),
    ("FindCoordinator", 6),
    ("CreateTopics", 1),
    ("ApiVersions", 4),
]


def conversation(cuts: tuple[int, int]) -> list[tuple[bytes, bytes]]:
    """The bytes that broker and client get of each API if both directions are cut at these
    places."""
    seen = []
    for api, version in CUT_APIS:
        pair = Pair(topics=[samples.forwarded(api, OWN)])
        name = samples.forwarded(api, "team-a:orders")
        asked = samples.request(api, version, name, topic_id(1))
        request = request_frame(api, version, asked) + request_frame(api, version, asked, 8)
        for begin, end in pairwise((0, min(cuts[0], len(request)), len(request))):
            pair.send(request[begin:end])
        to_broker = pair.to_broker()
        sent_as = int.from_bytes(to_broker[6:8], "big")
        reply = samples.response(api, sent_as, samples.forwarded(api, OWN), topic_id(1), "")
        both = [response_frame(api, sent_as, reply), response_frame(api, sent_as, reply, 8)]
        # A broker has the second request before the first response only if the API allows that.
        for response in [b"".join(both)] if api in ("Produce", "Fetch") else both:
            for begin, end in pairwise((0, min(cuts[1], len(response)), len(response))):
                pair.answered(response[begin:end])
            to_broker += pair.to_broker()
        seen.append((to_broker, pair.to_client()))
        assert quiet(pair)
    return seen


def test_frames_cut_anywhere_give_the_same_bytes() -> None:
    whole = conversation((1 << 20, 1 << 20))
    assert all(to_broker and to_client for to_broker, to_client in whole)
    for cut in range(1, 420):
        assert conversation((cut, cut)) == whole, f"cut at {cut}"


@pytest.mark.parametrize(("api", "version"), CUT_APIS)
def test_single_bytes_give_the_same_bytes(api: str, version: int) -> None:
    own = samples.forwarded(api, OWN)
    name = samples.forwarded(api, "team-a:orders")
    asked = samples.request(api, version, name, topic_id(1))
    request = request_frame(api, version, asked)
    whole, bytewise = Pair(topics=[own]), Pair(topics=[own])
    whole.send(request)
    for value in request:
        bytewise.send(bytes((value,)))
    to_broker = bytewise.to_broker()
    assert to_broker == whole.to_broker()
    sent_as = int.from_bytes(to_broker[6:8], "big")
    response = response_frame(api, sent_as, samples.response(api, sent_as, own, topic_id(1), ""))
    whole.session.broker_data(response)
    for value in response:
        bytewise.session.broker_data(bytes((value,)))
    assert bytewise.to_client() == whole.to_client()


def test_a_correlation_id_that_does_not_match_ends_the_connection() -> None:
    pair = Pair()
    pair.send(heartbeat(1))
    with pytest.raises(ProtocolError, match="answered 2, not 1"):
        pair.session.broker_data(heartbeat_response(2))
    assert pair.to_client() == b""


def test_an_unsolicited_response_ends_the_connection() -> None:
    pair = Pair()
    pair.send(heartbeat(1))
    with pytest.raises(ProtocolError, match="not sent"):
        pair.session.broker_data(heartbeat_response(1) + heartbeat_response(2))


@pytest.mark.parametrize("size", [-1, -(2**31), 0, 9, 100 * 1024 * 1024 + 1, 2**31 - 1])
def test_request_sizes_that_cannot_be(size: int) -> None:
    pair = Pair()
    with pytest.raises(ProtocolError, match="request of"):
        pair.send(size.to_bytes(4, "big", signed=True))


@pytest.mark.parametrize("size", [-1, 0, 3, 2**31 - 1])
def test_response_sizes_that_cannot_be(size: int) -> None:
    pair = Pair()
    pair.send(heartbeat(1))
    with pytest.raises(ProtocolError, match="response of"):
        pair.session.broker_data(size.to_bytes(4, "big", signed=True) + bytes(4))


NOT_STREAMED = [case for case in samples.decided() if case[0] != "Produce"]
"""The bytes that follow the records of a Produce request are left to the broker."""


@pytest.mark.parametrize(("api", "version"), NOT_STREAMED)
def test_bytes_after_the_end_of_a_request_do_not_reach_the_broker(api: str, version: int) -> None:
    """librdkafka sends some in Metadata v13; Kafka ignores them."""
    plain, longer = Pair(topics=[OWN]), Pair(topics=[OWN])
    key = api_key_of(f"{api}Request")
    body = messages.write(samples.request(api, version, "team-a:orders", topic_id(1)))
    plain.send(raw_frame(key, version, body) + heartbeat(8))
    longer.send(raw_frame(key, version, body + b"abc") + heartbeat(8))
    assert longer.let_answer() == plain.let_answer()


def test_bytes_after_the_end_of_a_response_end_the_connection() -> None:
    pair = Pair()
    pair.send(heartbeat(7))
    response = heartbeat_response(7)
    longer = (len(response) - 3).to_bytes(4, "big") + response[4:] + b"a"
    with pytest.raises(ProtocolError, match="after its end"):
        pair.session.broker_data(longer)


def test_an_unknown_api_key_ends_the_connection() -> None:
    pair = Pair()
    unknown = (12).to_bytes(4, "big") + (999).to_bytes(2, "big") + bytes(10)
    with pytest.raises(ProtocolError):
        pair.send(unknown)
    assert pair.to_broker() == b""


def test_an_unknown_version_ends_the_connection() -> None:
    pair = Pair()
    unknown = (12).to_bytes(4, "big") + (3).to_bytes(2, "big") + (99).to_bytes(2, "big") + bytes(8)
    with pytest.raises(ProtocolError):
        pair.send(unknown)
    assert pair.to_broker() == b""


def test_an_api_that_is_not_decided_is_answered_where_it_can_be() -> None:
    pair = Pair()
    cls = messages.message_class("UnregisterBrokerRequest", 0)
    got = pair.ask("UnregisterBroker", 0, messages.build(cls))
    assert got is None
    answer = pair.answer("UnregisterBroker", 0)
    assert answer.error_code == 35
    assert answer.error_message


def test_a_version_that_is_not_decided_is_answered_where_it_can_be() -> None:
    pair = Pair()
    cls = messages.message_class("FetchRequest", 16)
    assert pair.ask("Fetch", 16, messages.build(cls)) is None
    assert pair.answer("Fetch", 16).error_code == 35


def test_api_versions_too_new_gets_version_0s_form() -> None:
    pair = Pair()
    frame = (14).to_bytes(4, "big") + (18).to_bytes(2, "big") + (99).to_bytes(2, "big")
    pair.send(frame + (5).to_bytes(4, "big") + (1).to_bytes(2, "big") + b"c" + bytes(3))
    assert pair.to_broker() == b""
    (payload,) = frames(pair.to_client())
    assert payload[:4] == (5).to_bytes(4, "big")
    answer = messages.parse("ApiVersionsResponse", 0, payload[4:])
    assert answer.error_code == 35
    assert [(k.api_key, k.min_version, k.max_version) for k in answer.api_keys] == [(18, 0, 4)]


OLD_PRODUCE = (
    b"\x00\x01"  # acks
    b"\x00\x00\x03\xe8"  # timeout
    b"\x00\x00\x00\x01"  # topics
    b"\x00\x06orders"
    b"\x00\x00\x00\x01"  # partitions
    b"\x00\x00\x00\x05"  # number 5
    b"\x00\x00\x00\x03abc"  # records
)


def old_produce(version: int, body: bytes) -> bytes:
    header = bytes(3) + bytes((version,)) + bytes((0, 0, 0, 7)) + b"\xff\xff"
    return (len(header) + len(body)).to_bytes(4, "big") + header + body


@pytest.mark.parametrize("version", [0, 1, 2])
def test_produce_before_version_3_is_rejected(version: int) -> None:
    pair = Pair()
    pair.send(old_produce(version, OLD_PRODUCE))
    assert pair.to_broker() == b""
    (payload,) = frames(pair.to_client())
    assert payload[:4] == (7).to_bytes(4, "big")
    assert b"orders\x00\x00\x00\x01\x00\x00\x00\x05\x00\x23" in payload


def test_produce_before_version_3_without_acks_is_not_answered() -> None:
    pair = Pair()
    pair.send(old_produce(2, b"\x00\x00" + OLD_PRODUCE[2:]))
    assert pair.to_broker() == b""
    assert pair.to_client() == b""
    assert quiet(pair)


def test_what_was_counted_stays_with_the_client_id_that_did_it() -> None:
    pair = Pair()
    entity = messages.build(messages.message_class("HeartbeatRequest", 4), group_id="app")
    pair.send(request_frame("Heartbeat", 4, entity, 1, b"first"))
    pair.send(request_frame("Heartbeat", 4, entity, 2, b"second"))
    pair.send(request_frame("Heartbeat", 4, entity, 3, b"second"))
    for number in (1, 2, 3):
        pair.session.broker_data(heartbeat_response(number))
    counted = {flow.source.client_id: flow.led for flow in pair.session.state.take_flows()}
    assert counted == {"first": 1, "second": 2}


def test_the_client_software_is_noted() -> None:
    pair = Pair()
    cls = messages.message_class("ApiVersionsRequest", 3)
    entity = messages.build(cls, client_software_name="kcat", client_software_version="1.7")
    pair.ask("ApiVersions", 3, entity)
    source = pair.session.state.source
    assert (source.software_name, source.software_version) == ("kcat", "1.7")
    assert source.client_id == CLIENT_ID.decode()


def test_flows_count_bytes_and_errors() -> None:
    pair = Pair()
    request = heartbeat(1)
    pair.send(request)
    entity = make(messages.message_class("HeartbeatResponse", 4), {"error_code": 27})
    response = response_frame("Heartbeat", 4, entity, 1)
    pair.session.broker_data(response)
    (flow,) = pair.session.state.take_flows()
    assert (flow.requests, flow.led) == (1, 1)
    assert (flow.bytes_in, flow.bytes_out) == (len(request), len(response))
    assert flow.errors == {27: 1}
    assert sum(flow.gateway_us) == sum(flow.broker_us) == 1
    assert not pair.session.state.take_flows()


def test_a_denial_is_counted_and_kept() -> None:
    pair = Pair()
    pair.send(metadata(1, "nowhere:x"))
    (denial,) = pair.worker.denials
    assert (denial.resource, denial.code, denial.rule) == ("nowhere:x", 3, "namespace")


def test_saturated_until_responses_come() -> None:
    pair = Pair()
    for correlation_id in range(MAX_IN_FLIGHT):
        assert not saturated(pair)
        pair.send(produced(correlation_id))
    assert saturated(pair)
    pair.session.broker_data(produce_response(0))
    assert not saturated(pair)


def test_a_request_that_waits_stops_those_behind_it() -> None:
    pair = Pair(topics=[OWN])
    session = pair.session
    session.client_data(metadata(2, None) + heartbeat(3))
    assert waiting(pair) is Refresh.CATALOG
    assert not quiet(pair)
    fourth = heartbeat(4)
    session.client_data(fourth[:7])
    session.client_data(fourth[7:])
    assert pair.to_broker() == b""
    session.resume()
    assert waiting(pair) is None
    sent = frames(pair.let_answer())
    assert [int.from_bytes(payload[4:8], "big") for payload in sent] == [2, 3, 4]


def test_each_request_waits_for_itself() -> None:
    pair = Pair(topics=[OWN])
    session = pair.session
    session.client_data(metadata(1, None) + metadata(2, None))
    session.resume()
    assert waiting(pair) is None
    assert len(frames(pair.to_broker())) == 1
    answer = messages.build(messages.message_class("MetadataResponse", 12))
    session.broker_data(response_frame("Metadata", 12, answer, 1))
    assert waiting(pair) is Refresh.CATALOG
    session.resume()
    assert waiting(pair) is None
    assert len(frames(pair.to_broker())) == 1


def test_a_name_of_an_unknown_namespace_is_looked_up_once_more() -> None:
    pair = Pair()
    pair.session.client_data(metadata(1, "nowhere:x"))
    assert waiting(pair) is Refresh.CATALOG
    pair.resume()
    assert waiting(pair) is None
    assert len(frames(pair.to_broker())) == 1


def test_a_topic_that_came_meanwhile_is_found_after_the_refresh() -> None:
    pair = Pair()
    session = pair.session
    asked = samples.request("Fetch", 13, "", topic_id(5))
    session.client_data(request_frame("Fetch", 13, asked))
    assert waiting(pair) is Refresh.TOPICS
    pair.facts.index.learn(OWN.encode(), topic_id(5).bytes)
    session.resume()
    assert topic_id(5).bytes in pair.to_broker()
