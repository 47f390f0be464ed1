"""ListGroups: the groups a view may see."""

from __future__ import annotations

import pytest

from gateway.apis.groups import list_groups
from protocol import messages
from protocol.messages import element_class, make


@pytest.mark.parametrize("version", range(6))
def test_only_allowed_groups_are_kept(version: int) -> None:
    cls = messages.message_class("ListGroupsResponse", version)
    group = element_class(cls, "groups")
    groups = tuple(
        make(group, {"group_id": name, "protocol_type": "consumer"}) for name in ("a", "ß", "c")
    )
    body = messages.write(make(cls, {"groups": groups}))
    kept = list_groups.keep(version, body, {b"a", "ß".encode()}.__contains__)
    assert messages.parse("ListGroupsResponse", version, kept).groups == groups[:2]
    assert list_groups.keep(version, body, lambda _: True) == body
