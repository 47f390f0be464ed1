"""Members that a worker remembers between heartbeats: apart by scope, bounded, once accepted."""

from __future__ import annotations

import pytest

from gateway.decision import Denied
from gateway.error_codes import GROUP_ID_NOT_FOUND
from gateway.rules import group_members
from gateway.rules.group_members import Member
from gateway.rules.heartbeat_outcomes import Forward, Sent, Unheard, Unknown
from gateway.rules.regex_subscriptions import RegexSubscriptions
from protocol import messages
from tests.rules.heartbeats import (
    FENCED_MEMBER_EPOCH,
    LEAVE,
    NAMES,
    NOT_COORDINATOR,
    UNKNOWN_MEMBER_ID,
    Client,
    forwarded,
    heartbeat,
    known,
    on_request,
    on_response,
    response,
)


@pytest.fixture
def client() -> Client:
    return Client(RegexSubscriptions())


def test_members_of_different_scopes_are_different() -> None:
    worker = RegexSubscriptions()
    one, other = Client(worker, scope="one"), Client(worker, scope="other")
    other.names = ("z:orders",)
    assert one.beat(0, (), ".*orders").subscribed_topic_names == ("a:orders", "b:orders")
    assert other.beat(0, (), ".*orders").subscribed_topic_names == ("z:orders",)
    other.beat(LEAVE)
    assert len(worker) == 1


def test_what_is_remembered_is_bounded() -> None:
    worker = RegexSubscriptions(max_members=2)
    clients = [Client(worker, member) for member in "abc"]
    for one in clients:
        one.beat(0, (), "a:.*")
    assert len(worker) == 2
    assert clients[0].beat(1).code == FENCED_MEMBER_EPOCH
    assert clients[2].beat(1).subscribed_topic_names is None
    for member in range(5):
        Client(worker, f"unknown {member}").beat(1)
    assert clients[0].beat(1).code == FENCED_MEMBER_EPOCH


def test_a_busy_member_is_not_the_first_to_go() -> None:
    worker = RegexSubscriptions(max_members=2)
    busy, idle, new = (Client(worker, member) for member in ("busy", "idle", "new"))
    busy.beat(0, (), "a:.*")
    idle.beat(0, (), "a:.*")
    busy.beat(1)
    new.beat(0, (), "a:.*")
    assert busy.beat(1).subscribed_topic_names is None
    assert idle.beat(1).code == FENCED_MEMBER_EPOCH


def test_another_scopes_members_push_none_out() -> None:
    worker = RegexSubscriptions(max_members=2)
    victim = Client(worker, scope="victim")
    victim.beat(0, (), "a:.*")
    for number in range(5):
        other = Client(worker, f"other {number}", scope="other")
        other.beat(0, (), "a:.*")
        Client(worker, f"unknown {number}", scope="other").beat(1)
    assert len(worker) == 3
    assert victim.beat(1).subscribed_topic_names is None


def test_fenced_members_of_another_scope_are_still_known() -> None:
    worker = RegexSubscriptions(max_members=2)
    victim = Client(worker, scope="victim")
    assert victim.beat(7).code == FENCED_MEMBER_EPOCH
    for number in range(5):
        Client(worker, f"unknown {number}", scope="other").beat(1)
    assert victim.beat(7) == forwarded(Forward(heartbeat(7), None))


@pytest.mark.parametrize("code", [NOT_COORDINATOR, UNKNOWN_MEMBER_ID])
@pytest.mark.parametrize("epoch", [0, 7])
def test_an_invented_member_that_the_broker_rejects_is_not_kept(epoch: int, code: int) -> None:
    worker = RegexSubscriptions(max_members=2)
    client = Client(worker)
    client.beat(0, (), "a:.*")
    for number in range(5):
        Client(worker, f"invented {number}").beat(epoch, (), "a:.*", code=code)
    assert len(worker) == 1
    assert client.beat(1).subscribed_topic_names is None


def test_a_joining_member_is_kept_once_the_broker_has_accepted_it() -> None:
    worker = RegexSubscriptions()
    outcome = on_request(worker, 1, heartbeat(0, (), "a:.*"), known(NAMES, 1))
    assert isinstance(outcome, Forward)
    assert len(worker) == 0
    on_response(worker, 1, outcome.sent, response())
    assert len(worker) == 1


def test_a_rejected_rejoin_leaves_what_was_accepted(client: Client) -> None:
    client.beat(0, (), "a:orders.*")
    client.beat(0, (), "b:.*", code=NOT_COORDINATOR)
    client.topics_change("a:orders", "b:orders")
    assert client.beat(1).subscribed_topic_names == ("a:orders",)


def test_a_late_response_to_a_forgotten_member_is_ignored() -> None:
    worker = RegexSubscriptions()
    on_response(worker, 1, Sent(("", "g", "gone"), ("a:users",), 1), response())
    assert len(worker) == 0


