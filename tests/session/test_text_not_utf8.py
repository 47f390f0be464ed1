"""If text in a request is not UTF-8, the gateway reads it as a broker does (``protocol.text``): the
request is decided, forwarded and answered like a request with the text that was read."""

from __future__ import annotations

import pytest

from gateway.apis.table import APIS, plan_of
from protocol import messages
from protocol.errors import ProtocolError
from protocol.schema import api_key_of
from tests.session.pair import Pair, frames, raw_frame, topic_id
from tests.session.samples import request
from tests.session.test_long_strings import places, put

MARK = "qzx~~"
BAD = b"qzx\xe2\x82"
READ = "qzx\ufffd"
"""How a broker reads it: tests/live/fuzz/test_text_not_utf8.py compares that with a real broker."""

CASES = [
    (api.name, version, path)
    for api in APIS.values()
    for version in api.versions
    for path in places(request(api.name, version, "team-a:t", topic_id(1)))
]


def bodies(api: str, version: int, path: tuple[str, ...]) -> tuple[bytes, bytes]:
    """A request with text that is not UTF-8 at ``path``, and a request with the text as it is
    read."""
    sample = request(api, version, "team-a:t", topic_id(1))
    marked = messages.write(put(sample, path, MARK))
    assert marked.count(MARK.encode()) == 1
    return marked.replace(MARK.encode(), BAD), messages.write(put(sample, path, READ))


def outcome(home: str, api: str, version: int, body: bytes) -> tuple[bytes, bytes, str]:
    pair = Pair(home=home, topics=["team-a..t"])
    try:
        pair.send(raw_frame(api_key_of(f"{api}Request"), version, body))
    except ProtocolError as error:
        return b"", b"", str(error)
    return pair.to_broker(), pair.to_client(), repr(type(pair.session.waiting))


@pytest.mark.parametrize("home", ["", "team-a"])
@pytest.mark.parametrize("api", [api.name for api in APIS.values()])
def test_a_request_is_decided_as_a_broker_reads_it(api: str, home: str) -> None:
    for name, version, path in CASES:
        if name != api:
            continue
        bad, read = bodies(api, version, path)
        assert outcome(home, api, version, bad) == outcome(home, api, version, read), (
            version,
            path,
        )


def test_so_is_a_long_one() -> None:
    groups = ["g" * 100] * 200
    good = messages.made("DescribeGroupsRequest", 5, {"groups": [*groups, READ]})
    bad = messages.made("DescribeGroupsRequest", 5, {"groups": [*groups, MARK]})
    plan = plan_of(api_key_of("DescribeGroupsRequest"), 5)
    assert plan is not None
    assert len(bad) > plan.small_request
    bad = bad.replace(MARK.encode(), BAD)
    forwarded = outcome("team-a", "DescribeGroups", 5, bad)
    assert forwarded == outcome("team-a", "DescribeGroups", 5, good)
    assert forwarded[0].count(b"team-a..") == len(groups) + 1


def test_what_follows_is_read_on() -> None:
    """The text that is read may have another length; the bytes that the client sent behind it
    stay."""
    bad = messages.made("HeartbeatRequest", 4, {"group_id": MARK}).replace(MARK.encode(), BAD)
    behind = messages.made("HeartbeatRequest", 4, {"group_id": "behind"})
    key = api_key_of("HeartbeatRequest")
    pair = Pair()
    pair.send(raw_frame(key, 4, bad, 1) + raw_frame(key, 4, behind, 2))
    sent = pair.to_broker() + pair.let_answer()
    first, second = frames(sent)
    assert first.endswith(messages.made("HeartbeatRequest", 4, {"group_id": READ}))
    assert second.endswith(behind)


def test_a_produce_request_that_streams_is_collected() -> None:
    topic = {"name": MARK, "partition_data": [{"index": 0, "records": b"r" * 100_000}]}
    body = messages.made("ProduceRequest", 9, {"acks": 1, "topic_data": [topic]})
    frame = raw_frame(0, 9, body.replace(MARK.encode(), BAD))
    pair = Pair()
    pair.send(frame[:70_000])
    assert (pair.to_broker(), pair.to_client()) == (b"", b"")
    pair.send(frame[70_000:])
    (answer,) = frames(pair.to_client())
    response = messages.parse("ProduceResponse", 9, answer[5:])
    assert response.responses[0].name == READ
    assert response.responses[0].partition_responses[0].error_code == 3
    assert pair.to_broker() == b""


def test_a_text_that_no_message_could_carry_ends_the_connection() -> None:
    """U+FFFD takes three bytes, of 32,767; a broker could not respond to it either."""
    body = messages.made("HeartbeatRequest", 3, {"group_id": "~" * 20_000})
    with pytest.raises(ProtocolError, match="too long to be read"):
        Pair().send(raw_frame(12, 3, body.replace(b"~", b"\x80")))
