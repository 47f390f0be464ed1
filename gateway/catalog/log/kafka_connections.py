"""Connections to the brokers of the catalog's topic, the audit topic and the traffic topic.

Neither a consumer nor a producer of a library is used, because they create a deleted topic anew by
the broker's defaults (with a retention, which would delete the catalog), let a long poll hold up
every other request, and retry errors that only the caller can judge.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any, Final

from gateway.brokers.connection import BrokerConnection
from gateway.brokers.errors import BrokerError, SecurityError
from gateway.brokers.messages import broker_addresses
from gateway.brokers.security import BrokerSecurity
from gateway.brokers.staggered import first_of
from gateway.catalog.log.records import LogError, LogLost
from protocol.messages import Request
from protocol.schema import error_name

log = logging.getLogger(__name__)

Address = tuple[str, int]

CLIENT_ID: Final = "kafka-namespace-gateway-catalog"
"""The client id by which brokers tell these connections from the gateway's others."""

ANSWER_SECONDS: Final = 5.0
"""Seconds for a response; the time that a request may wait at the broker is added."""

UNKNOWN_TOPIC: Final = 3
PARTITION: Final = 0

_ALL_REPLICAS: Final = -1
# Version 12 of Produce adds partitions to transactions (KIP-890), 13 names topics by id (KIP-516).
NEEDS: Final[Mapping[str, int]] = {"MetadataRequest": 9, "ProduceRequest": 11}
"""Kafka's name of a request made here -> its newest version."""

_LONGEST_SECONDS: Final = 60.0
"""Longer than any request here waits: each has a limit of its own."""


def own_request(needs: Mapping[str, int], name: str, values: Mapping[str, Any]) -> Request:
    """A request in the newest version that the broker has, up to the version in ``needs``."""
    return Request(name, needs[name], values)


def produce_request(
    topic: str, partition: int, batch: bytes, seconds: float, transactional_id: str | None = None
) -> Request:
    """A Produce request of a record batch that all in-sync replicas must have within so many
    seconds."""
    partitions = [{"index": partition, "records": batch}]
    values = {
        "transactional_id": transactional_id,
        "acks": _ALL_REPLICAS,
        "timeout": timedelta(seconds=seconds),
        "topic_data": [{"name": topic, "partition_data": partitions}],
    }
    return own_request(NEEDS, "ProduceRequest", values)


