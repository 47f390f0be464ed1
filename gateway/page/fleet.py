"""Figures of the other gateways of a fleet: while the page is open, the supervisor requests
``/summary`` of each at ``metrics.fleet_url``, a few figures that each has at hand."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final
from urllib.parse import quote

import aiohttp

from gateway.config.values import GATEWAY_ID
from gateway.foreign_text import shown_text
from gateway.page.observed import Item

EVERY_SECONDS: Final = 5.0
WAIT_SECONDS: Final = 2.0
MAX_GATEWAYS: Final = 50

_MAX_BYTES: Final = 16_384
_MAX_REASON: Final = 100
_MOST: Final = 2**53
"""The largest count that a browser can tell from the next integer."""

_COUNTS: Final = ("requests", "bytes_in", "bytes_out", "errors", "denials")


def page_of(fleet_url: str, gateway_id: str) -> str:
    """The address of a gateway's page, which ends in ``/``.

    >>> page_of("https://{gateway_id}.ops.example.org:9404", "gw-b")
    'https://gw-b.ops.example.org:9404/'
    """
    return fleet_url.replace(GATEWAY_ID, quote(gateway_id, safe="")).rstrip("/") + "/"


class FleetFigures:
    """The figures of other gateways, by id, from their last responses. ``now`` is a monotonic clock
    in seconds."""

    def __init__(
        self, fleet_url: str, own_id: str, now: Callable[[], float] = time.monotonic
    ) -> None:
        self._fleet_url = fleet_url
        self._own_id = own_id
        self._now = now
        self._asked = float("-inf")
        self._asking: asyncio.Task[None] | None = None
        self._found: dict[str, Item] = {}

    def look(self, gateway_ids: Iterable[str]) -> None:
        """Request the figures again, unless they were requested a moment ago."""
        running = self._asking is not None and not self._asking.done()
        if running or self._now() - self._asked < EVERY_SECONDS:
            return
        others = sorted({one for one in gateway_ids if one != self._own_id})[:MAX_GATEWAYS]
        if others:
            self._asked = self._now()
            self._asking = asyncio.create_task(self._ask(others), name="figures of the fleet")

    def begin(self) -> None:
        """Forget all figures; the page is opened again after a while."""
        if self._asking is not None:
            self._asking.cancel()
        self._asked = float("-inf")
        self._found = {}

    def items(self) -> Mapping[str, Item]:
        """Figures by gateway id; without ``second`` if the gateway did not respond."""
        return self._found

    async def _ask(self, gateway_ids: list[str]) -> None:
        timeout = aiohttp.ClientTimeout(total=WAIT_SECONDS)
        async with aiohttp.ClientSession(timeout=timeout) as session:
            answers = await asyncio.gather(*(self._one(session, each) for each in gateway_ids))
        self._found = dict(zip(gateway_ids, answers, strict=True))

    async def _one(self, session: aiohttp.ClientSession, gateway_id: str) -> Item:
        try:
            url = f"{page_of(self._fleet_url, gateway_id)}summary"
            async with session.get(url, allow_redirects=False) as response:
                content = await response.content.read(_MAX_BYTES)
                return checked(json.loads(content), gateway_id)
        # JSON that is nested too deep raises RecursionError.
        except (aiohttp.ClientError, OSError, TimeoutError, ValueError, RecursionError) as error:
            return {"problem": _reason(error)}


def checked(answer: object, gateway_id: str) -> Item:
    """The figures of a response, of numbers alone. Raises ValueError if it is malformed, or if
    another gateway responds at the address."""
    match answer:
        case {
            "id": str(said),
            "ready": bool(ready),
            "connections": int(connections),
            "second": dict(second),
        }:
            if said != gateway_id:
                raise ValueError(f"{said[:_MAX_REASON]} answers there")
            counts: dict[str, Any] = {name: second.get(name) for name in _COUNTS}
            if all(map(_is_count, (connections, *counts.values()))):
                return {"ready": ready, "connections": connections, "second": counts}
    raise ValueError("what answers is no page of this version")


def _is_count(value: Any) -> bool:
    """Whether a value is a number that the page can show: JSON may also hold NaN, Infinity, and
    integers of any length."""
    return type(value) in (int, float) and 0 <= value <= _MOST


def _reason(error: BaseException) -> str:
    if isinstance(error, TimeoutError):
        return "no answer"
    if isinstance(error, aiohttp.ClientConnectorError):
        return "no connection"
    return shown_text(error, _MAX_REASON) or type(error).__name__
