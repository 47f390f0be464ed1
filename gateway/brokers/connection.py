"""A connection for the gateway's own requests to a broker, which are sent one at a time.

This is the cold path (listings, configs, the catalog); clients' requests do not take it. It is
written on ``protocol.messages``, which has every version, because aiokafka stops at Metadata v5
(0.14), and topic ids came with Metadata v10 (KIP-516).
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any, Self

from gateway.brokers.dialing import dial_streams
from gateway.brokers.errors import BrokerError, NotSpoken, SecurityError, Unanswered
from gateway.brokers.login_exchange import authenticate_version, log_in
from gateway.brokers.messages import (
    CLIENT_ID,
    CORRELATION_BYTES,
    MAX_CORRELATION_ID,
    SIZE_BYTES,
    api_versions_request,
    request_frame,
    response_body,
    response_entity,
)
from gateway.brokers.resets import reset
from gateway.brokers.security import SESSION_USE, BrokerSecurity
from protocol import messages
from protocol.errors import ProtocolError
from protocol.messages import Request
from protocol.schema import api_key_of, message_versions

MAX_RESPONSE_BYTES = 100 * 1024 * 1024
"""Kafka's own default for ``socket.request.max.bytes``."""

NEWEST = 2**15 - 1
"""At most this version: no version is newer."""

API_VERSIONS = "ApiVersionsRequest"

_UNSUPPORTED_VERSION = 35
_UNPROTECTED = BrokerSecurity()


