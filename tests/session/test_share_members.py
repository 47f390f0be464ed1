"""Members of share groups (KIP-932): a member names its topics when it joins, and never again. What
the names lead to changes meanwhile, and the member may go on at another worker."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from gateway.apis.groups.member_mark import is_mark
from gateway.catalog.entities import Namespace, TopicEntry
from gateway.error_codes import FENCED_MEMBER_EPOCH
from gateway.exchanges.exchange import Prepare
from gateway.names import LogicalName
from gateway.rules.regex_subscriptions import RegexSubscriptions
from protocol import messages
from tests.scenarios.entities import entity
from tests.session.pair import Pair, topic_id

VERSION = 1
HEARTBEAT = "ShareGroupHeartbeat"
ORDERS = "team-a..orders"


class Member(Pair):
    """A client that is a member ``m`` of the group ``app``, and its broker, which keeps what the
    member is subscribed to."""

    def __init__(self) -> None:
        super().__init__(topics=[ORDERS, "team-b..x"])
        self.at_broker: tuple[str, ...] | None = None
        self.described = 0
        self.connects()

    def connects(self) -> None:
        """Go on at another worker, which has heard of no member."""
        self.worker.regexes = RegexSubscriptions()
        self.session = self.another_session(self.session.state.addresses)
        self.session.state.ask_broker = self._asked

    async def _asked(self, name: str, version: int, request: Any) -> Any:
        assert name == "ShareGroupDescribeRequest"
        assert request.group_ids == ("app",)
        self.described += 1
        names = self.at_broker
        members = [] if names is None else [{"member_id": "m", "subscribed_topic_names": names}]
        groups = [{"group_id": "app", "group_state": "Stable", "members": members}]
        found = messages.message_class("ShareGroupDescribeResponse", version)
        return entity(found, {"groups": groups})

    def _go_on(self) -> None:
        while isinstance(waiting := self.session.waiting, Prepare):

            async def run(prepare: Prepare = waiting) -> None:
                await prepare.run()

            asyncio.run(run())
            self.resume()
        super()._go_on()

    def beats(self, epoch: int, *names: str) -> Any:
        """Send a heartbeat; the request that the broker gets and accepts, or None."""
        values = {
            "group_id": "app",
            "member_id": "m",
            "member_epoch": epoch,
            "subscribed_topic_names": names or None,
        }
        request = entity(messages.message_class(f"{HEARTBEAT}Request", VERSION), values)
        sent = self.ask(HEARTBEAT, VERSION, request)
        if sent is None:
            return None
        if sent.subscribed_topic_names is not None:
            self.at_broker = sent.subscribed_topic_names
        answer = messages.message_class(f"{HEARTBEAT}Response", VERSION)
        self.reply(HEARTBEAT, VERSION, entity(answer, {"member_id": "m", "member_epoch": 1}))
        return sent

    def moves(self, flat: str, namespace: str) -> None:
        """Move a topic."""
        name = LogicalName(namespace, flat.rpartition("..")[2])
        self.log.append([TopicEntry(flat, name, topic_id(99).bytes)])
        self.catalog_changed()

    @property
    def subscribed(self) -> set[str]:
        """The topics that the broker has the member subscribed to."""
        return {name for name in self.at_broker or () if not is_mark(name)}


def test_a_heartbeat_without_news_passes() -> None:
    member = Member()
    assert member.beats(0, "team-a:orders").subscribed_topic_names == (ORDERS,)
    assert member.beats(1).subscribed_topic_names is None
    assert member.described == 0


def test_a_member_whose_topic_was_moved_joins_again() -> None:
    """The broker knows the topic by its flat name, and would give it to the member for good."""
    member = Member()
    member.beats(0, "team-a:orders")
    member.moves(ORDERS, "team-b")
    assert member.beats(1) is None
    assert member.answer(HEARTBEAT, VERSION).error_code == FENCED_MEMBER_EPOCH
    member.beats(0, "team-a:orders")
    assert member.subscribed == set()
    member.beats(0, "team-a:orders", "team-b:orders")
    assert member.subscribed == {ORDERS}


def test_a_topic_that_is_made_under_the_old_name_is_subscribed_to() -> None:
    member = Member()
    member.beats(0, "team-a:orders")
    member.moves(ORDERS, "team-b")
    member.beats(1)
    member.to_client()
    member.beats(0, "team-a:orders")
    entry = TopicEntry("team-a..orders-2", LogicalName("team-a", "orders"), topic_id(98).bytes)
    member.log.append([entry])
    member.catalog_changed()
    member.beats(1)
    assert member.subscribed == {"team-a..orders-2"}


def test_a_name_that_no_topic_can_have_yet() -> None:
    """A broker rejects a member that joins without any name (GroupCoordinatorService), and lets it
    name topics that it does not have."""
    member = Member()
    assert member.beats(0, "later:orders").subscribed_topic_names
    assert member.subscribed == set()
    assert member.beats(1).subscribed_topic_names is None
    member.log.append([Namespace("later")])
    member.catalog_changed()
    member.beats(1)
    assert member.subscribed == {"later..orders"}


@pytest.mark.parametrize("name", ["team-a:orders", "later:orders"])
def test_another_worker_goes_on_with_a_member(name: str) -> None:
    member = Member()
    member.beats(0, name)
    before = member.at_broker
    member.connects()
    assert member.beats(1).subscribed_topic_names is None
    assert (member.at_broker, member.described) == (before, 1)
    member.log.append([Namespace("later")])
    member.catalog_changed()
    member.beats(1)
    assert member.subscribed == {name.replace(":", "..")}
    assert member.described == 1


def test_a_topic_that_was_moved_while_a_member_was_away() -> None:
    member = Member()
    member.beats(0, "team-a:orders")
    member.moves(ORDERS, "team-b")
    member.connects()
    assert member.beats(1) is None
    assert member.answer(HEARTBEAT, VERSION).error_code == FENCED_MEMBER_EPOCH


def test_the_broker_says_that_it_has_no_such_member() -> None:
    member = Member()
    sent = member.beats(5)
    assert (sent.member_epoch, sent.subscribed_topic_names) == (5, None)
    assert member.described == 1


def test_marks_are_not_shown() -> None:
    member = Member()
    member.beats(0, "later:orders", "team-a:orders")
    assert any(map(is_mark, member.at_broker or ()))
    request = messages.message_class("ShareGroupDescribeRequest", VERSION)
    member.ask("ShareGroupDescribe", VERSION, entity(request, {"group_ids": ["app"]}))
    found = messages.message_class("ShareGroupDescribeResponse", VERSION)
    members = [{"member_id": "m", "subscribed_topic_names": member.at_broker}]
    groups = [{"group_id": "app", "group_state": "Stable", "members": members}]
    shown = member.reply("ShareGroupDescribe", VERSION, entity(found, {"groups": groups}))
    assert shown.groups[0].members[0].subscribed_topic_names == ("team-a:orders",)
