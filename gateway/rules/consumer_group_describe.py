"""ConsumerGroupDescribe: a group that reads topics which may not be described is not told."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final

from gateway.error_codes import TOPIC_AUTHORIZATION_FAILED
from gateway.rules.authorized_operations import NOT_ASKED
from gateway.rules.nested import make
from protocol import messages

_MESSAGE: Final = "The group has described topic(s) that the client is not authorized to describe."


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
