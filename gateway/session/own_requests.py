"""Requests of the gateway's own on a client's broker connection, between the client's requests.

They are sent while the client's requests wait (an Interlude, or Work), and the client never gets
their responses.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from time import monotonic
from typing import Any, Final

from gateway.apis.table import APIS, plan_of
from gateway.brokers.errors import BrokerError
from gateway.brokers.messages import api_versions_request, request_frame, response_entity
from gateway.exchanges.exchange import Exchange, Outcome, Plan
from gateway.exchanges.kept import Kept
from gateway.exchanges.state import ConnectionState
from protocol.errors import ProtocolError
from protocol.schema import api_key_of

Send = Callable[[Exchange, bytes], None]
"""Sends a request frame among the client's; see ``Connection.send_own``."""

CORRELATION_ID: Final = 0


@dataclass(frozen=True, slots=True)
class Asked(Kept):
    """Marks an exchange as the gateway's own request; ``take`` gets the body of the response."""

    take: Callable[[bytes], None]


async def ask(send: Send, name: str, version: int, entity: Any) -> Any:
    """Send a request, and return the response entity; ``name`` is Kafka's. Raises BrokerError."""
    exchange, request = own_request(name, version, entity)
    answer: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
    # The caller may have been cancelled when the response arrives.
    exchange.kept = Asked(lambda body: None if answer.done() else answer.set_result(body))
    send(exchange, request)
    body = await answer
    try:
        return response_entity(name, version, body)
    except ProtocolError as error:
        raise BrokerError(f"the broker's response to {name} cannot be read: {error}") from None


def own_request(name: str, version: int, entity: Any) -> tuple[Exchange, bytes]:
    """An exchange and its request frame. The caller sets the exchange's ``kept`` to
    :class:`Asked`."""
    request = request_frame(name, version, CORRELATION_ID, entity)
    plan = _plan(api_key_of(name), version)
    return Exchange(plan, CORRELATION_ID, monotonic(), len(request)), request


def proof() -> tuple[Exchange, bytes]:
    """A small request whose response shows that the broker has carried out the requests before it:
    brokers handle the requests of a connection in order."""
    exchange, request = own_request("ApiVersionsRequest", 0, api_versions_request(0))
    exchange.kept = Asked(lambda _: None)
    return exchange, request


@cache
def _plan(api_key: int, version: int) -> Plan:
    return Plan(APIS[api_key], version, _not_from_clients, _answered, plan_of)


def _not_from_clients(
    state: ConnectionState, exchange: Exchange, buf: bytes, start: int, end: int
) -> Outcome:
    raise AssertionError("this plan is for requests of the gateway's own")


def _answered(state: ConnectionState, exchange: Exchange, buf: bytes, start: int, end: int) -> None:
    assert isinstance(exchange.kept, Asked)
    exchange.kept.take(buf[start:end])
