"""EndTxn (API 26): a transaction is committed, or aborted."""

from __future__ import annotations

from gateway.exchanges.api import Api, declare
from gateway.rules.declaration import WRITE, Do, Needs

API = declare(
    Api(
        "EndTxn",
        (0, 5),
        Do.REWRITE,
        needs=Needs(transactional_id=WRITE),
        beside_error={"producer_id": -1, "producer_epoch": -1},
    )
)
