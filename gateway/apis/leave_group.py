"""LeaveGroup (API 13): members leave a classic group."""

from __future__ import annotations

from gateway.exchanges.api import Api, declare
from gateway.rules.declaration import READ, Do, Needs

API = declare(
    Api(
        name="LeaveGroup",
        first=0,
        last=5,
        named=Do.REWRITE,
        needs=Needs(group=READ),
    )
)