class BrokerConnection:
    """A connection to a broker, which knows the API versions that the broker supports.

    Where a broker ends sessions (KIP-368), ``is_open`` turns False some time before: the next
    caller connects anew, which is simpler than to re-authenticate. If anything fails while a
    request is under way (even the cancellation of its caller), the connection is reset: the next
    bytes may belong to another response, and no caller waits for a late result.
    """

    def __init__(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        *,
        timeout: float,
        security: BrokerSecurity = _UNPROTECTED,
        client_id: str = CLIENT_ID,
        max_response_bytes: int = MAX_RESPONSE_BYTES,
    ) -> None:
        """Use ``connect``; this only takes over the streams of an open connection."""
        self._reader = reader
        self._writer = writer
        self._timeout = timeout
        self._security = security
        self._client_id = client_id
        self._max_response_bytes = max_response_bytes
        self._expires = float("inf")
        self._answered = self._spoken = False
        self._turn = asyncio.Lock()
        self._correlation_id = 0
        self._api_versions: dict[int, tuple[int, int]] = {}
        self._served: Any = None

    @classmethod
    async def connect(
        cls,
        host: str,
        port: int,
        *,
        timeout: float,
        security: BrokerSecurity = _UNPROTECTED,
        client_id: str = CLIENT_ID,
        max_response_bytes: int = MAX_RESPONSE_BYTES,
        log_in: bool = True,
    ) -> Self:
        """Opens a connection, requests the broker's API versions, and logs in unless ``log_in`` is
        false.

        ``timeout``, in seconds, is for connecting (with TLS), for ApiVersions, for each step of
        the login, and later for each request on its own. Raises BrokerError.
        """
        options = security.socket_options(host)
        try:
            async with asyncio.timeout(timeout):
                reader, writer = await dial_streams(host, port, **options)
        except TimeoutError:
            raise BrokerError(f"no connection within {timeout:g} s") from None
        # An invalid host name raises ValueError, an invalid port OverflowError.
        except (OSError, ValueError, OverflowError) as error:
            kind = SecurityError if isinstance(error, ssl.SSLError) else BrokerError
            if isinstance(error, ConnectionResetError):
                kind = Unanswered
                security.note_unanswered((host, port))
            raise kind(f"cannot connect: {security.reason(error)}") from None
        connection = cls(
            reader,
            writer,
            timeout=timeout,
            security=security,
            client_id=client_id,
            max_response_bytes=max_response_bytes,
        )
        try:
            await connection._ask_api_versions()
            if log_in:
                await connection._log_in()
        except BaseException as error:
            connection.close()
            if isinstance(error, Unanswered):
                security.note_unanswered((host, port))
            raise
        return connection

    @property
    def api_versions(self) -> dict[int, tuple[int, int]]:
        """API key -> (lowest, highest) version that the broker supports."""
        return self._api_versions.copy()

    @property
    def served(self) -> Any:
        """The broker's ApiVersionsResponse, unchanged."""
        return self._served

    @property
    def peer(self) -> tuple[str, int]:
        """The (IP address, port) at the other end."""
        host, port, *_ = self._writer.get_extra_info("peername")
        return host, port

    @property
    def certificate(self) -> bytes | None:
        """The broker's certificate (DER), which TLS has verified, or None without TLS."""
        tls = self._writer.get_extra_info("ssl_object")
        return None if tls is None else tls.getpeercert(binary_form=True)

    @property
    def is_open(self) -> bool:
        """False once either end has closed the connection, or its session ends soon. True may be
        out of date."""
        return (
            not self._writer.is_closing()
            and not self._reader.at_eof()
            and asyncio.get_running_loop().time() < self._expires
        )

    def version_for(self, name: str, at_most: int = NEWEST) -> int:
        """The highest version of a request, up to ``at_most``, that the broker and this gateway
        both support.

        ``name`` is Kafka's, ``MetadataRequest``. Raises BrokerError without such a version.
        """
        low, high = self._api_versions.get(api_key_of(name), (0, -1))
        high = min(high, at_most)
        common = [version for version in message_versions(name) if low <= version <= high]
        if not common:
            raise BrokerError(f"speaks no version of {name} that the gateway knows")
        return common[-1]

    async def ask(self, request: Request) -> Any:
        """Sends a request in the newest version that both support, and returns the response entity;
        see ``exchange``. Also raises ProtocolError, for values that do not fit the request."""
        version = self.version_for(request.name, request.at_most)
        return await self.request(request.name, version, request.entity(version))

    async def request(self, name: str, version: int, entity: Any) -> Any:
        """Sends a request entity and returns the response entity; see ``exchange``."""
        body = await self.exchange(name, version, entity)
        try:
            return response_entity(name, version, body)
        except ProtocolError as error:
            self.close()
            raise BrokerError(f"the answer to {name} makes no sense: {error}") from None

    async def exchange(self, name: str, version: int, entity: Any) -> bytes:
        """Sends a request entity and returns the body of the response, without its header.

        Callers take turns; the timeout begins with the caller's turn. Raises BrokerError; the
        connection is closed then.
        """
        return await self._in_turn(name, lambda: self._exchange(name, version, entity))

    async def forward(
        self,
        request: bytes,
        what: str = "a client's request",
        *,
        ready: Callable[[], Awaitable[None]] | None = None,
    ) -> bytes:
        """Sends a client's request frame and returns the response frame, sizes and headers
        included, which only the client can read; otherwise like :meth:`exchange`. ``what`` names
        the request in errors. ``ready`` is awaited when the turn has come; the request is sent
        right after it. An exception of ``ready`` is raised here, and nothing is sent. The timeout
        begins after it."""

        async def exchange() -> bytes:
            response = await self._send(request)
            return len(response).to_bytes(SIZE_BYTES, "big") + response

        return await self._in_turn(what, exchange, ready)

    async def ping(self) -> None:
        """Requests the API versions again. Raises BrokerError; the connection is closed then if the
        broker did not respond."""
        await self._ask_api_versions()

    async def ended(self) -> None:
        """Closes the connection and returns once the broker has closed it or sends bytes without a
        request. Requests wait meanwhile; may be cancelled."""
        async with self._turn:
            with suppress(OSError):
                await self._reader.read(1)
            self.close()

    async def _in_turn(
        self,
        name: str,
        exchange: Callable[[], Awaitable[bytes]],
        ready: Callable[[], Awaitable[None]] | None = None,
    ) -> bytes:
        async with self._turn:
            if ready is not None:
                await ready()
            answered = False
            try:
                async with asyncio.timeout(self._timeout):
                    body = await exchange()
                answered = self._answered = True
                self._spoken = self._spoken or name != API_VERSIONS
                return body
            except TimeoutError:
                raise BrokerError(f"no answer to {name} within {self._timeout:g} s") from None
            except asyncio.IncompleteReadError:
                raise self._lost(f"closed the connection instead of answering {name}") from None
            except OSError as error:
                raise self._lost(f"connection lost: {self._security.lost(error)}") from None
            except ProtocolError as error:
                raise self._failure(f"the answer to {name} makes no sense: {error}") from None
            finally:
                if not answered:
                    self.reset()

    def _lost(self, text: str) -> BrokerError:
        """The error of a lost connection; not Unanswered with TLS, because the broker sends bytes
        in the handshake."""
        has_tls = self._writer.get_extra_info("ssl_object") is not None
        unanswered = not self._answered and not has_tls
        return Unanswered(text) if unanswered else self._failure(text)

    def _failure(self, text: str) -> BrokerError:
        return BrokerError(text) if self._spoken else NotSpoken(text)

    def close(self) -> None:
        """Closes the connection at once. May be called again."""
        self._writer.transport.abort()

    def reset(self) -> None:
        """Closes the connection at once, so that the broker drops requests that it has not begun to
        handle."""
        reset(self._writer.transport)

    async def _exchange(self, name: str, version: int, entity: Any) -> bytes:
        self._correlation_id = self._correlation_id % MAX_CORRELATION_ID + 1
        request = request_frame(name, version, self._correlation_id, entity, self._client_id)
        response = await self._send(request)
        return response_body(name, version, self._correlation_id, response)

    async def _send(self, request: bytes) -> bytes:
        """The payload of the response to a request frame."""
        self._writer.write(request)
        await self._writer.drain()
        size = int.from_bytes(await self._reader.readexactly(SIZE_BYTES), "big", signed=True)
        if not CORRELATION_BYTES <= size <= self._max_response_bytes:
            raise ProtocolError(f"{size} bytes announced, {self._max_response_bytes} allowed")
        return await self._reader.readexactly(size)

    async def _log_in(self) -> None:
        login = self._security.login()
        if login is None:
            return
        version = authenticate_version(self._api_versions)
        await log_in(login, self.request, version)
        if login.session_seconds:
            now = asyncio.get_running_loop().time()
            self._expires = now + SESSION_USE * login.session_seconds

    async def _ask_api_versions(self) -> None:
        """Requests the API versions in the newest version; a broker that does not know it responds
        with the versions that it knows (KIP-511)."""
        name = API_VERSIONS
        version = message_versions(name)[-1]
        while True:
            body = await self.exchange(name, version, api_versions_request(version))
            rejected = int.from_bytes(body[:2], "big") == _UNSUPPORTED_VERSION
            response = self._parse_api_versions(0 if rejected else version, body)
            ranges = {key.api_key: (key.min_version, key.max_version) for key in response.api_keys}
            if not rejected:
                break
            # Kafka before 2.4 does not even say which versions of ApiVersions it knows.
            _, highest = ranges.get(api_key_of(name), (0, 0))
            if not 0 <= highest < version:
                raise BrokerError(f"refuses {name} v{version} and offers v{highest}")
            version = highest
        if response.error_code:
            raise BrokerError(f"{name} is answered with error {int(response.error_code)}")
        self._api_versions = ranges
        self._served = response

    def _parse_api_versions(self, version: int, body: bytes) -> Any:
        try:
            return messages.parse("ApiVersionsResponse", version, body)
        except ProtocolError as error:
            raise BrokerError(f"its ApiVersions v{version} makes no sense: {error}") from None
