"""Requests that a connection sends at once are decided in turns: other connections have turns every
few ms."""

from __future__ import annotations

import pytest

from gateway.exchanges.exchange import Turn
from gateway.slices import Slices
from protocol import messages
from protocol.messages import element_class, make
from protocol.schema import api_key_of
from tests.session.allowing import Allowing
from tests.session.long_requests import TimedPair, best, longest_request
from tests.session.pair import Pair, frames, raw_frame, request_frame, response_frame
from tests.session.test_decided_late import on

LONGEST_SECONDS = 0.05


pytestmark = pytest.mark.usefixtures("quietly")


def denied(number: int) -> bytes:
    """A small request that the gateway answers itself."""
    keys = tuple(f"x:{number}-{key}" for key in range(10))
    find = messages.message_class("FindCoordinatorRequest", 4)
    entity = messages.build(find, coordinator_keys=keys)
    return request_frame("FindCoordinator", 4, entity, number)


def test_after_its_time_others_have_their_turn() -> None:
    pair = Pair(authorizer=Allowing([]))
    pair.worker.turn_seconds = 0.0
    pair.session.client_data(b"".join(map(denied, range(3))))
    for left in (True, True, False):
        assert isinstance(pair.session.waiting, Turn) is left
        assert len(frames(pair.to_client())) == 1
        if left:
            pair.session.resume()


def test_what_comes_meanwhile_waits() -> None:
    pair = Pair(authorizer=Allowing([]))
    pair.worker.turn_seconds = 0.0
    pair.session.client_data(denied(1) + denied(2))
    pair.session.client_data(denied(3)[:9])
    pair.session.client_data(denied(3)[9:])
    assert len(frames(pair.to_client())) == 1
    while pair.session.waiting is not None:
        pair.session.resume()
    assert [int.from_bytes(one[:4], "big") for one in frames(pair.to_client())] == [2, 3]


def test_a_drain_begins_nothing_more() -> None:
    pair = Pair(authorizer=Allowing([]))
    pair.worker.turn_seconds = 0.0
    pair.session.client_data(denied(1) + denied(2))
    pair.session.finish()
    pair.session.resume()
    assert len(frames(pair.to_client())) == 1
    assert pair.session.quiet


