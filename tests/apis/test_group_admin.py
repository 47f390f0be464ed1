"""ListGroups without hidden groups, and ConsumerGroupDescribe without groups that read hidden
topics."""

from __future__ import annotations

from typing import Any

import pytest

from gateway.apis.groups.group_admin import withhold, without_groups
from gateway.rules.authorized_operations import NOT_ASKED
from protocol import messages
from protocol.errors import ProtocolError
from protocol.messages import element_class, make

NAME = "ConsumerGroupDescribeResponse"
BOTH = [0, 1]


def group(version: int, group_id: str, **reads: tuple[str, ...]) -> Any:
    """A group of one member; ``reads`` has topics by the member's field."""
    cls = element_class(messages.message_class(NAME, version), "groups")
    member = element_class(cls, "members")
    values: dict[str, Any] = {"member_id": "m1", "client_host": "/10.0.0.1"}
    for field, names in reads.items():
        if field == "subscribed_topic_names":
            values[field] = names
            continue
        assignment = element_class(member, field)
        topic = element_class(assignment, "topic_partitions")
        partitions = tuple(make(topic, {"topic_name": name, "partitions": (0,)}) for name in names)
        values[field] = make(assignment, {"topic_partitions": partitions})
    return make(
        cls,
        {
            "group_id": group_id,
            "group_state": "Stable",
            "group_epoch": 7,
            "assignment_epoch": 6,
            "assignor_name": "uniform",
            "members": (make(member, values),),
            "authorized_operations": 256,
        },
    )


def written(version: int, *groups: Any) -> bytes:
    return messages.write(make(messages.message_class(NAME, version), {"groups": groups}))


def shown(version: int, *groups: Any) -> Any:
    answer = withhold(
        "ConsumerGroupDescribe", version, written(version, *groups), lambda flat: flat == b"secret"
    )
    return messages.parse(NAME, version, answer)


@pytest.mark.parametrize("version", BOTH)
@pytest.mark.parametrize("field", ["assignment", "target_assignment"])
def test_a_group_with_a_hidden_topic_is_an_error_alone(version: int, field: str) -> None:
    hidden = group(version, "app", **{field: ("plain", "secret")})
    (told,) = shown(version, hidden).groups
    assert (told.group_id, told.error_code) == ("app", 29)
    assert "not authorized" in told.error_message
    assert (told.group_state, told.assignor_name) == ("", "")
    assert (told.group_epoch, told.assignment_epoch, told.members) == (0, 0, ())
    assert told.authorized_operations == NOT_ASKED


@pytest.mark.parametrize("version", BOTH)
def test_other_groups_are_unchanged(version: int) -> None:
    plain = group(version, "other", assignment=("plain",), target_assignment=("plain",))
    answer = shown(version, group(version, "app", assignment=("secret",)), plain)
    assert [told.error_code for told in answer.groups] == [29, 0]
    assert answer.groups[1] == plain


@pytest.mark.parametrize("version", BOTH)
def test_a_subscription_hides_nothing(version: int) -> None:
    subscribed = group(version, "app", subscribed_topic_names=("secret",))
    assert shown(version, subscribed).groups == (subscribed,)


@pytest.mark.parametrize("version", BOTH)
def test_one_member_of_several(version: int) -> None:
    first = group(version, "app", assignment=("plain",))
    second = group(version, "app", assignment=("secret",))
    both = make(type(first), {"group_id": "app", "members": first.members + second.members})
    (told,) = shown(version, both).groups
    assert (told.error_code, told.members) == (29, ())


@pytest.mark.parametrize("version", BOTH)
def test_a_response_that_cannot_be_read(version: int) -> None:
    with pytest.raises(ProtocolError):
        withhold("ConsumerGroupDescribe", version, b"\x00", lambda flat: False)


@pytest.mark.parametrize("version", range(6))
def test_hidden_groups_are_not_listed(version: int) -> None:
    cls = messages.message_class("ListGroupsResponse", version)
    entry = element_class(cls, "groups")
    groups = tuple(
        make(entry, {"group_id": name, "protocol_type": "consumer"}) for name in ("a", "ß", "c")
    )
    body = messages.write(make(cls, {"groups": groups}))
    kept = without_groups(version, body, {b"c"})
    assert messages.parse("ListGroupsResponse", version, kept).groups == groups[:2]
    assert without_groups(version, body, set()) == body
