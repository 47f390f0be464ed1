"""DeleteGroups (API 42): groups without members."""

from __future__ import annotations

from gateway.exchanges.api import Api, declare
from gateway.rules.declaration import DELETE, Do, ItemShape, Needs

API = declare(
    Api(
        "DeleteGroups",
        (0, 2),
        Do.REWRITE,
        needs=Needs(group=DELETE),
        items=(ItemShape("groups_names", (), "results", ("group_id",)),),
    )
)
