"""Share sessions (KIP-932) over several requests: what a broker has in a session is what its client
asked for and may read, and the client gets an error for all else it asked for."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.catalog.entities import TopicEntry
from gateway.error_codes import (
    INVALID_REQUEST,
    SHARE_SESSION_LIMIT_REACHED,
    SHARE_SESSION_NOT_FOUND,
    TOPIC_AUTHORIZATION_FAILED,
    UNKNOWN_TOPIC_ID,
)
from gateway.exchanges.share_session import SHARE_SESSIONS_PER_CONNECTION
from gateway.names import LogicalName
from protocol import messages
from protocol.errors import ProtocolError
from tests.scenarios.entities import entity
from tests.session.allowing import Allowing
from tests.session.pair import Pair, topic_id
from tests.session.producing import batch

GROUP = "READ GROUP app"
TOPICS = ("team-a..a", "team-a..b", "team-a..c", "team-b..x")
RIGHTS = tuple(f"READ TOPIC {name.replace('..', ':')}" for name in TOPICS)
ACCEPT = {"first_offset": 0, "last_offset": 3, "acknowledge_types": [1]}
VERSION = 2
RECORDS = batch(1)

Partitions = Mapping[int, Iterable[int]]
"""Topic number -> partitions."""


def listed(partitions: Partitions, acks: bool = False) -> list[dict[str, Any]]:
    batches = [ACCEPT] if acks else []
    return [
        {
            "topic_id": number,
            "partitions": [
                {"partition_index": index, "acknowledgement_batches": batches} for index in indexes
            ],
        }
        for number, indexes in partitions.items()
    ]


class Member:
    """A client's share session, and the broker's, which does what requests say."""

    def __init__(self, *rights: str, **settings: Any) -> None:
        authorizer = Allowing([GROUP, *rights]) if rights else None
        self.pair = Pair(topics=TOPICS, authorizer=authorizer, **settings)
        self.epoch = 0
        self.at_broker: set[tuple[int, int]] = set()

    def may(self, *rights: str) -> None:
        """The member's rights from now on."""
        self.pair.authorizer = Allowing([GROUP, *rights])
        self.pair.catalog_changed()

    def asks(
        self,
        adds: Partitions | None = None,
        forgets: Partitions | None = None,
        *,
        acks: bool = False,
        epoch: int | None = None,
        member: str = "m1",
        version: int = VERSION,
    ) -> Any:
        """Send a ShareFetch; the request that the broker gets."""
        epoch = self.epoch if epoch is None else epoch
        values = {
            "group_id": "app",
            "member_id": member,
            "share_session_epoch": epoch,
            "topics": listed(adds or {}, acks),
            "forgotten_topics_data": [
                {"topic_id": number, "partitions": list(indexes)}
                for number, indexes in (forgets or {}).items()
            ],
        }
        request = entity(messages.message_class("ShareFetchRequest", version), values)
        sent = self.pair.ask("ShareFetch", version, request)
        if sent is None:
            return None
        if epoch == 0:
            self.at_broker = set()
        for topic in sent.topics:
            for partition in topic.partitions:
                self.at_broker.add((topic.topic_id.int, partition.partition_index))
        for topic in sent.forgotten_topics_data:
            self.at_broker -= {(topic.topic_id.int, index) for index in topic.partitions}
        self.epoch = epoch + 1
        return sent

    def gets(self, *answered: int, code: int = 0, version: int = VERSION) -> Any:
        """Let the broker answer with records of partition 0 of topics (by number)."""
        partition = {
            "partition_index": 0,
            "records": RECORDS,
            "acquired_records": [{"first_offset": 0, "last_offset": 3, "delivery_count": 1}],
        }
        values: dict[str, Any] = {
            "error_code": code,
            "responses": [{"topic_id": number, "partitions": [partition]} for number in answered],
        }
        response = entity(messages.message_class("ShareFetchResponse", version), values)
        return self.pair.reply("ShareFetch", version, response)


