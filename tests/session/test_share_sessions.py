"""Share sessions (KIP-932) over several requests: what a broker has in a session is what its client
asked for and may read, and the client gets an error for all else it asked for."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.apis.share_records.share_sessions import MOST_DENIED
from gateway.catalog.entities import Link, Namespace, TopicEntry
from gateway.catalog.freezes import Frozen
from gateway.error_codes import (
    INVALID_REQUEST,
    SHARE_SESSION_LIMIT_REACHED,
    SHARE_SESSION_NOT_FOUND,
    TOPIC_AUTHORIZATION_FAILED,
    UNKNOWN_TOPIC_ID,
)
from gateway.exchanges.share_session import SHARE_SESSIONS_PER_CONNECTION
from gateway.names import LogicalName
from gateway.views.view import View
from protocol import messages
from protocol.errors import ProtocolError
from tests.scenarios.entities import entity
from tests.session.allowing import Allowing
from tests.session.pair import Pair, topic_id
from tests.session.producing import batch
from tests.session.test_trees import tree_pair

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


def moved(number: int) -> TopicEntry:
    """The entry of topic 1 after a move; clients know it by this id."""
    return TopicEntry("team-a..a", LogicalName("team-a", "a"), topic_id(number).bytes)


def test_a_move_gives_the_session_a_new_id_of_its_topic() -> None:
    """A broker adds what a request names before it forgets, and knows both by one id."""
    member = Member()
    member.asks({1: [0]})
    member.gets(1)
    member.pair.log.append([moved(99)])
    member.pair.catalog_changed()
    member.asks({99: [0]}, {1: [0]})
    assert member.at_broker == {(1, 0)}
    assert errors(member.gets(1)) == {}
    member.pair.log.append([moved(100)])
    member.pair.catalog_changed()
    member.asks({100: [0]})
    assert member.at_broker == {(1, 0)}
    assert errors(member.gets(1)) == {(99, 0): UNKNOWN_TOPIC_ID}


def test_one_topic_under_two_ids() -> None:
    """A link has an id of its own, by which a client may know the same topic. The id that was first
    in the session stays, whatever changes."""
    entries = [Link(LogicalName("team-b", "same"), "team-a..a", topic_id(200).bytes)]
    member = Member()
    member.pair.log.append([TopicEntry("team-a..a", LogicalName("team-a", "a")), *entries])
    member.pair.catalog_changed()
    member.asks({200: [0]})
    assert errors(member.gets(1)) == {}
    member.asks({1: [0]})
    assert errors(member.gets(1)) == {(1, 0): INVALID_REQUEST}
    member.pair.log.append([Namespace("team-c")])
    member.pair.catalog_changed()
    member.asks()
    assert member.at_broker == {(1, 0)}
    assert errors(member.gets(1)) == {(1, 0): INVALID_REQUEST}
    member.asks({}, {200: [0]})
    assert member.at_broker == {(1, 0)}, "under the other id now"
    assert errors(member.gets(1)) == {}


def test_a_frozen_topic_is_read_and_acknowledged_until_its_name_changes_hands() -> None:
    member = Member()
    member.asks({1: [0], 2: [0]})
    member.gets(1)
    member.asks({1: [0]}, acks=True)
    view = member.pair.view
    frozen = View(view.settings, view.snapshot, view.policies, Frozen(frozenset({"team-a:a"})))
    member.pair.see(frozen)
    assert not member.pair.reset
    response = member.gets(1)
    assert errors(response) == {}
    assert response.responses[0].partitions[0].records == RECORDS
    sent = member.asks({1: [0]}, acks=True)
    assert [topic.topic_id for topic in sent.topics] == [topic_id(1)]
    assert sent.forgotten_topics_data == ()
    assert errors(member.gets(1)) == {}


def test_entries_of_one_topic_are_one_entry() -> None:
    member = Member()
    request = messages.message_class("ShareFetchRequest", VERSION)
    values = {"group_id": "app", "member_id": "m1", "share_session_epoch": 0}
    topics = [*listed({1: [0]}), *listed({1: [1]}), *listed({1: [0]})]
    sent = member.pair.ask("ShareFetch", VERSION, entity(request, {**values, "topics": topics}))
    assert {each.partition_index for (topic,) in [sent.topics] for each in topic.partitions} == {
        0,
        1,
    }


@pytest.mark.parametrize("nothing", ["group_id", "member_id"])
@pytest.mark.parametrize("api", ["ShareFetch", "ShareAcknowledge"])
def test_no_group_and_no_member(api: str, nothing: str) -> None:
    """A broker's answer; the gateway does not leave it to the broker: rights are of groups."""
    member = Member(RIGHTS[0], home="team-a")
    member.pair.authorizer = Allowing([*RIGHTS, "READ GROUP team-a:app"])
    member.pair.catalog_changed()
    values = {"group_id": "app", "member_id": "m1", "share_session_epoch": 0, "topics": []}
    request = entity(messages.message_class(f"{api}Request", VERSION), {**values, nothing: None})
    assert member.pair.ask(api, VERSION, request) is None
    assert member.pair.answer(api, VERSION).error_code == INVALID_REQUEST


