"""ConsumerGroupDescribe (API 69, KIP-848): the members of consumer groups, and their partitions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final

from gateway.apis import generic
from gateway.error_codes import TOPIC_AUTHORIZATION_FAILED
from gateway.exchanges.api import Api, declare
from gateway.exchanges.exchange import Exchange
from gateway.exchanges.state import ConnectionState
from gateway.rules.authorized_operations import NOT_ASKED
from gateway.rules.declaration import DESCRIBE, Do, ItemShape, Needs, ToldOperations
from protocol import messages
from protocol.messages import make
from protocol.splice import Edit

_MESSAGE: Final = "The group has described topic(s) that the client is not authorized to describe."


def response(
    state: ConnectionState, exchange: Exchange, buf: bytes, start: int, end: int
) -> list[Edit] | bytes:
    """Restore the names; groups of topics that may not be described are not told."""
    access, version = state.access, exchange.plan.version
    if not access.authorizes:
        return generic.response(state, exchange, buf, start, end)
    body = withhold(version, buf[start:end], lambda flat: access.flat(DESCRIBE, flat) is not None)
    return generic.restored_body(state, exchange, body)


def withhold(version: int, body: bytes, hidden: Callable[[bytes], bool]) -> bytes:
    """A response (flat names) in which groups with an assignment of a ``hidden`` topic are
    answered TOPIC_AUTHORIZATION_FAILED and nothing else, as KafkaApis does.

    Raises ProtocolError.
    """
    response = messages.parse("ConsumerGroupDescribeResponse", version, body)
    groups = tuple(_shown(group, hidden) for group in response.groups)
    return messages.write(replace(response, groups=groups))


def _shown(group: Any, hidden: Callable[[bytes], bool]) -> Any:
    topics = {
        topic.topic_name
        for member in group.members
        for assignment in (member.assignment, member.target_assignment)
        for topic in assignment.topic_partitions
    }
    if not any(hidden(name.encode()) for name in topics):
        return group
    told = {"group_id": group.group_id, "authorized_operations": NOT_ASKED}
    error = {"error_code": TOPIC_AUTHORIZATION_FAILED, "error_message": _MESSAGE}
    return make(type(group), {**told, **error})


API = declare(
    Api(
        "ConsumerGroupDescribe",
        (0, 1),
        Do.REWRITE,
        needs=Needs(group=DESCRIBE),
        items=(ItemShape("group_ids", (), "groups", ("group_id",)),),
        seen=(
            ("groups", "members", "subscribed_topic_names"),
            ("groups", "members", "assignment", "topic_partitions"),
            ("groups", "members", "target_assignment", "topic_partitions"),
        ),
        operations=ToldOperations(
            ("include_authorized_operations",), "groups", "group_id", "authorized_operations"
        ),
        response=response,
    )
)