def errors(response: Any) -> dict[tuple[int, int], int]:
    """(topic, partition) -> error code, for the partitions with an error."""
    return {
        (topic.topic_id.int, each.partition_index): int(each.error_code)
        for topic in response.responses
        for each in topic.partitions
        if each.error_code
    }


def acknowledge(member: Member, partitions: Partitions, epoch: int) -> Any:
    values = {"group_id": "app", "member_id": "m1", "share_session_epoch": epoch}
    values["topics"] = listed(partitions, acks=True)
    request = entity(messages.message_class("ShareAcknowledgeRequest", VERSION), values)
    return member.pair.ask("ShareAcknowledge", VERSION, request)


@pytest.mark.parametrize("version", [1, 2])
def test_a_request_that_names_nothing_goes_on_as_it_is(version: int) -> None:
    member = Member()
    member.asks({1: [0], 2: [0, 1]}, version=version)
    member.gets(1, version=version)
    sent = member.asks(version=version)
    assert (sent.topics, sent.forgotten_topics_data) == ((), ())
    assert sent.share_session_epoch == 1
    assert member.gets(1, 2, version=version).responses[1].topic_id == topic_id(2)
    assert member.at_broker == {(1, 0), (2, 0), (2, 1)}


def test_a_topic_without_a_right_has_an_error_until_it_may_be_read() -> None:
    member = Member(RIGHTS[0])
    member.asks({1: [0], 2: [0, 3]})
    assert member.at_broker == {(1, 0)}
    denied = dict.fromkeys([(2, 0), (2, 3)], TOPIC_AUTHORIZATION_FAILED)
    assert errors(member.gets(1)) == denied
    member.asks()
    assert errors(member.gets(1)) == denied
    member.may(*RIGHTS[:2])
    member.asks()
    assert member.at_broker == {(1, 0), (2, 0), (2, 3)}
    assert errors(member.gets(2)) == {}


def test_a_right_that_was_revoked_takes_the_topic_out_of_the_session() -> None:
    member = Member(*RIGHTS[:2])
    member.asks({1: [0], 2: [0]})
    member.gets()
    member.may(RIGHTS[0])
    sent = member.asks()
    assert [topic.topic_id for topic in sent.forgotten_topics_data] == [topic_id(2)]
    assert member.at_broker == {(1, 0)}
    assert errors(member.gets(1)) == {(2, 0): TOPIC_AUTHORIZATION_FAILED}


def test_a_right_that_is_revoked_while_the_broker_waits_takes_the_records() -> None:
    member = Member(*RIGHTS[:2])
    member.asks({1: [0], 2: [0]})
    member.may(RIGHTS[0])
    assert not member.pair.reset
    response = member.gets(1, 2)
    by_id = {topic.topic_id.int: topic.partitions[0] for topic in response.responses}
    assert by_id[1].records == RECORDS
    assert int(by_id[2].error_code) == TOPIC_AUTHORIZATION_FAILED
    assert not by_id[2].records
    assert by_id[2].acquired_records == ()
    member.asks()
    assert member.at_broker == {(1, 0)}


def test_a_request_in_flight_ends_with_the_right_that_it_uses() -> None:
    """A broker may not have begun with it: what it acknowledges, and for which group."""
    for right, acks, ends in [
        (GROUP, False, True),
        (RIGHTS[0], True, True),
        (RIGHTS[1], True, False),
    ]:
        member = Member(*RIGHTS[:2])
        member.asks({1: [0], 2: [0]})
        member.gets()
        member.asks({1: [0]}, acks=acks)
        left = {GROUP, *RIGHTS[:2]} - {right}
        member.pair.authorizer = Allowing(left)
        member.pair.catalog_changed()
        assert member.pair.reset is ends, right


def test_an_acknowledgement_of_what_may_not_be_read_fails() -> None:
    """Java's consumer looks at the acknowledgement's own error alone."""
    member = Member(*RIGHTS[:2])
    member.asks({1: [0], 2: [0]})
    member.gets()
    member.may(RIGHTS[0])
    sent = member.asks({1: [0], 2: [0]}, acks=True)
    assert [topic.topic_id for topic in sent.topics] == [topic_id(1)]
    response = member.gets(1)
    codes = {
        topic.topic_id.int: int(each.acknowledge_error_code)
        for topic in response.responses
        for each in topic.partitions
    }
    assert codes == {1: 0, 2: TOPIC_AUTHORIZATION_FAILED}


