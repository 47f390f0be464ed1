"""AddOffsetsToTxn (API 25): a group whose offsets a transaction commits."""

from __future__ import annotations

from gateway.exchanges.api import Api, declare
from gateway.rules.declaration import READ, WRITE, Do, Needs

API = declare(
    Api("AddOffsetsToTxn", (0, 4), Do.REWRITE, needs=Needs(group=READ, transactional_id=WRITE))
)