def test_spellings_of_a_group_are_one_session_in_a_tree() -> None:
    pair = tree_pair()
    request = messages.message_class("ShareFetchRequest", VERSION)
    for epoch, group in enumerate(["app", ":la:tracking:app", "/la/tracking/app"]):
        values = {"group_id": group, "member_id": "m1", "share_session_epoch": epoch, "topics": []}
        sent = pair.ask("ShareFetch", VERSION, entity(request, values))
        assert sent.group_id == "app"
        response = messages.message_class("ShareFetchResponse", VERSION)
        assert pair.reply("ShareFetch", VERSION, entity(response, {})).error_code == 0


@pytest.mark.parametrize("denied", [MOST_DENIED, MOST_DENIED + 1])
def test_a_session_of_too_many_topics_that_may_not_be_read(denied: int) -> None:
    member = Member(RIGHTS[0])
    sent = member.asks({1: [0], 2: range(denied)})
    assert (sent is None) is (denied > MOST_DENIED)
    if sent is None:
        answer = member.pair.answer("ShareFetch", VERSION)
        assert answer.error_code == SHARE_SESSION_LIMIT_REACHED


@pytest.mark.parametrize(
    "body",
    [
        {"topics": [*listed({1: range(30_000)}), *listed({1: [0]}) * 30]},
        {"topics": listed({1: [0]}) * 30_000},
        {"forgotten_topics_data": [{"topic_id": 1, "partitions": [*range(30_000)]}] * 30},
    ],
    ids=["partitions", "topics", "forgotten"],
)
def test_a_request_that_is_too_long_is_not_looked_at(body: dict[str, Any]) -> None:
    member = Member()
    member.asks({1: range(9_000)})
    member.gets()
    values = {"group_id": "app", "member_id": "m1", "share_session_epoch": 1, **body}
    request = entity(messages.message_class("ShareFetchRequest", VERSION), values)
    assert member.pair.ask("ShareFetch", VERSION, request) is None
    answer = member.pair.answer("ShareFetch", VERSION)
    assert answer.error_code == SHARE_SESSION_LIMIT_REACHED


_numbers = st.sampled_from([1, 2, 3, 4, 77, 100, 101])
_partitions = st.dictionaries(_numbers, st.sets(st.integers(0, 2), min_size=1), max_size=3)
_rights = st.sets(st.sampled_from(RIGHTS))
_changes = st.none() | _rights | st.sampled_from([100, 101])
_steps = st.lists(st.tuples(_partitions, _partitions, st.booleans(), _changes), max_size=5)


class World:
    """A member, its rights, and the id by which clients know topic 1 (a move gives it another)."""

    def __init__(self, rights: set[str]) -> None:
        self.member = Member(*rights, "READ TOPIC none")
        self.rights = rights
        self.first = 1

    def changes(self, change: set[str] | int | None) -> None:
        if isinstance(change, int):
            self.first = change
            self.member.pair.log.append([moved(change)])
            self.member.pair.catalog_changed()
        elif change is not None:
            self.rights = change
            self.member.may(*change)

    def broker(self, number: int) -> int | None:
        """The broker's number of the topic that a client may read by this id now."""
        own = 1 if number == self.first else number
        if own not in range(1, 5) or (own == 1 and number != self.first):
            return None
        return own if RIGHTS[own - 1] in self.rights else None


@given(_rights, _partitions, _steps)
def test_the_broker_has_what_was_asked_for_and_may_be_read(
    rights: set[str],
    first: dict[int, set[int]],
    steps: list[tuple[dict[int, set[int]], dict[int, set[int]], bool, set[str] | int | None]],
) -> None:
    """After each request, whatever it adds or forgets and whatever right has changed, or topic was
    moved, before it or before its response."""
    world = World(rights)
    asked: set[tuple[int, int]] = set()
    for adds, forgets, early, change in [(first, {}, False, None), *steps]:
        if early:
            world.changes(change)
        assert world.member.asks(adds, forgets) is not None
        asked |= {(number, index) for number, indexes in adds.items() for index in indexes}
        asked -= {(number, index) for number, indexes in forgets.items() for index in indexes}
        read = {each for each in asked if world.broker(each[0]) is not None}
        at_broker = {(world.broker(number), index) for number, index in read}
        assert world.member.at_broker == at_broker
        clients = {world.broker(number): number for number, _ in read}
        answered = sorted(number for number, index in world.member.at_broker if index == 0)
        if not early:
            world.changes(change)
        response = world.member.gets(*answered)
        late = {(clients[each], 0) for each in answered if world.broker(clients[each]) is None}
        assert set(errors(response)) == (asked - read) | late
        for topic in response.responses:
            for each in topic.partitions:
                assert bool(each.records) is (not each.error_code)
