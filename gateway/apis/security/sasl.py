"""SaslHandshake (API 17) and SaslAuthenticate (API 36): re-authentication (KIP-368).

A connection's first login ends before its requests arrive here (``gateway.auth.login``). The
gateway answers both APIs itself; if clients log in by pass-through, it repeats the exchange with
the broker. A listener without SASL answers ILLEGAL_SASL_STATE, as Kafka does.
"""

from __future__ import annotations

import asyncio
from time import monotonic
from typing import Final

from gateway.auth.messages import AUTHENTICATE, HANDSHAKE, handshake_answer, illegal_state, parse
from gateway.auth.reauthentication import (
    AnyReauthentication,
    PassThroughReauthentication,
    Reauthentication,
    RejectedReauthentication,
)
from gateway.error_codes import ILLEGAL_SASL_STATE, UNSUPPORTED_SASL_MECHANISM
from gateway.exchanges.api import Api
from gateway.exchanges.exchange import Answer, Exchange, Outcome, Unanswerable, Work
from gateway.exchanges.state import ConnectionState
from gateway.rules.declaration import Do

_FIRST_WITH_REQUESTS: Final = 1
"""After SaslHandshake v0 bare tokens follow, which cannot be told from requests here."""

MIN_INTERVAL: Final = 1.0
"""Seconds between the beginnings of two re-authentications, as at brokers
(KafkaChannel.maybeBeginServerReauthentication); a handshake that comes too soon changes nothing."""


def handshake(
    state: ConnectionState, exchange: Exchange, buf: bytes, start: int, end: int
) -> Outcome:
    """Begin a re-authentication, if the session ends before its connection: otherwise brokers begin
    none (KafkaChannel.maybeBeginServerReauthentication). A handshake within a re-authentication, or
    by a mechanism that is not enabled, ends the connection (SaslServerAuthenticator)."""
    version = _count_and_version(state, exchange)
    mechanism = parse(HANDSHAKE, version, buf[start:end]).mechanism
    listener = state.worker.sasl.get(state.source.listener)
    illegal = handshake_answer(version, (), ILLEGAL_SASL_STATE)
    now, latest, reauth = monotonic(), state.reauth_began, state.reauth
    too_soon = latest is not None and now - latest < MIN_INTERVAL
    if listener is None:
        return Answer(illegal)
    if reauth is not None and not reauth.over:
        return _failing(state, reauth, "it sent another SaslHandshake", illegal)
    if version < _FIRST_WITH_REQUESTS or state.identity.expires is None or too_soon:
        return Answer(illegal)
    state.reauth_began = now
    if mechanism not in listener.names:
        state.reauth = RejectedReauthentication(state.identity, now)
        answer = handshake_answer(version, listener.names, UNSUPPORTED_SASL_MECHANISM)
        return _failing(state, state.reauth, "it chose a mechanism that is not enabled", answer)
    through, ask = state.worker.pass_through.get(state.source.listener), state.ask_broker
    if through is not None and ask is not None:
        again = PassThroughReauthentication(through, state.identity, mechanism, now)
        state.reauth = again
        return Work(lambda: again.agree(version, ask))
    state.reauth = Reauthentication(listener, state.identity, mechanism, now)
    return Answer(handshake_answer(version, listener.names))


def authenticate(
    state: ConnectionState, exchange: Exchange, buf: bytes, start: int, end: int
) -> Outcome:
    """Accept a token. The outcome is ``Work``, so that later requests wait for it; the connection
    itself applies it."""
    version = _count_and_version(state, exchange)
    token = parse(AUTHENTICATE, version, buf[start:end]).auth_bytes
    reauth = state.reauth
    if reauth is None or reauth.over or isinstance(reauth, RejectedReauthentication):
        text = "SaslAuthenticate needs a SaslHandshake before it."
        return Answer(illegal_state(AUTHENTICATE, version, text))

    async def run() -> bytes:
        if isinstance(reauth, PassThroughReauthentication):
            assert state.ask_broker is not None
            body = await reauth.step(version, token, state.ask_broker)
        else:
            if (work := reauth.work(token)) is not None:
                await state.worker.verify(state.host, work)
            body = reauth.step(version, token)
        if reauth.failed is not None:
            await _delay(state)
        if not body:
            raise Unanswerable(reauth.failed)
        return body

    return Work(run)


def _failing(state: ConnectionState, reauth: AnyReauthentication, reason: str, body: bytes) -> Work:
    """Fail a re-authentication with the response ``body``, behind which the connection ends."""

    async def run() -> bytes:
        reauth.failed = reason
        await _delay(state)
        return body

    return Work(run)


async def _delay(state: ConnectionState) -> None:
    """Wait for as long as a failed login is answered later."""
    if state.worker.failure_delay:
        await asyncio.sleep(state.worker.failure_delay)


def _count_and_version(state: ConnectionState, exchange: Exchange) -> int:
    plan = exchange.plan
    exchange.flow = state.flow(plan.api_key, plan.version, b"")
    return plan.version


SASL_HANDSHAKE = Api(
    "SaslHandshake",
    (0, 1),
    Do.ANSWER,
    why="on an open connection: KIP-368",
    request=handshake,
)
SASL_AUTHENTICATE = Api(
    "SaslAuthenticate",
    (0, 2),
    Do.ANSWER,
    why="on an open connection: KIP-368",
    request=authenticate,
)
