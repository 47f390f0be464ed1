"""DeleteGroups (API 42): groups without members."""

from __future__ import annotations

from gateway.exchanges.api import Api, declare
from gateway.rules.declaration import DELETE, Do, ItemShape, Needs

API = declare(
    Api(
        name="DeleteGroups",
        first=0,
        last=2,
        named=Do.REWRITE,
        needs=Needs(group=DELETE),
        items=(ItemShape(0, 2, "groups_names", (), "results", ("group_id",)),),
    )
)