class Connections:
    """At most one connection for each broker and purpose. All of it belongs to one event loop.

    If the broker will soon end a connection's session (KIP-368), a new connection replaces it.
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
        self._logged: dict[Address, str] = {}

    async def ask(
        self, address: Address, request: Request, purpose: str, wait: float = ANSWER_SECONDS
    ) -> Any:
        """The response of a broker, within ``wait`` seconds. Raises LogError.

        Requests of the same ``purpose`` share a connection, on which they take turns.
        """
        key = (address, purpose)
        try:
            async with asyncio.timeout(wait):
                opened = await self._connected(key)
                with opened:
                    return await opened.connection.ask(request)
        # Close the connection (after a cancellation, too), because it is not certain to which
        # request its next bytes belong.
        except BaseException as error:
            self._drop(key)
            self.forget_leader()
            if isinstance(error, (BrokerError, TimeoutError)):
                log.debug("%s:%d: %r", *address, error)
                raise LogError(f"a broker does not answer ({_reason(error)})") from error
            raise

    async def ask_leader(self, request: Request, purpose: str, wait: float = ANSWER_SECONDS) -> Any:
        """The response of the partition's leader. Raises LogError."""
        if self._leader is None:
            self._leader = await self._find_leader()
        return await self.ask(self._leader, request, purpose, wait)

    async def ask_any(self, request: Request, purpose: str) -> Any:
        """The first response of any broker. Raises LogError."""
        failure = LogError("no broker is known")

        def failed(_: Address, error: Exception) -> None:
            nonlocal failure
            if not isinstance(error, LogError):
                raise error
            failure = error

        response = await first_of(
            dict.fromkeys((*self._brokers, *self._bootstrap_servers)),
            lambda address: self.ask(address, request, purpose),
            timeout=ANSWER_SECONDS,
            failed=failed,
            discard=lambda _: None,
        )
        if response is None:
            raise failure
        return response

    def forget_leader(self) -> None:
        """Forget the partition's leader, so that the next request looks for it again."""
        self._leader = None

    async def metadata(self, purpose: str) -> tuple[dict[int, Address], Any]:
        """The addresses of the brokers, by node id, and a broker's metadata of the topic, as far as
        it has any. Raises LogError."""
        values = {"topics": [{"name": self.topic}], "allow_auto_topic_creation": False}
        response = await self.ask_any(own_request(NEEDS, "MetadataRequest", values), purpose)
        brokers = broker_addresses(response)
        self._brokers = tuple(brokers.values()) or self._brokers
        found = (topic for topic in response.topics if topic.name == self.topic)
        return brokers, next(found, None)

    async def close(self) -> None:
        """Close every connection."""
        for opened in self._open.values():
            opened.connection.close()
        self._open.clear()
        self.forget_leader()
        await asyncio.sleep(0)  # the event loop closes the sockets in its next turn

    async def _connected(self, key: tuple[Address, str]) -> _Open:
        found = self._open.get(key)
        if found is not None and found.connection.is_open:
            return found
        if found is not None:
            del self._open[key]
            found.leave()
        made = _Open(await self._connect(key[0]))
        meanwhile = self._open.get(key)
        if meanwhile is not None and meanwhile.connection.is_open:
            made.connection.close()  # another request has connected meanwhile
            return meanwhile
        self._open[key] = made
        return made

    async def _connect(self, address: Address) -> BrokerConnection:
        try:
            connection = await BrokerConnection.connect(
                *address,
                timeout=_LONGEST_SECONDS,
                security=self._security,
                client_id=CLIENT_ID,
            )
        except SecurityError as error:
            # Log it again only if the error changes.
            if self._logged.get(address) != str(error):
                self._logged[address] = str(error)
                log.warning("the catalog cannot be reached at %s:%d: %s", *address, error)
            raise
        self._logged.pop(address, None)
        return connection

    async def _find_leader(self) -> Address:
        brokers, topic = await self.metadata("ask")
        if topic is not None and topic.error_code == UNKNOWN_TOPIC:
            raise LogLost("its topic is not there (UNKNOWN_TOPIC_OR_PARTITION)")
        if topic is not None and topic.error_code:
            raise LogError(f"its topic is not there ({error_name(topic.error_code)})")
        for partition in () if topic is None else topic.partitions:
            if partition.partition_index == PARTITION and partition.leader_id in brokers:
                return brokers[partition.leader_id]
        raise LogError("its topic has no leader")

    def _drop(self, key: tuple[Address, str]) -> None:
        found = self._open.pop(key, None)
        if found is not None:
            found.connection.close()


class _Open:
    """A connection, and the number of requests in flight on it (``with``)."""

    def __init__(self, connection: BrokerConnection) -> None:
        self.connection = connection
        self._under_way = 0
        self._left = False

    def leave(self) -> None:
        """Close the connection when its last request has a response."""
        self._left = True
        self._close_if_left()

    def __enter__(self) -> None:
        self._under_way += 1

    def __exit__(self, *_: object) -> None:
        self._under_way -= 1
        self._close_if_left()

    def _close_if_left(self) -> None:
        if self._left and not self._under_way:
            self.connection.close()


def _reason(error: Exception) -> str:
    """The reason, as far as clients may know it: the details of a failed login are for the
    operator."""
    if isinstance(error, TimeoutError):
        return "no answer in time"
    return type(error).__name__ if isinstance(error, SecurityError) else str(error)