def test_foreign_topics_are_as_unknown() -> None:
    member = Member(home="team-a")
    member.asks({1: [0], 4: [0], 77: [2]})
    assert member.at_broker == {(1, 0)}
    assert errors(member.gets(1)) == {(4, 0): UNKNOWN_TOPIC_ID, (77, 2): UNKNOWN_TOPIC_ID}
    sent = member.asks({}, {4: [0], 1: [0]})
    assert [topic.topic_id for topic in sent.forgotten_topics_data] == [topic_id(1)]
    assert errors(member.gets()) == {(77, 2): UNKNOWN_TOPIC_ID}


def test_a_moved_topic_has_an_id_of_its_own() -> None:
    moved = TopicEntry("team-a..a", LogicalName("team-a", "new"), topic_id=topic_id(99).bytes)
    member = Member(entries=[moved])
    member.asks({1: [0], 99: [0]})
    assert member.at_broker == {(1, 0)}, "the broker's id"
    response = member.gets(1)
    assert errors(response) == {(1, 0): UNKNOWN_TOPIC_ID}
    assert response.responses[0].topic_id == topic_id(99)
    member.asks({}, {99: [0]})
    assert member.at_broker == set()


def test_the_last_request_ends_the_session() -> None:
    member = Member(RIGHTS[0])
    member.asks({1: [0], 2: [0]})
    member.gets()
    sent = member.asks({1: [0], 2: [0]}, acks=True, epoch=-1)
    assert [topic.topic_id for topic in sent.topics] == [topic_id(1)]
    assert errors(member.gets()) == {(2, 0): TOPIC_AUTHORIZATION_FAILED}
    assert member.asks(epoch=5) is None
    answer = member.pair.answer("ShareFetch", VERSION)
    assert answer.error_code == SHARE_SESSION_NOT_FOUND


def test_an_error_of_the_broker_ends_the_session() -> None:
    member = Member()
    member.asks({1: [0]})
    member.gets()
    member.asks()
    assert member.gets(code=123).error_code == 123
    assert member.asks() is None
    assert member.pair.answer("ShareFetch", VERSION).error_code == SHARE_SESSION_NOT_FOUND
    member.asks({1: [0]}, epoch=0)
    assert member.at_broker == {(1, 0)}


def test_sessions_are_told_apart_by_member_and_the_oldest_is_lost() -> None:
    member = Member()
    for number in range(SHARE_SESSIONS_PER_CONNECTION + 1):
        member.asks({1: [0]}, epoch=0, member=f"m{number}")
        member.gets()
    assert member.asks(epoch=1, member="m0") is None
    assert member.pair.answer("ShareFetch", VERSION).error_code == SHARE_SESSION_NOT_FOUND
    assert member.asks(epoch=1, member="m1") is not None


def test_a_session_of_too_many_partitions() -> None:
    member = Member()
    assert member.asks({1: range(10_001)}) is None
    assert member.pair.answer("ShareFetch", VERSION).error_code == SHARE_SESSION_LIMIT_REACHED


def test_a_topic_that_was_not_requested_ends_the_connection() -> None:
    member = Member()
    member.asks({1: [0]})
    with pytest.raises(ProtocolError):
        member.gets(2)


