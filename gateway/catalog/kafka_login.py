"""The gateway's own login on aiokafka's connections.

aiokafka can log in by itself, but does not tell how long the broker lets a session last (KIP-368);
so the exchange is the gateway's own, the same as on all its connections.
"""

from __future__ import annotations

from collections.abc import Collection

from aiokafka.conn import AIOKafkaConnection
from aiokafka.protocol.admin import SaslAuthenticateRequest, SaslHandShakeRequest

from gateway.brokers.login import BrokerLogin, log_in

_MILLISECONDS = 1000


async def log_in_at(connection: AIOKafkaConnection, login: BrokerLogin | None) -> float:
    """Log in, if that is asked for; returns for how many seconds (0: no end).

    Raises LoginError, and aiokafka's own errors.
    """
    if login is None:
        return 0.0
    await log_in(login, _Channel(connection))
    return login.session_seconds


class _Channel:
    """See gateway.brokers.login.Channel."""

    def __init__(self, connection: AIOKafkaConnection) -> None:
        self._connection = connection

    async def handshake(self, mechanism: str) -> tuple[int, Collection[str]]:
        answer = await self._connection.send(SaslHandShakeRequest(mechanism))
        return answer.error_code, answer.enabled_mechanisms

    async def authenticate(self, token: bytes) -> tuple[int, str | None, bytes, float]:
        answer = await self._connection.send(SaslAuthenticateRequest(token))
        # Only v1 (Kafka 2.2) tells it.
        seconds = getattr(answer, "session_lifetime_ms", 0) / _MILLISECONDS
        return answer.error_code, answer.error_message, answer.sasl_auth_bytes, seconds
