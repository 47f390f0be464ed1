"""The scan finds what must not reach a client, wherever it stands in the bytes."""

from __future__ import annotations

from typing import Any

import pytest

from tests.session.pair import Pair, request_frame, topic_id
from tests.session.samples import BROKER_HOST, request
from tests.session.scanning import Leak

TOPICS = ("team-a..orders", "team-b..secret", "crm..x")
HOME = {"home": "team-a"}

SHOWN: list[tuple[dict[str, Any], bytes]] = [
    ({}, b"at gateway.example:9193"),
    ({}, b"team-a:orders, team-b:secret and crm..x"),
    ({"spelling": "legal"}, b"team-a..orders"),
    (HOME, b"orders"),
    ({**HOME, "escape": True}, b":team-b:secret"),
]
HIDDEN: list[tuple[dict[str, Any], bytes]] = [
    ({}, b"not at " + BROKER_HOST.encode() + b" (9092)"),
    ({}, b"\x00\x03\x00\x00\x00\x01\x00\x0eteam-a..orders\xff\xff"),
    (HOME, b"\x0fteam-a..orders"),
    (HOME, b"team-b:secret collides"),
    ({**HOME, "spelling": "legal"}, b"team-b..secret"),
]


def told(settings: dict[str, Any], data: bytes, *, asked: bytes = b"") -> None:
    """Let a client get these bytes, after it has written others."""
    pair = Pair(topics=TOPICS, **settings)
    pair.scan.from_client(asked)
    pair.session.to_client.append(data)
    pair.to_client()


@pytest.mark.parametrize(("settings", "data"), SHOWN)
def test_what_may_be_shown(settings: dict[str, Any], data: bytes) -> None:
    told(settings, data)


@pytest.mark.parametrize(("settings", "data"), HIDDEN)
def test_what_may_not(settings: dict[str, Any], data: bytes) -> None:
    with pytest.raises(Leak):
        told(settings, data)


def test_what_the_client_wrote_itself() -> None:
    told({}, b"'team-a..orders' is unknown", asked=b"team-a..orders")


def test_requests_are_taken_in() -> None:
    pair = Pair(topics=TOPICS)
    asked = request("Heartbeat", 4, "", topic_id(1))
    pair.send(request_frame("Heartbeat", 4, asked, client_id=b"team-a..orders"))
    pair.session.to_client.append(b"team-a..orders")
    assert pair.to_client() == b"team-a..orders"
