"""DescribeGroups (API 15): classic groups and their members.

Group ids are rewritten and need DESCRIBE; denied ones get an error each. Topic names inside the
members' subscriptions and assignments are restored, those that the client may describe.
"""

from __future__ import annotations

from gateway.exchanges.api import Api
from gateway.rules.declaration import DESCRIBE, Do, ItemShape, Needs, ToldOperations

API = Api(
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
