"""DeleteGroups (API 42): group ids are rewritten and need DELETE; denied ones get an error each."""

from __future__ import annotations

from gateway.exchanges.api import Api
from gateway.rules.declaration import DELETE, Do, ItemShape, Needs

API = Api(
    "DeleteGroups",
    (0, 2),
    Do.REWRITE,
    needs=Needs(group=DELETE),
    items=(ItemShape("groups_names", (), "results", ("group_id",)),),
)
