"""A client of the gateway's wire protocol: a single connection, a single request at a time.

A single connection is enough, because the gateway answers or forwards
administrative requests on any port.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from gateway.brokers.connection import BrokerConnection
from gateway.brokers.errors import BrokerError, LoginError
from gateway.commands.client_properties import ClientSecurity
from gateway.commands.errors import CommandError, Unavailable
from gateway.config.addresses import Address
from protocol import messages
from protocol.errors import ProtocolError
from protocol.messages import Request
from protocol.schema import api_key_of

DEFAULT_TIMEOUT: Final = 60.0
"""Seconds; the same as default.api.timeout.ms of Kafka's admin client."""

RETRIABLE: Final = frozenset({5, 7, 13, 14, 15, 16, 41, 51, 89})
"""Error codes that pass by themselves: LEADER_NOT_AVAILABLE, REQUEST_TIMED_OUT,
NETWORK_EXCEPTION, COORDINATOR_LOAD_IN_PROGRESS, COORDINATOR_NOT_AVAILABLE, NOT_COORDINATOR,
NOT_CONTROLLER, CONCURRENT_TRANSACTIONS, THROTTLING_QUOTA_EXCEEDED."""

_FIRST_BACKOFF = 0.1
_LONGEST_BACKOFF = 2.0


@dataclass(frozen=True, slots=True)
class Answer:
    """A response entity. ``repeated``: an earlier request may have been carried out already,
    because it had no response, or a response whose error leaves this open."""

    entity: Any
    repeated: bool


class GatewayClient:
    """Sends requests to a gateway; repeats a request if the connection is lost or
    an error is RETRIABLE."""

    def __init__(
        self,
        servers: Sequence[Address],
        *,
        timeout: float = DEFAULT_TIMEOUT,
        security: ClientSecurity | None = None,
    ) -> None:
        """``timeout`` is the limit in seconds for a request with all its repetitions."""
        self.timeout = timeout
        self._security = security or ClientSecurity(None)
        self._servers = tuple(servers)
        self._connection: BrokerConnection | None = None
        self._was_connected = False
        self._was_answered = False
        self._closed = 0
        self._connected_to = self._servers[0]

    async def ask(
        self, request: Request, items: Callable[[Any], Iterable[Any]] = lambda _: ()
    ) -> Answer:
        """Send a request; returns the first response without an item whose error is RETRIABLE.

        ``items`` returns the parts of a response that have an error code each. After the timeout
        the last response is returned as it is. Raises Unavailable if no server has responded, and
        CommandError if the request cannot be written or the login is rejected.
        """
        deadline = _now() + self.timeout
        backoff = _FIRST_BACKOFF
        answer: Answer | None = None
        sent = False
        while True:
            try:
                connection = await self._connected()
                version = connection.version_for(request.name, request.at_most)
                entity = _entity(request, version)
                repeated, sent = sent, True
                response = await connection.request(request.name, version, entity)
                answer = Answer(response, repeated)
                self._was_answered = True
            except BrokerError as error:
                self.close()
                rejected = self._closed_again(error)
                # If no server has responded so far, the address may be wrong, and
                # waiting would not help.
                if not self._was_connected or rejected or _now() + backoff > deadline:
                    if answer is None:
                        raise self._unavailable(str(error)) from None
                    return answer
            else:
                if not any(int(item.error_code) in RETRIABLE for item in items(answer.entity)):
                    return answer
                if _now() + backoff > deadline:
                    return answer
            await asyncio.sleep(backoff)
            backoff = min(backoff * 2, _LONGEST_BACKOFF)

    async def serves(self, name: str, version: int) -> bool:
        """Whether the server supports that version of a request, or a newer
        version. Raises as ``ask``."""
        try:
            _, highest = (await self._connected()).api_versions.get(api_key_of(name), (0, -1))
        except BrokerError as error:
            raise self._unavailable(str(error)) from None
        return highest >= version

    def at(self, server: Address) -> GatewayClient:
        """A client of another address, with the login of this client."""
        return GatewayClient((server,), timeout=self.timeout, security=self._security)

    def is_a_broker(self) -> Unavailable:
        """The error for an address at which a broker responds."""
        return Unavailable(
            f"{self._connected_to} is a Kafka broker, not a gateway; give the address of a listener"
        )

    def close(self) -> None:
        """Close the connection, if it is open; ``ask`` would open another."""
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()

    async def _connected(self) -> BrokerConnection:
        if self._connection is not None and self._connection.is_open:
            return self._connection
        self.close()
        reasons = []
        for server in self._servers:
            try:
                self._connection = await BrokerConnection.connect(
                    *server, timeout=self.timeout, security=self._security
                )
            except LoginError as error:
                raise CommandError(
                    f"{server} {self._security.with_properties(str(error))}"
                ) from None
            except BrokerError as error:
                reasons.append(f"{server}: {self._security.with_properties(str(error))}")
            else:
                self._was_connected = True
                self._connected_to = server
                return self._connection
        raise BrokerError("; ".join(reasons))

    def _closed_again(self, error: BrokerError) -> bool:
        """Whether the first request has ended its connection for the second time. If a
        listener requires a login, it answers ApiVersions before the login, and closes the
        connection on any other request."""
        if self._was_answered or "closed the connection" not in str(error):
            return False
        self._closed += 1
        return self._closed > 1

    def _unavailable(self, reason: str) -> Unavailable:
        where = ",".join(map(str, self._servers))
        shown = reason if where in reason else f"{where}: {reason}"
        # A listener with TLS or SASL closes a connection that uses neither.
        closed = not self._was_answered and "closed the connection" in reason
        login = "; if it asks for TLS or a login, --command-config says how" if closed else ""
        return Unavailable(
            f"no answer from the gateway: {shown}; see that it runs, that its brokers do (/readyz "
            f"tells), and that --bootstrap-server is the address of one of its listeners{login}"
        )


def _entity(request: Request, version: int) -> Any:
    """The request at a version. Raises CommandError if its values do not fit that version."""
    try:
        entity = request.entity(version)
        messages.write(entity)
    except ProtocolError as error:
        raise CommandError(
            f"the {request.name} cannot be written: {error}; correct the values"
        ) from None
    return entity


def _now() -> float:
    return asyncio.get_running_loop().time()
