"""Throttle times in brokers' responses (KIP-124, KIP-599): whose request, and for how long.

A broker that throttles a request responds at once with the throttle time, and reads nothing more
from that connection meanwhile (KIP-219). The gateway's own connections serve several clients.
"""

from __future__ import annotations

from dataclasses import fields
from datetime import timedelta
from functools import cache
from typing import Any, Final

from gateway.brokers.messages import ClusterAdmin
from protocol import messages
from protocol.messages import Request
from protocol.schema import response_name

_FIELD: Final = "throttle_time"
_BYTES: Final = 4
_NO_TIME: Final = timedelta()
_MILLISECOND: Final = timedelta(milliseconds=1)


class OneClientsAdmin:
    """A :class:`ClusterAdmin` for one client request; ``throttle_ms``, for its response, is the
    longest throttle time of the requests sent for it."""

    def __init__(self, admin: ClusterAdmin) -> None:
        self.throttle_ms = 0
        self._admin = admin

    async def ask(self, request: Request, *, changes: bool = True) -> Any:
        """Return the response entity. Raises an OSError when no broker responds."""
        response = await self._admin.ask(request, changes=changes)
        throttled = getattr(response, _FIELD, _NO_TIME) // _MILLISECOND
        self.throttle_ms = max(self.throttle_ms, throttled)
        return response

    async def ask_at(
        self, address: tuple[str, int], request: Request, *, within: float | None = None
    ) -> Any:
        """Return the response entity of a broker. Its throttle time is not counted, because other
        clients may share the response. Raises an OSError without a response."""
        return await self._admin.ask_at(address, request, within=within)


def throttle_ms(api_key: int, version: int, body: bytes) -> int:
    """The throttle time in a response body, 0 where such responses do not begin with a throttle
    time."""
    if not _begins_with_it(api_key, version):
        return 0
    return max(int.from_bytes(body[:_BYTES], "big", signed=True), 0)


def with_throttle_ms(api_key: int, version: int, body: bytes, ms: int) -> bytes:
    """A response body with this throttle time, if such responses begin with a throttle time."""
    if not ms or not _begins_with_it(api_key, version):
        return body
    return ms.to_bytes(_BYTES, "big") + body[_BYTES:]


@cache
def _begins_with_it(api_key: int, version: int) -> bool:
    names = (
        field.name for field in fields(messages.message_class(response_name(api_key), version))
    )
    return next(names, "") == _FIELD
