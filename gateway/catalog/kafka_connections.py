"""Connections to the brokers of the catalog, on aiokafka's protocol.

aiokafka's connections and messages are used, its consumer and producer are not: they make a
deleted topic anew by the broker's defaults (with a retention, which would eat the catalog), let a
long poll hold up every other question, and retry what only the caller can judge.
"""

from __future__ import annotations

import asyncio
import logging
import ssl
from collections.abc import Collection, Sequence
from typing import Any, Final

from aiokafka.conn import AIOKafkaConnection, create_conn
from aiokafka.errors import KafkaError, for_code
from aiokafka.protocol.admin import SaslAuthenticateRequest, SaslHandShakeRequest
from aiokafka.protocol.metadata import MetadataRequest

from gateway.brokers.login import BrokerLogin, log_in
from gateway.brokers.messages import BrokerError
from gateway.brokers.security import SESSION_USE, BrokerSecurity
from gateway.catalog.partition import LogError

log = logging.getLogger(__name__)

Address = tuple[str, int]

CLIENT_ID: Final = "kafka-namespace-gateway-catalog"
ANSWER_SECONDS: Final = 5.0
"""For one answer; what waits at the broker has its waiting time on top."""

PARTITION: Final = 0


def error_name(code: int) -> str:
    """What Kafka calls an error code, as aiokafka spells it; its number where it has no name."""
    error = for_code(code)
    return str(error.__name__) if error.errno == code else f"error {code}"


class Connections:
    """At most one connection for each broker and purpose. All of it belongs to one event loop.

    A connection whose session the broker will soon end (KIP-368) is left for a new one.
    """

    def __init__(
        self,
        bootstrap_servers: Sequence[Address],
        topic: str,
        security: BrokerSecurity | None = None,
    ) -> None:
        self.topic = topic
        self._bootstrap_servers = tuple(bootstrap_servers)
        self._security = security or BrokerSecurity()
        self._open: dict[tuple[Address, str], _Open] = {}
        self._brokers: tuple[Address, ...] = ()
        self._leader: Address | None = None
        self._told: dict[Address, str] = {}

    async def ask(
        self, address: Address, request: Any, purpose: str, wait: float = ANSWER_SECONDS
    ) -> Any:
        """The answer of one broker, within ``wait`` seconds. Raises LogError.

        Questions of one ``purpose`` share a connection, where a broker answers in their order.
        """
        key = (address, purpose)
        try:
            async with asyncio.timeout(wait):
                connection = await self._connected(key)
                with connection:
                    return await connection.send(request)
        # What the next bytes belong to is not certain any more, also when nobody waits for them.
        except BaseException as error:
            self._drop(key)
            self.forget_leader()
            if isinstance(error, (BrokerError, KafkaError, OSError, EOFError, ValueError)):
                log.debug("%s:%d: %r", *address, error)
                reason = "no answer in time" if isinstance(error, TimeoutError) else _name(error)
                raise LogError(f"a broker does not answer ({reason})") from error
            raise

    async def ask_leader(self, request: Any, purpose: str, wait: float = ANSWER_SECONDS) -> Any:
        """The answer of the partition's leader. Raises LogError."""
        if self._leader is None:
            self._leader = await self._find_leader()
        return await self.ask(self._leader, request, purpose, wait)

    async def ask_any(self, request: Any, purpose: str) -> Any:
        """The answer of the first broker that gives one. Raises LogError."""
        failure = LogError("no broker is known")
        for address in dict.fromkeys((*self._brokers, *self._bootstrap_servers)):
            try:
                return await self.ask(address, request, purpose)
            except LogError as error:
                failure = error
        raise failure

    def forget_leader(self) -> None:
        """The partition's leader is asked for again before the next question to it."""
        self._leader = None

    async def close(self) -> None:
        """Close every connection."""
        closed = [found.connection.close() for found in self._open.values()]
        self._open.clear()
        self.forget_leader()
        if waiting := [future for future in closed if future is not None]:
            await asyncio.wait(waiting, timeout=1.0)

    async def _connected(self, key: tuple[Address, str]) -> _Open:
        found = self._open.get(key)
        if found is not None and found.leave_at < asyncio.get_running_loop().time():
            del self._open[key]
            found.leave()
            found = None
        if found is not None and found.connection.connected():
            return found
        made = await self._connect(key[0])
        meanwhile = self._open.get(key)
        if meanwhile is not None and meanwhile.connection.connected():
            made.connection.close()  # another question was as early
            return meanwhile
        self._open[key] = made
        return made

    async def _connect(self, address: Address) -> _Open:
        host, port = address
        security = self._security
        options: dict[str, Any] = {}
        try:
            if security.has_tls:
                options = {"security_protocol": "SSL", "ssl_context": security.context()}
            connection = await create_conn(
                host,
                port,
                client_id=CLIENT_ID,
                # Each question has its own limit.
                request_timeout_ms=60_000,
                **options,
            )
            try:
                seconds = await log_in_at(connection, security.login())
            except BaseException:
                connection.close()
                raise
        except (BrokerError, ssl.SSLError) as error:
            self._tell(address, error)
            raise
        self._told.pop(address, None)
        return _Open(connection, seconds)

    def _tell(self, address: Address, error: Exception) -> None:
        """Log why a broker is not believed, or does not believe us; again only if that changes."""
        reason = self._security.reason(error)
        if self._told.get(address) != reason:
            self._told[address] = reason
            log.warning("the catalog cannot be reached at %s:%d: %s", *address, reason)

    async def _find_leader(self) -> Address:
        request = MetadataRequest([self.topic], allow_auto_topic_creation=False)
        response = await self.ask_any(request, "ask")
        brokers = {broker[0]: (broker[1], broker[2]) for broker in response.brokers}
        self._brokers = tuple(brokers.values()) or self._brokers
        for code, name, _, partitions in response.topics:
            if name != self.topic:
                continue
            if code:
                raise LogError(f"its topic is not there ({error_name(code)})")
            for _, partition, leader, *_ in partitions:
                if partition == PARTITION and leader in brokers:
                    return brokers[leader]
        raise LogError("its topic has no leader")

    def _drop(self, key: tuple[Address, str]) -> None:
        found = self._open.pop(key, None)
        if found is not None:
            found.connection.close()


class _Open:
    """A connection, when to leave it, and how many questions are under way on it (``with``)."""

    def __init__(self, connection: AIOKafkaConnection, session_seconds: float) -> None:
        now = asyncio.get_running_loop().time()
        self.connection = connection
        self.leave_at = now + SESSION_USE * session_seconds if session_seconds else float("inf")
        self._asked = 0
        self._left = False

    async def send(self, request: Any) -> Any:
        """The answer to one question."""
        return await self.connection.send(request)

    def leave(self) -> None:
        """Close it when the last question has been answered."""
        self._left = True
        self._close_if_left()

    def __enter__(self) -> None:
        self._asked += 1

    def __exit__(self, *_: object) -> None:
        self._asked -= 1
        self._close_if_left()

    def _close_if_left(self) -> None:
        if self._left and not self._asked:
            self.connection.close()


def _name(error: BaseException) -> str:
    return type(error).__name__


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
