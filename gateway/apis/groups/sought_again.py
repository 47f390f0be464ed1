"""Coordinators that a client seeks again and again, at a listener that lists several gateways.

The brokers are at other addresses at each gateway, under the same node ids. librdkafka (2.16) takes
a coordinator for the same as before if its node id is (``rd_kafka_cgrp_coord_update``,
``rd_kafka_txn_coord_set``), and goes on connecting to the address that it had, at a gateway that is
gone: its group goes on without it when its session has ended, and its transactions wait. An error
makes it forget the address. So whoever still seeks a coordinator some time after it was told of it,
on the same connection, gets COORDINATOR_NOT_AVAILABLE once, after which every client tries again.

Only versions that ask for a single key count: clients that ask for several at once (KIP-699) go by
the address that they get.
"""

from __future__ import annotations

from time import monotonic
from typing import Any, Final

from gateway.apis import generic
from gateway.apis.counting import count_errors
from gateway.decision import Denied
from gateway.error_codes import COORDINATOR_NOT_AVAILABLE
from gateway.exchanges.api import Api
from gateway.exchanges.exchange import Exchange, Outcome, RequestHandler
from gateway.exchanges.state import ConnectionState
from protocol import messages

FIRST_WITH_KEYS: Final = 4
"""The first version of FindCoordinator that asks for several keys at once."""

AGAIN: Final = (1.0, 10.0)
"""Seconds after which a client that asks again has not reached its coordinator: librdkafka asks
twice a second as long as it has not, and one that is slow to connect must not be disturbed."""

REST_SECONDS: Final = 30.0
"""After an error there is none for so long: whoever needs longer to log in comes through."""

MOST_SOUGHT: Final = 100
"""Keys that a connection remembers; with more it starts afresh."""

_WHY: Final = Denied(COORDINATOR_NOT_AVAILABLE, "Ask again for the coordinator.", "request")


def request_of(api: Api, handler: RequestHandler) -> RequestHandler:
    """The handler of FindCoordinator's requests, with that; the very same one for other APIs."""
    if api.name != "FindCoordinator":
        return handler

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
    return bool(worker.gateway_nodes.at(worker.catalog.snapshot, state.source.listener))


def _is_sought_again(state: ConnectionState, key: tuple[int, str]) -> bool:
    """Whether this client was told of the coordinator lately, and has not reached it."""
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
