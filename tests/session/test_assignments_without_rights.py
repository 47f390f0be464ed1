"""Assignments of members of KIP-848 groups and share groups whose right to a topic was revoked.

A broker authorizes the names of a heartbeat, and no assignment (KafkaApis:
handleConsumerGroupHeartbeat, handleShareGroupHeartbeat): the member keeps its topic until it names
its topics again. It is so in a tree, too, and whether or not topics were moved.
"""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from gateway.catalog.entities import TopicEntry
from gateway.error_codes import TOPIC_AUTHORIZATION_FAILED
from gateway.exchanges.exchange import Prepare
from gateway.names import LogicalName
from gateway.rules.regex_subscriptions import RegexSubscriptions
from tests.session.allowing import Allowing
from tests.session.far import FarPair, message
from tests.session.pair import Pair, topic_id
from tests.session.shadow_members import describing

HEARTBEATS = [("ConsumerGroupHeartbeat", 1), ("ShareGroupHeartbeat", 1)]
GROUP = "READ GROUP app"
RIGHTS = [GROUP, "DESCRIBE TOPIC search:orders", "DESCRIBE TOPIC search:users"]
NAMES = ["search:orders", "search:users"]
FLATS = ("search..orders", "search..users")
MOVED = topic_id(77)
"""The virtual id of ``search:users`` if it was moved."""


class Alone(Pair):
    """A session without a tree, whose broker can be queried."""

    def _go_on(self) -> None:
        while isinstance(waiting := self.session.waiting, Prepare):
            asyncio.run(_done(waiting))
            self.resume()
        super()._go_on()


async def _done(work: Prepare) -> None:
    await work.run()


def alone(*, moved: bool) -> Pair:
    entries = [TopicEntry("search..users", LogicalName("search", "users"), MOVED.bytes)]
    return Alone(
        namespaces=["search"],
        topics=FLATS,
        entries=entries if moved else (),
        authorizer=Allowing(RIGHTS),
    )


def in_a_tree(*, moved: bool) -> Pair:
    pair = FarPair(at_home=Allowing(RIGHTS))
    pair.home.make("search..users")
    if moved:
        entry = TopicEntry("search..users", LogicalName("search", "users"), MOVED.bytes)
        pair.home.state.catalog.log.append([entry])
    pair.session.state.see(pair.home.access())
    return pair


def revoke(pair: Pair) -> None:
    """Leave the client the right to the group."""
    if isinstance(pair, FarPair):
        pair.home.authorizer = Allowing([GROUP])
        pair.session.state.see(pair.home.access())
    else:
        pair.authorizer = Allowing([GROUP])
        pair.session.state.see(pair.access())


def goes_on(pair: Pair) -> None:
    """Go on over another connection, at a worker that has heard of no member."""
    before = pair.session.state
    pair.worker.regexes = RegexSubscriptions()
    pair.session = pair.another_session(before.addresses)
    pair.session.state.tree = before.tree
    pair.session.state.see(before.access)


def heartbeat(api: str, version: int, names: list[str] | None, epoch: int) -> Any:
    values: dict[str, Any] = {"group_id": "app", "member_id": "m", "member_epoch": epoch}
    values["subscribed_topic_names"] = names
    if api == "ConsumerGroupHeartbeat":
        values["topic_partitions"] = None
    return message(f"{api}Request", version, **values)


def assigned(pair: Pair, api: str, version: int) -> list[Any]:
    """The topic ids of an assignment of both topics."""
    index = pair.worker.cluster.index
    ids = [index.id_of(flat.encode()) for flat in FLATS]
    parts = [{"topic_id": int.from_bytes(each, "big"), "partitions": [0]} for each in ids if each]
    values = {"member_id": "m", "member_epoch": 1, "assignment": {"topic_partitions": parts}}
    got = pair.reply(api, version, message(f"{api}Response", version, **values))
    assert got.error_code == 0
    return [each.topic_id for each in got.assignment.topic_partitions]


@pytest.mark.parametrize(("api", "version"), HEARTBEATS)
@pytest.mark.parametrize("moved", [False, True])
@pytest.mark.parametrize("where", [alone, in_a_tree])
@pytest.mark.parametrize("moves_on", [False, True])
def test_a_member_keeps_what_it_is_assigned(
    api: str, version: int, moved: bool, where: Any, moves_on: bool
) -> None:
    pair = where(moved=moved)
    asks = api == "ConsumerGroupHeartbeat"  # else the member is the broker's to know
    pair.session.state.ask_broker = describing(()) if asks else None
    sent = pair.ask(api, version, heartbeat(api, version, NAMES, 0))
    before = assigned(pair, api, version)
    assert len(before) == 2
    assert (MOVED in before) == moved
    if moves_on:
        goes_on(pair)
    revoke(pair)
    if asks:
        pair.session.state.ask_broker = describing(sent.subscribed_topic_names)
    assert pair.ask(api, version, heartbeat(api, version, None, 1)) is not None
    assert assigned(pair, api, version) == before


@pytest.mark.parametrize(("api", "version"), HEARTBEATS)
@pytest.mark.parametrize("where", [alone, in_a_tree])
def test_a_heartbeat_with_the_name_is_rejected(api: str, version: int, where: Any) -> None:
    pair = where(moved=False)
    revoke(pair)
    assert pair.ask(api, version, heartbeat(api, version, NAMES, 1)) is None
    assert pair.answer(api, version).error_code == TOPIC_AUTHORIZATION_FAILED
