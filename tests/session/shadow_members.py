"""Heartbeats of members of KIP-848 groups in a tree, and what their broker answers."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any, Protocol
from uuid import UUID

from gateway.brokers.login_exchange import Ask
from gateway.exchanges.exchange import Prepare, Refresh
from gateway.rules.regex_subscriptions import RegexSubscriptions
from gateway.session.deciding import Deciding
from tests.session.far import FakeVolume, FarPair, message

HEARTBEAT = "ConsumerGroupHeartbeat"


class Members(Protocol):
    """A pair whose groups are in the volume ``home``."""

    home: FakeVolume

    def reply(self, name: str, version: int, entity: Any) -> Any: ...


def heartbeat(version: int, names: Sequence[str] | None, epoch: int, **more: Any) -> Any:
    """A request of member ``m``; without ``names`` the subscription is unchanged."""
    values = {"group_id": "app", "member_id": "m", "member_epoch": epoch, **more}
    values["subscribed_topic_names"] = names
    values.setdefault("topic_partitions", None)
    return message(f"{HEARTBEAT}Request", version, **values)


def assigned(pair: Members, version: int, shares: dict[UUID, list[int]]) -> dict[UUID, list[int]]:
    """What member ``m`` gets if the broker assigns these partitions, by topic id."""
    parts = [{"topic_id": topic.int, "partitions": share} for topic, share in shares.items()]
    got = answered(pair, version, {"topic_partitions": parts})
    return {each.topic_id: list(each.partitions) for each in got.assignment.topic_partitions}


def accepted(pair: Members, version: int) -> None:
    """Let the broker accept a heartbeat, and leave the assignment as it is."""
    answered(pair, version, None)


def answered(pair: Members, version: int, assignment: Any) -> Any:
    """The response that the client gets if the broker answers with this assignment."""
    values = {"member_id": "m", "member_epoch": 1, "assignment": assignment}
    return pair.reply(HEARTBEAT, version, message(f"{HEARTBEAT}Response", version, **values))


def id_at_home(pair: Members, flat: str) -> UUID:
    """The topic id of a flat name in the group's cluster."""
    found = pair.home.cluster.index.id_of(flat.encode())
    assert found is not None
    return UUID(bytes=found)


class MovingPair(FarPair):
    """A member whose broker can be queried, and that goes on at another worker."""

    at_broker: tuple[str, ...] = ()
    """The names that the broker has the member subscribed to."""

    instance_id: str | None = None
    """Of the member at the broker."""

    code = 0
    """The error of a description."""

    def join(self, names: list[str]) -> None:
        self.goes_on()
        sent = self.ask(HEARTBEAT, 1, heartbeat(1, names, 0))
        self.at_broker = sent.subscribed_topic_names
        accepted(self, 1)

    def goes_on(self) -> None:
        """Go on at another worker, which has heard of no member."""
        before = self.session.state
        self.worker.regexes = RegexSubscriptions()
        self.session = self.another_session(before.addresses)
        self.session.state.tree = before.tree
        self.session.state.see(self.home.access())
        self.session.state.ask_broker = describing(self.at_broker, self.instance_id, self.code)

    def _go_on(self) -> None:
        """A heartbeat may wait for a listing, and then for its member's broker."""
        while isinstance(waiting := self.session.waiting, (Refresh, Prepare, Deciding)):
            if isinstance(waiting, Refresh):
                asyncio.run(self.home.cluster.refresh())
                self.resume()
            else:
                super()._go_on()


def describing(names: Sequence[str], instance_id: str | None = None, code: int = 0) -> Ask:
    """The broker of a group ``app``, whose member ``m`` is subscribed to these flat names.
    ``code``: the error of a description."""

    async def described(name: str, version: int, request: Any) -> Any:
        assert (name, request.group_ids) == ("ConsumerGroupDescribeRequest", ("app",))
        member = {"member_id": "m", "instance_id": instance_id, "subscribed_topic_names": names}
        group = {"group_id": "app", "group_state": "Stable", "error_code": code}
        group |= {"members": [] if code else [member]}
        return message("ConsumerGroupDescribeResponse", version, groups=[group])

    return described
