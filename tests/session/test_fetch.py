"""Fetch over several requests: a session belongs to the connection that got it (KIP-227)."""

from __future__ import annotations

from typing import Any

import pytest

from gateway.apis.records.fetch import COLLECT_LIMIT
from gateway.exchanges.state import SESSIONS_PER_CONNECTION
from protocol.errors import ProtocolError
from tests.session import fetching
from tests.session.pair import Pair, response_frame

OWN = "team-a..orders"
SESSION_NOT_FOUND = 70
V = 12
"""The last version with topic names."""

BIG = 50 * 1024 * 1024


def ask(pair: Pair, version: int, topics: Any, **values: Any) -> Any:
    return pair.ask("Fetch", version, fetching.request(version, topics, **values))


def reply(pair: Pair, version: int, topics: Any, **values: Any) -> Any:
    return pair.reply("Fetch", version, fetching.response(version, topics, **values))


def names(answer: Any) -> list[str]:
    return [topic.topic for topic in answer.responses]


def open_session(pair: Pair, version: int = V, session_id: int = 5, topic: Any = None) -> None:
    """A full fetch of one topic, for which the broker opens a session."""
    by_id = version > V
    asked = topic or (1 if by_id else "team-a:orders")
    sent = ask(pair, version, {asked: [0]}, session_epoch=0)
    assert (sent.session_id, sent.session_epoch) == (0, 0)
    answered = 1 if by_id else OWN
    got = reply(pair, version, {answered: [b"records"]}, session_id=session_id)
    assert got.session_id == session_id


@pytest.mark.parametrize("version", [7, 12, 13, 15])
def test_an_incremental_fetch_of_ones_own_session(version: int) -> None:
    pair = Pair(topics=[OWN])
    open_session(pair, version)
    sent = ask(pair, version, {}, session_id=5, session_epoch=1)
    assert (sent.session_id, sent.session_epoch, sent.topics) == (5, 1, ())
    key: Any = 1 if version > V else OWN
    got = reply(pair, version, {key: [b"more"]}, session_id=5)
    (topic,) = got.responses
    assert topic.partitions[0].records == b"more"
    if version <= V:
        assert topic.topic == "team-a:orders"


def test_an_incremental_answer_is_in_the_spelling_that_was_added() -> None:
    pair = Pair(topics=[OWN])
    open_session(pair, topic="team-a..orders")
    ask(pair, V, {"team-b:x": [0]}, session_id=5, session_epoch=1)
    got = reply(pair, V, {"team-b..x": [b"b"], OWN: [b"a"]}, session_id=5)
    assert names(got) == ["team-b:x", "team-a..orders"]


FOREIGN = 5
"""A session that the broker gave to another connection."""


def without_a_session(version: int) -> Pair:
    """A connection without a session, beside a connection that has FOREIGN."""
    pair = Pair(topics=[OWN])
    open_session(pair, version, FOREIGN)
    pair.session = pair.another_session(pair.session.state.addresses)
    return pair


@pytest.mark.parametrize("version", [7, 12, 13, 15])
@pytest.mark.parametrize("epoch", [1, 7, 2**31 - 1, -2])
def test_an_incremental_fetch_of_a_session_not_given_here_is_answered(
    version: int, epoch: int
) -> None:
    pair = without_a_session(version)
    assert ask(pair, version, {}, session_id=FOREIGN, session_epoch=epoch) is None
    answer = pair.answer("Fetch", version)
    assert (answer.error_code, answer.session_id) == (SESSION_NOT_FOUND, 0)
    assert answer.responses == ()
    (flow,) = pair.session.state.take_flows()
    assert flow.errors == {SESSION_NOT_FOUND: 1}


@pytest.mark.parametrize("version", [7, 12, 13, 15])
@pytest.mark.parametrize("epoch", [0, -1])
@pytest.mark.parametrize("session_id", [FOREIGN, 1 << 30, -5])
def test_a_full_fetch_goes_on_without_a_session_not_given_here(
    version: int, epoch: int, session_id: int
) -> None:
    """KIP-227: it only ends the session that it names, and a broker that does not know the session
    serves the fetch."""
    pair = without_a_session(version)
    asked: Any = 1 if version > V else "team-a:orders"
    sent = ask(pair, version, {asked: [0]}, session_id=session_id, session_epoch=epoch)
    assert (sent.session_id, sent.session_epoch) == (0, epoch)
    given = 6 if epoch == 0 else 0
    key: Any = 1 if version > V else OWN
    got = reply(pair, version, {key: [b"records"]}, session_id=given)
    assert (got.error_code, got.session_id) == (0, given)
    assert got.responses[0].partitions[0].records == b"records"
    later = ask(pair, version, {}, session_id=6, session_epoch=1)
    assert (later is not None) == (epoch == 0)


