"""DescribeGroups (API 15): classic groups, their members, and what those subscribe to."""

from __future__ import annotations

from gateway.exchanges.api import Api, declare
from gateway.rules.declaration import DESCRIBE, Do, ItemShape, Needs, ToldOperations

API = declare(
    Api(
        "DescribeGroups",
        (0, 6),
        Do.REWRITE,
        needs=Needs(group=DESCRIBE),
        items=(ItemShape("groups", (), "groups", ("group_id",)),),
        operations=ToldOperations(
            ("include_authorized_operations",), "groups", "group_id", "authorized_operations"
        ),
        of_others=True,
    )
)
