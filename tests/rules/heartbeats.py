"""Members of KIP-848 groups for tests, and their heartbeats."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gateway.decision import Denied
from gateway.rules.group_members import KnownNames
from gateway.rules.heartbeat_outcomes import Forward, Sent, Unheard
from gateway.rules.regex_subscriptions import RegexSubscriptions
from protocol import messages
from protocol.messages import make

NAMES = ("a:orders", "a:orders.old", "a:users", "b:orders")
UNKNOWN_MEMBER_ID = 25
NOT_COORDINATOR = 16
FENCED_MEMBER_EPOCH = 110
INVALID_REGULAR_EXPRESSION = 128
LEAVE = -1
LEAVE_FOR_A_WHILE = -2

Names = tuple[str, ...]


def known(names: Names, version: int) -> Callable[[], KnownNames]:
    return lambda: KnownNames(version, lambda: names)


def heartbeat(
    epoch: int,
    names: Names | None = None,
    regex: str | None = None,
    member: str = "m",
    version: int = 1,
) -> bytes:
    cls = messages.message_class("ConsumerGroupHeartbeatRequest", version)
    values = {
        "group_id": "g",
        "member_id": member,
        "member_epoch": epoch,
        "subscribed_topic_names": names,
        "subscribed_topic_regex": regex,
        "topic_partitions": None,
    }
    return messages.write(make(cls, values))


def response(code: int = 0, version: int = 1) -> bytes:
    cls = messages.message_class("ConsumerGroupHeartbeatResponse", version)
    return messages.write(make(cls, {"error_code": code, "assignment": None}))


def forwarded(outcome: Forward | Denied | Unheard) -> Any:
    assert isinstance(outcome, Forward)
    return messages.parse("ConsumerGroupHeartbeatRequest", 1, outcome.body)


def on_request(
    worker: RegexSubscriptions,
    version: int,
    body: bytes,
    listing: Callable[[], KnownNames],
    scope: str | None = None,
    **more: Any,
) -> Forward | Denied | Unheard:
    """The worker's decision on a heartbeat of a version."""
    request = messages.parse("ConsumerGroupHeartbeatRequest", version, body)
    return worker.on_request(request, body, listing, scope, has_regex=version > 0, **more)


def on_response(
    worker: RegexSubscriptions, version: int, sent: Sent | None, body: bytes = b""
) -> None:
    """Let the broker respond to a heartbeat; a heartbeat forwarded unchanged has no response for
    the worker."""
    if sent is not None:
        worker.on_response(sent, messages.parse("ConsumerGroupHeartbeatResponse", version, body))


class Client:
    """A member whose heartbeats go to one worker and its broker."""

    def __init__(self, worker: RegexSubscriptions, member: str = "m", scope: str = "") -> None:
        self.worker = worker
        self.member = member
        self.scope = scope
        self.names: Names = NAMES
        self.names_version = 1

    def beat(
        self, epoch: int, names: Names | None = None, regex: str | None = None, code: int = 0
    ) -> Any:
        """The heartbeat that reaches the broker, or the gateway's response; the broker responds
        ``code``."""
        body = heartbeat(epoch, names, regex, self.member)
        outcome = on_request(self.worker, 1, body, self.listing, self.scope)
        if isinstance(outcome, Denied):
            return outcome
        assert isinstance(outcome, Forward)
        on_response(self.worker, 1, outcome.sent, response(code))
        return forwarded(outcome)

    def listing(self) -> KnownNames:
        names = self.names
        return KnownNames(self.names_version, lambda: names)

    def topics_change(self, *names: str) -> None:
        self.names = names
        self.names_version += 1