@pytest.mark.parametrize("epoch", [0, -1])
def test_a_full_fetch_with_a_foreign_session_and_names_of_several_lengths(epoch: int) -> None:
    pair = without_a_session(V)
    topics = {"team-a:orders": [0], "plain": [0]}
    sent = ask(pair, V, topics, session_id=FOREIGN, session_epoch=epoch, max_bytes=BIG)
    assert (sent.session_id, sent.session_epoch, sent.max_bytes) == (0, epoch, COLLECT_LIMIT)


def test_a_full_fetch_with_a_foreign_session_and_a_denied_topic() -> None:
    pair = without_a_session(V)
    topics = {"team-a:orders": [0], "nowhere:x": [0]}
    sent = ask(pair, V, topics, session_id=FOREIGN, session_epoch=0)
    assert (sent.session_id, sent.session_epoch) == (0, -1)


@pytest.mark.parametrize("session_id", [0, FOREIGN])
def test_a_wrong_epoch_with_a_denied_topic_is_no_full_fetch(session_id: int) -> None:
    pair = without_a_session(V)
    for epoch in (3, -2):
        topics = {"nowhere:x": [0]}
        assert ask(pair, V, topics, session_id=session_id, session_epoch=epoch) is None
        assert pair.answer("Fetch", V).error_code == SESSION_NOT_FOUND


def test_a_session_that_was_rejected_is_not_ones_own() -> None:
    pair = Pair(topics=[OWN])
    ask(pair, V, {"team-a:orders": [0]}, session_epoch=0)
    reply(pair, V, {}, session_id=0)
    assert ask(pair, V, {}, session_id=0, session_epoch=1) is not None
    reply(pair, V, {}, error_code=71)
    assert pair.session.state.fetch_sessions is None


def test_an_incremental_fetch_with_a_denied_topic_ends_the_session() -> None:
    pair = Pair(topics=[OWN])
    open_session(pair)
    assert ask(pair, V, {"nowhere:x": [0]}, session_id=5, session_epoch=1) is None
    assert pair.answer("Fetch", V).error_code == SESSION_NOT_FOUND
    assert ask(pair, V, {}, session_id=5, session_epoch=2) is None
    assert pair.answer("Fetch", V).error_code == SESSION_NOT_FOUND
    open_session(pair, session_id=6)


def test_a_second_spelling_in_a_session_ends_it() -> None:
    pair = Pair(topics=[OWN])
    open_session(pair)
    assert ask(pair, V, {"team-a..orders": [1]}, session_id=5, session_epoch=1) is None
    assert pair.answer("Fetch", V).error_code == SESSION_NOT_FOUND


def test_a_full_fetch_with_a_denied_topic_has_no_session() -> None:
    pair = Pair(topics=[OWN])
    sent = ask(pair, V, {"team-a:orders": [0], "nowhere:x": [0, 1]}, session_epoch=0)
    assert (sent.session_id, sent.session_epoch) == (0, -1)
    got = reply(pair, V, {OWN: [b"records"]})
    assert got.session_id == 0
    assert names(got) == ["nowhere:x", "team-a:orders"]
    assert [p.error_code for p in got.responses[0].partitions] == [3, 3]
    assert got.responses[1].partitions[0].records == b"records"


def test_an_empty_name_is_unknown_as_on_a_broker() -> None:
    pair = Pair(topics=[OWN])
    assert ask(pair, V, {"": [0]}) is None
    (topic,) = pair.answer("Fetch", V).responses
    assert (topic.topic, [p.error_code for p in topic.partitions]) == ("", [3])
    sent = ask(pair, V, {"": [0], "team-a:orders": [0], "nowhere:x": [0]})
    assert [topic.topic for topic in sent.topics] == [OWN]
    assert sorted(names(reply(pair, V, {OWN: [b""]}))) == ["", "nowhere:x", "team-a:orders"]


def test_a_full_fetch_with_denied_and_mixed_names() -> None:
    pair = Pair()
    topics = {"nowhere:x": [0], "team-a:orders": [0], "org:apache:kafka:x": [0], "plain": [0]}
    sent = ask(pair, V, topics, session_epoch=0, max_bytes=BIG)
    assert sent.max_bytes == COLLECT_LIMIT
    answered = {"plain": [b"p"], OWN: [b"a"], "org.apache.kafka..x": [b"o"]}
    got = reply(pair, V, answered)
    assert sorted(names(got)) == sorted(topics)
    records = {topic.topic: topic.partitions[0].records for topic in got.responses}
    assert records["team-a:orders"] == b"a"
    assert records["plain"] == b"p"


