"""Heartbeats of members of KIP-848 groups in a tree, and what their broker answers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol
from uuid import UUID

from tests.session.far import FakeVolume, message

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
