"""ListGroups: the groups a view may see."""

from __future__ import annotations

import pytest

from gateway.apis.groups import group_admin
from gateway.rules.nested import element_class, make
from protocol import messages


@pytest.mark.parametrize("version", range(6))
def test_hidden_groups_are_dropped(version: int) -> None:
    cls = messages.message_class("ListGroupsResponse", version)
    group = element_class(cls, "groups")
    groups = tuple(
        make(group, {"group_id": name, "protocol_type": "consumer"}) for name in ("a", "ß", "c")
    )
    body = messages.write(make(cls, {"groups": groups}))
    kept = group_admin.without_groups(version, body, {b"c"})
    assert messages.parse("ListGroupsResponse", version, kept).groups == groups[:2]
    assert group_admin.without_groups(version, body, set()) == body