def test_a_member_that_this_connection_has_not_heard_of_is_asked_for() -> None:
    """Although this worker knows the member, it may have changed its subscription elsewhere."""
    worker, heard = RegexSubscriptions(), set[int]()
    Client(worker).beat(0, (), "a:.*")
    outcome = on_request(worker, 1, heartbeat(1), known(NAMES, 1), "", heard=heard)
    assert outcome == Unheard(("", "g", "m"))
    worker.recalled(("", "g", "m"), Member(pattern="b:.*"))
    heard.add(hash(("", "g", "m")))
    outcome = on_request(worker, 1, heartbeat(1), known(NAMES, 1), "", heard=heard)
    assert forwarded(outcome).subscribed_topic_names == ("b:orders",)


def test_one_that_had_to_make_room_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """It would be fenced at each heartbeat, and so would every member of a group whose names take
    more room than there is."""
    monkeypatch.setattr(group_members, "MAX_BYTES_KEPT", 1)
    worker, heard, both = RegexSubscriptions(), set[int](), ("a:orders", "b:orders")

    def beat(epoch: int, names: tuple[str, ...] | None = None) -> Forward | Denied | Unheard:
        return on_request(worker, 1, heartbeat(epoch, names), known(NAMES, 1), "", heard=heard)

    joins = beat(0, both)
    assert isinstance(joins, Forward)
    on_response(worker, 1, joins.sent, response())
    assert isinstance(beat(1), Forward)
    Client(worker, member="other").beat(0, ("a:users",))
    assert len(worker) == 1
    assert beat(1) == Unheard(("", "g", "m"))
    worker.recalled(("", "g", "m"), Member(both))
    assert isinstance(beat(1), Forward)


@pytest.mark.parametrize("epoch", [0, 4], ids=["joins", "says all"])
def test_one_that_says_everything_is_not(epoch: int) -> None:
    worker, heard = RegexSubscriptions(), set[int]()
    body = heartbeat(epoch, (), "a:.*")
    assert isinstance(on_request(worker, 1, body, known(NAMES, 1), "", heard=heard), Forward)
    assert heard == {hash(("", "g", "m"))}


def test_one_that_the_broker_does_not_know_is_forwarded_and_asked_for_again() -> None:
    worker, heard = RegexSubscriptions(), set[int]()
    for _ in range(2):
        outcome = on_request(worker, 1, heartbeat(1), known(NAMES, 1), "", heard=heard)
        assert outcome == Unheard(("", "g", "m"))
        worker.recalled(("", "g", "m"), Unknown.FORWARD)
        outcome = on_request(worker, 1, heartbeat(1), known(NAMES, 1), "", heard=heard)
        assert outcome == Forward(heartbeat(1), None)


@pytest.mark.parametrize("found", [Unknown.FENCE, Member(pattern="(")], ids=["unknown", "no regex"])
def test_one_that_cannot_be_recalled_is_fenced_once(found: Member | Unknown) -> None:
    worker, heard = RegexSubscriptions(), set[int]()
    Client(worker).beat(0, (), "a:.*")
    assert isinstance(on_request(worker, 1, heartbeat(1), known((), 1), "", heard=heard), Unheard)
    worker.recalled(("", "g", "m"), found)
    fenced = on_request(worker, 1, heartbeat(1), known((), 1), "", heard=heard)
    assert isinstance(fenced, Denied)
    assert fenced.code == FENCED_MEMBER_EPOCH
    assert isinstance(on_request(worker, 1, heartbeat(1), known((), 1), "", heard=heard), Forward)


def test_version_0_is_not_asked_for() -> None:
    worker, heard = RegexSubscriptions(), set[int]()
    body = heartbeat(3, version=0)
    assert on_request(worker, 0, body, known((), 1), "", heard=heard) == Forward(body, None)


@pytest.mark.parametrize("version", [0, 1])
@pytest.mark.parametrize("code", [GROUP_ID_NOT_FOUND, UNKNOWN_MEMBER_ID])
def test_one_that_the_broker_rejects_is_asked_for_again(code: int, version: int) -> None:
    """The broker, not the gateway, says again that it has no such member, or no such group."""
    worker, heard = RegexSubscriptions(), set[int]()
    body = heartbeat(3, ("a:users",), "" if version else None, version=version)
    outcome = on_request(worker, version, body, known((), 1), "", heard=heard)
    assert isinstance(outcome, Forward)
    assert heard == {hash(("", "g", "m"))}
    answer = messages.parse("ConsumerGroupHeartbeatResponse", 1, response(code))
    assert outcome.sent is not None
    worker.on_response(outcome.sent, answer, heard)
    assert heard == set()
    assert isinstance(on_request(worker, 1, heartbeat(3), known((), 1), "", heard=heard), Unheard)