@pytest.mark.alone
def test_many_small_requests_in_one_read() -> None:
    some = b"".join(map(denied, range(100_000 // len(denied(0)))))

    def sent() -> TimedPair:
        pair = TimedPair(authorizer=Allowing([]))
        pair.send(some)
        assert len(frames(pair.to_client())) > 400
        return pair

    pair = best(sent, LONGEST_SECONDS)
    assert pair.longest < LONGEST_SECONDS
    assert pair.callbacks > 2


@pytest.mark.alone
@pytest.mark.parametrize("version", [3, 9])
def test_one_produce_of_many_names(version: int) -> None:
    """The request has 65 KB, so it was decided in a single slice."""
    asked = messages.message_class("ProduceRequest", version)
    bare = make(element_class(asked, "topic_data"), {"name": ":"})
    frame = request_frame(
        "Produce", version, messages.build(asked, acks=1, topic_data=(bare,) * 9_000)
    )
    assert len(frame) < 64 * 1024 + 4

    def sent() -> TimedPair:
        pair = TimedPair()
        pair.send(frame)
        return pair

    pair = best(sent, LONGEST_SECONDS)
    assert pair.longest < LONGEST_SECONDS
    assert pair.callbacks > 1


@pytest.mark.alone
def test_one_produce_of_many_records_whose_text_is_not_utf8() -> None:
    """Its records are copied once, into the request as a broker reads it."""
    asked = messages.message_class("ProduceRequest", 9)
    partitions = [{"index": number, "records": b"r" * (20 << 20)} for number in range(2)]
    topic = make(element_class(asked, "topic_data"), {"name": "t", "partition_data": partitions})
    entity = messages.build(asked, transactional_id="t~", acks=1, topic_data=(topic,))
    frame = request_frame("Produce", 9, entity).replace(b"t~", b"t\x80", 1)

    def sent() -> TimedPair:
        pair = TimedPair(topics=["t"])
        pair.send(frame)
        assert len(pair.to_broker()) > 40 << 20
        return pair

    pair = best(sent, LONGEST_SECONDS)
    assert pair.longest < LONGEST_SECONDS


@pytest.mark.alone
@pytest.mark.parametrize(
    ("api", "version", "way", "items"),
    [("Produce", 9, "topic_data", 10_000), ("Fetch", 12, "topics", 10_000)],
)
def test_one_request_of_many_names_of_a_client_that_is_sent_on(
    api: str, version: int, way: str, items: int
) -> None:
    frame = raw_frame(
        api_key_of(f"{api}Request"), version, longest_request(api, version, way, items)
    )

    def sent() -> TimedPair:
        pair = TimedPair(topics=["t"])
        pair.session.leave()
        pair.send(frame)
        assert len(frames(pair.to_client())) == 1
        return pair

    pair = best(sent, LONGEST_SECONDS)
    assert pair.longest < LONGEST_SECONDS


@pytest.mark.alone
@pytest.mark.parametrize("revoked", [False, True])
def test_a_right_is_revoked_while_a_client_reads_no_responses(*, revoked: bool) -> None:
    """As many Produce requests as the buffers of sockets hold, each with as many names as fit; the
    right is for the last name."""
    asked = messages.message_class("ProduceRequest", 9)
    names = [f"t{number}" for number in range(6_000)]

    topics = tuple(make(element_class(asked, "topic_data"), {"name": name}) for name in names)
    frame = request_frame("Produce", 9, messages.build(asked, acks=1, topic_data=topics))
    assert len(frame) < 64 * 1024

    def changed() -> TimedPair:
        pair = TimedPair(topics=names, authorizer=Allowing(on(*names)))
        for _ in range(50):
            pair.send(frame)
        pair.longest = 0.0
        pair.authorizer = Allowing(on(*names[:-1] if revoked else names))
        access = pair.access()
        pair.callback(lambda: pair.session.see(access))
        assert pair.session.doubted
        checking = Slices(pair.session.check_doubted)
        while not checking.done:
            pair.callback(checking.step)
        assert checking.result() is not revoked
        return pair

    pair = best(changed, LONGEST_SECONDS)
    assert pair.longest < LONGEST_SECONDS


@pytest.mark.alone
@pytest.mark.parametrize("in_flight", [False, True])
def test_a_change_of_the_catalog_while_a_client_has_a_long_fetch_session(
    *, in_flight: bool
) -> None:
    """MirrorMaker has such a session if it replicates all topics of a cluster."""
    asked = messages.message_class("FetchRequest", 12)
    names = [f"t{number}" for number in range(10_000)]
    topic = element_class(asked, "topics")
    partition = make(element_class(topic, "partitions"), {"partition": 0})
    topics = tuple(make(topic, {"topic": name, "partitions": (partition,)}) for name in names)
    fetch = messages.build(asked, session_epoch=0, topics=topics)
    answer = messages.build(messages.message_class("FetchResponse", 12), session_id=5)
    again = messages.build(asked, session_id=5, session_epoch=1)

    def changed() -> TimedPair:
        pair = TimedPair(topics=names)
        pair.send(request_frame("Fetch", 12, fetch))
        pair.answered(response_frame("Fetch", 12, answer))
        if in_flight:
            pair.send(request_frame("Fetch", 12, again))
        pair.longest = 0.0
        pair.view = pair.view.successor(pair.catalog.snapshot)
        access = pair.access()
        pair.callback(lambda: pair.session.see(access))
        if in_flight:
            checking = Slices(pair.session.check_doubted)
            while not checking.done:
                pair.callback(checking.step)
            assert checking.result()
        else:
            pair.send(request_frame("Fetch", 12, again))
        assert len(pair.session.under_way) == 1
        return pair

    pair = best(changed, LONGEST_SECONDS)
    assert pair.longest < LONGEST_SECONDS
