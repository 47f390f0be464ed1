"""Heartbeat (API 12): a member of a classic group is there."""

from __future__ import annotations

from gateway.exchanges.api import Api, declare
from gateway.rules.declaration import READ, Do, Needs

API = declare(Api("Heartbeat", (0, 4), Do.REWRITE, needs=Needs(group=READ)))