def test_acknowledgements_of_a_session() -> None:
    member = Member(RIGHTS[0])
    member.asks({1: [0]})
    member.gets(1)
    sent = acknowledge(member, {2: [0], 1: [0]}, epoch=1)
    assert [topic.topic_id for topic in sent.topics] == [topic_id(1)]
    values = {"responses": [{"topic_id": 1, "partitions": [{"partition_index": 0}]}]}
    response = entity(messages.message_class("ShareAcknowledgeResponse", VERSION), values)
    got = member.pair.reply("ShareAcknowledge", VERSION, response)
    assert errors(got) == {(2, 0): TOPIC_AUTHORIZATION_FAILED}
    assert acknowledge(member, {1: [0]}, epoch=-1) is not None
    member.pair.reply("ShareAcknowledge", VERSION, response)
    assert acknowledge(member, {1: [0]}, epoch=3) is None
    code = member.pair.answer("ShareAcknowledge", VERSION).error_code
    assert code == SHARE_SESSION_NOT_FOUND


def test_an_unknown_code_is_an_error_like_others() -> None:
    """A code that no Kafka of today has, of a partition, of an acknowledgement and of the whole."""
    member = Member(RIGHTS[0])
    member.asks({1: [0], 2: [0]})
    member.gets(1)
    acknowledge(member, {1: [0], 2: [0]}, epoch=1)
    partition = {"partition_index": 0, "error_code": 12345}
    values: dict[str, Any] = {"responses": [{"topic_id": 1, "partitions": [partition]}]}
    response = entity(messages.message_class("ShareAcknowledgeResponse", VERSION), values)
    got = member.pair.reply("ShareAcknowledge", VERSION, response)
    assert errors(got) == {(1, 0): 12345, (2, 0): TOPIC_AUTHORIZATION_FAILED}
    acknowledge(member, {1: [0], 2: [0]}, epoch=2)
    response = entity(type(response), {"error_code": 12345})
    got = member.pair.reply("ShareAcknowledge", VERSION, response)
    assert (int(got.error_code), got.responses) == (12345, ())


def test_one_topic_under_two_ids() -> None:
    """A link has an id of its own, under which a client may know the same topic."""
    linked = TopicEntry("team-a..a", LogicalName("team-a", "a"), topic_id=topic_id(98).bytes)
    member = Member(entries=[linked])
    member.asks({98: [0]})
    member.gets(1)
    member.asks({98: [1]})
    assert errors(member.gets(1)) == {}
    assert member.at_broker == {(1, 0), (1, 1)}
    assert INVALID_REQUEST not in errors(member.gets() if member.asks() else None).values()


_numbers = st.sampled_from([1, 2, 3, 4, 77])
_partitions = st.dictionaries(_numbers, st.sets(st.integers(0, 2), min_size=1), max_size=3)
_rights = st.sets(st.sampled_from(RIGHTS))
_steps = st.lists(
    st.tuples(_partitions, _partitions, st.booleans(), st.none() | _rights), max_size=5
)


@given(_rights, _partitions, _steps)
def test_the_broker_has_what_was_asked_for_and_may_be_read(
    rights: set[str],
    first: dict[int, set[int]],
    steps: list[tuple[dict[int, set[int]], dict[int, set[int]], bool, set[str] | None]],
) -> None:
    """After each request, whatever it adds or forgets and whatever right has changed before it, or
    before its response."""
    member = Member(*rights, "READ TOPIC none")
    asked: set[tuple[int, int]] = set()
    for adds, forgets, early, changed in [(first, {}, False, None), *steps]:
        if changed is not None and early:
            rights = changed
            member.may(*rights)
        assert member.asks(adds, forgets) is not None
        asked |= {(number, index) for number, indexes in adds.items() for index in indexes}
        asked -= {(number, index) for number, indexes in forgets.items() for index in indexes}
        allowed = {number for number in range(1, 5) if RIGHTS[number - 1] in rights}
        assert member.at_broker == {each for each in asked if each[0] in allowed}
        answered = sorted({number for number, index in member.at_broker if index == 0})
        if changed is not None and not early:
            rights = changed
            member.may(*rights)
        still = {number for number in range(1, 5) if RIGHTS[number - 1] in rights}
        response = member.gets(*answered)
        refused = {each for each in asked if each[0] not in allowed}
        late = {(number, 0) for number in answered if number not in still}
        assert set(errors(response)) == refused | late
        for topic in response.responses:
            for each in topic.partitions:
                assert bool(each.records) is (not each.error_code)
