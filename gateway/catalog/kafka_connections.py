"""Connections to the brokers of the catalog, on aiokafka's protocol.

aiokafka's connections and messages are used, its consumer and producer are not: they make a
deleted topic anew by the broker's defaults (with a retention, which would eat the catalog), let a
long poll hold up every other question, and retry what only the caller can judge.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping, Sequence
from typing import Any, Final

from aiokafka.conn import AIOKafkaConnection, create_conn
from aiokafka.errors import KafkaError, for_code
from aiokafka.protocol.metadata import MetadataRequest

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

    ``settings`` are aiokafka's connection settings (security_protocol, ssl_context, sasl_...).
    """

    def __init__(
        self,
        bootstrap_servers: Sequence[Address],
        topic: str,
        settings: Mapping[str, Any] | None = None,
    ) -> None:
        self.topic = topic
        self._bootstrap_servers = tuple(bootstrap_servers)
        self._settings = dict(settings or {})
        self._open: dict[tuple[Address, str], AIOKafkaConnection] = {}
        self._brokers: tuple[Address, ...] = ()
        self._leader: Address | None = None

    async def ask(
        self, address: Address, request: Any, purpose: str, wait: float = ANSWER_SECONDS
    ) -> Any:
        """The answer of one broker, within ``wait`` seconds. Raises LogError.

        Questions of one ``purpose`` share a connection, where a broker answers in their order.
        """
        key = (address, purpose)
        try:
            async with asyncio.timeout(wait):
                connection = self._open.get(key)
                if connection is None or not connection.connected():
                    connection = self._open[key] = await self._connect(address)
                return await connection.send(request)
        # What the next bytes belong to is not certain any more, also when nobody waits for them.
        except BaseException as error:
            self._drop(key)
            self.forget_leader()
            if isinstance(error, (KafkaError, OSError, EOFError, ValueError)):
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
        closed = [connection.close() for connection in self._open.values()]
        self._open.clear()
        self.forget_leader()
        if waiting := [future for future in closed if future is not None]:
            await asyncio.wait(waiting, timeout=1.0)

    async def _connect(self, address: Address) -> AIOKafkaConnection:
        host, port = address
        return await create_conn(
            host,
            port,
            client_id=CLIENT_ID,
            # Each question has its own limit.
            request_timeout_ms=60_000,
            **self._settings,
        )

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
        connection = self._open.pop(key, None)
        if connection is not None:
            connection.close()


def _name(error: BaseException) -> str:
    return type(error).__name__