@pytest.mark.parametrize(
    ("version", "topics", "clamped"),
    [
        (12, ["team-a:orders", "team-b:x"], False),
        (12, ["team-a:orders", "plain"], True),
        (13, [1, 2], False),
    ],
)
def test_what_has_to_be_collected_is_asked_for_in_pieces(
    version: int, topics: list[Any], clamped: bool
) -> None:
    pair = Pair(topics=[OWN, "plain"])
    sent = ask(pair, version, {topic: [0] for topic in topics}, max_bytes=BIG)
    assert sent.max_bytes == (COLLECT_LIMIT if clamped else BIG)


def test_less_than_the_limit_stays() -> None:
    pair = Pair()
    assert ask(pair, V, {"team-a:orders": [0], "plain": [0]}, max_bytes=1000).max_bytes == 1000


def test_forgotten_topics_are_renamed() -> None:
    pair = Pair(topics=[OWN])
    open_session(pair)
    sent = ask(pair, V, {}, forgotten={"team-a:orders": [0]}, session_id=5, session_epoch=1)
    assert [(t.topic, t.partitions) for t in sent.forgotten_topics_data] == [(OWN, (0,))]


def test_forgotten_topic_ids_pass() -> None:
    pair = Pair(topics=[OWN])
    open_session(pair, 13)
    sent = ask(pair, 13, {}, forgotten={1: [0]}, session_id=5, session_epoch=1)
    assert sent.forgotten_topics_data[0].partitions == (0,)


@pytest.mark.parametrize("epoch", [0, -1])
def test_a_session_that_the_client_ends_is_gone(epoch: int) -> None:
    """A full fetch ends the session that it names, so the broker has to get it."""
    pair = Pair(topics=[OWN])
    open_session(pair)
    sent = ask(pair, V, {"team-a:orders": [0]}, session_id=5, session_epoch=epoch)
    assert (sent.session_id, sent.session_epoch) == (5, epoch)
    reply(pair, V, {OWN: [b""]}, session_id=6 if epoch == 0 else 0)
    assert ask(pair, V, {}, session_id=5, session_epoch=1) is None
    assert pair.answer("Fetch", V).error_code == SESSION_NOT_FOUND
    assert (ask(pair, V, {}, session_id=6, session_epoch=1) is not None) == (epoch == 0)


def test_the_oldest_of_too_many_sessions_is_lost() -> None:
    pair = Pair(topics=[OWN])
    for session_id in range(1, SESSIONS_PER_CONNECTION + 2):
        open_session(pair, session_id=session_id)
    assert ask(pair, V, {}, session_id=1, session_epoch=1) is None
    pair.to_client()
    assert ask(pair, V, {}, session_id=2, session_epoch=1) is not None


@pytest.mark.parametrize("cut", [None, 60])
def test_a_topic_that_was_not_asked_for_ends_the_connection(cut: int | None) -> None:
    pair = Pair()
    ask(pair, V, {"team-a:orders": [0]})
    frame = response_frame("Fetch", V, fetching.response(V, {"team-b..secret": [b"records"]}))
    with pytest.raises(ProtocolError, match="not requested"):
        for piece in (frame[:cut], frame[cut:]) if cut else (frame,):
            pair.session.broker_data(piece)
    assert b"secret" not in pair.to_client()


@pytest.mark.parametrize("version", [12, 13])
def test_partitions_bytes_and_errors_are_counted(version: int) -> None:
    pair = Pair(topics=[OWN, "team-b..x"])
    first, second = ("team-a:orders", "team-b:x") if version == 12 else (1, 2)
    ask(pair, version, {first: [0, 1], second: [0]})
    answered: tuple[Any, Any] = (OWN, "team-b..x") if version == 12 else (1, 2)
    topics = {answered[0]: [b"a", b"bc"], answered[1]: [b"records"]}
    entity = fetching.response(version, topics, error_code=0)
    frame = response_frame("Fetch", version, entity)
    pair.session.broker_data(frame)
    counted = {flow.flat: flow for flow in pair.session.state.take_flows()}
    lead, other = counted[OWN], counted["team-b..x"]
    assert (lead.led, lead.requests, lead.partitions) == (1, 1, 2)
    assert lead.bytes_out + other.bytes_out == len(pair.to_client())
    assert (other.led, other.requests, other.partitions) == (0, 1, 1)
    assert other.bytes_out == len(b"records")
