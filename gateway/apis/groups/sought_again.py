"""Repeated FindCoordinator requests for the same key, at a listener that lists several gateways.

The brokers have other addresses at each gateway, under the same node ids. librdkafka (2.16) takes a
coordinator with the same node id for the same coordinator (``rd_kafka_cgrp_coord_update``,
``rd_kafka_txn_coord_set``), and goes on connecting to the old address, at a gateway that is gone:
when its session has ended the group goes on without it, and its transactions wait. An error makes
librdkafka forget the address. So if a client still seeks a coordinator a while after the response,
on the same connection, it gets COORDINATOR_NOT_AVAILABLE once, after which every client retries.

Only versions with a single key count, because clients that request several keys at once (KIP-699)
use the address in the response.
"""

from __future__ import annotations

from time import monotonic
from typing import Any, Final

from gateway.apis import generic
from gateway.apis.counting import count_errors
from gateway.decision import Denied
from gateway.error_codes import COORDINATOR_NOT_AVAILABLE
from gateway.exchanges.exchange import Exchange, Outcome, RequestHandler
from gateway.exchanges.state import ConnectionState
from protocol import messages

FIRST_WITH_KEYS: Final = 4
"""The first version of FindCoordinator that requests several keys at once."""

AGAIN: Final = (1.0, 10.0)
"""Seconds after which a client that still seeks its coordinator has not reached it. librdkafka asks
twice a second until it reaches the coordinator, and a slow connection must not be disturbed."""

REST_SECONDS: Final = 30.0
"""Seconds without another error after an error, so that a client with a slow login gets through."""

MOST_SOUGHT: Final = 100
"""Keys that a connection remembers; if there are more, it forgets all of them."""

_WHY: Final = Denied(COORDINATOR_NOT_AVAILABLE, "Ask again for the coordinator.", "request")


def checked(handler: RequestHandler) -> RequestHandler:
    """The handler of FindCoordinator's requests, with this check before it."""

    def request(
        state: ConnectionState, exchange: Exchange, buf: bytes, start: int, end: int
    ) -> Outcome:
        plan = exchange.plan
        if plan.version < FIRST_WITH_KEYS and not exchange.refreshed and _lists_gateways(state):
            asked: Any = messages.parse("FindCoordinatorRequest", plan.version, buf[start:end])
            if _is_sought_again(state, (getattr(asked, "key_type", 0), asked.key)):
                exchange.flow = state.flow(plan.api_key, plan.version, b"")
                count_errors(exchange, [COORDINATOR_NOT_AVAILABLE])
                return generic.answer_error(exchange, buf[start:end], _WHY)
        return handler(state, exchange, buf, start, end)

    return request


def _lists_gateways(state: ConnectionState) -> bool:
    worker = state.worker
    return bool(worker.listed_gateways(worker.catalog.snapshot, state.source.listener))


def _is_sought_again(state: ConnectionState, key: tuple[int, str]) -> bool:
    """Whether this client got the coordinator's address lately, and has not reached it."""
    now = monotonic()
    sought = state.sought
    if sought is None or len(sought) >= MOST_SOUGHT:
        sought = state.sought = {}
    since = now - sought.setdefault(key, now)
    if AGAIN[0] <= since < AGAIN[1]:
        sought[key] = now + REST_SECONDS
        return True
    if since >= AGAIN[1]:
        sought[key] = now
    return False
