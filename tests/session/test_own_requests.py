"""gateway.session.own_requests: the gateway's requests to a client's broker among the client's
own."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from gateway.brokers.errors import BrokerError
from gateway.exchanges.exchange import Exchange
from gateway.session.own_requests import CORRELATION_ID, Asked, ask, own_request
from protocol import messages
from protocol.headers import read_request_header


def handshake() -> Any:
    return messages.build(messages.message_class("SaslHandshakeRequest", 1), mechanism="PLAIN")


QUESTION = ("SaslHandshakeRequest", 1, handshake())


def asked_of(body: bytes) -> Any:
    """The result of a SaslHandshake whose response has this body."""

    def send(exchange: Exchange, request: bytes) -> None:
        assert exchange.plan.api_key == 17
        assert isinstance(exchange.kept, Asked)
        exchange.kept.take(body)

    return asyncio.run(ask(send, *QUESTION))


def test_a_request_is_a_whole_frame_and_its_exchange_knows_its_size() -> None:
    exchange, request = own_request("SaslHandshakeRequest", 1, handshake())
    assert int.from_bytes(request[:4], "big") == len(request) - 4
    assert exchange.size == len(request)
    header = read_request_header(request, 4, len(request))
    assert header[:4] == (17, 1, CORRELATION_ID, b"kafka-namespace-gateway")
    assert exchange.correlation_id == CORRELATION_ID


def test_the_answer_is_an_entity() -> None:
    message = messages.message_class("SaslHandshakeResponse", 1)
    body = messages.write(messages.build(message, mechanisms=("PLAIN", "GSSAPI")))
    assert asked_of(body).mechanisms == ("PLAIN", "GSSAPI")


def test_an_answer_that_makes_no_sense() -> None:
    with pytest.raises(BrokerError, match="response to SaslHandshakeRequest cannot be read"):
        asked_of(b"\0\0\0\0\0\x07")


def test_an_answer_that_nobody_waits_for_any_more() -> None:
    exchanges: list[Exchange] = []

    async def given_up() -> None:
        asking = ask(lambda exchange, _: exchanges.append(exchange), *QUESTION)
        task = asyncio.create_task(asking)
        await asyncio.sleep(0)
        task.cancel()
        await asyncio.wait([task])
        kept = exchanges[0].kept
        assert isinstance(kept, Asked)
        kept.take(b"late")

    asyncio.run(given_up())
    assert len(exchanges) == 1


def test_a_client_cannot_use_its_plan() -> None:
    exchange, request = own_request("SaslHandshakeRequest", 1, handshake())
    with pytest.raises(AssertionError, match="gateway's own"):
        exchange.plan.on_request(None, exchange, request, 0, 0)  # type: ignore[arg-type]
