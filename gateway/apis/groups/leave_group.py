"""LeaveGroup (API 13): members leave a classic group."""

from __future__ import annotations

from gateway.exchanges.api import Api, declare
from gateway.rules.declaration import READ, Do, Needs

API = declare(Api("LeaveGroup", (0, 5), Do.REWRITE, needs=Needs(group=READ)))
