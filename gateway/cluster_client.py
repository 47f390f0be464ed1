"""The gateway's own questions to a broker: one connection, one question at a time.

This is the cold path (topic ids, broker addresses); what clients send goes another way. It is
written on ``protocol.messages`` because aiokafka, which the catalog uses, stops at Metadata v5
(0.14), and topic ids came with Metadata v10 (KIP-516).
"""

from __future__ import annotations

import asyncio
import importlib.metadata
import os
import socket
from typing import Any, Self

from protocol import messages
from protocol.errors import ProtocolError
from protocol.frames import frame
from protocol.headers import request_header_version, response_body_pos, response_header_version
from protocol.primitives import legacy_string
from protocol.schema import api_key_of, message_versions, response_name

CLIENT_ID = "kafka-namespace-gateway"
MAX_RESPONSE_BYTES = 100 * 1024 * 1024
"""Kafka's own default for ``socket.request.max.bytes``."""

_UNSUPPORTED_VERSION = 35
_SIZE_BYTES = 4
_CORRELATION_BYTES = 4
_MAX_CORRELATION_ID = 2**31 - 1


class BrokerError(Exception):
    """A broker could not be asked; the text is a reason that fits after ``host:port: ``."""


class BrokerConnection:
    """A connection to one broker, which knows what versions the broker speaks.

    Whatever goes wrong while a request is under way (also that its caller is cancelled) closes
    the connection: what the next bytes belong to is not certain any more.
    """

    def __init__(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        *,
        timeout: float,
        max_response_bytes: int = MAX_RESPONSE_BYTES,
    ) -> None:
        """Use ``connect``; this only takes over the two ends of an open connection."""
        self._reader = reader
        self._writer = writer
        self._timeout = timeout
        self._max_response_bytes = max_response_bytes
        self._turn = asyncio.Lock()
        self._correlation_id = 0
        self._api_versions: dict[int, tuple[int, int]] = {}

    @classmethod
    async def connect(
        cls,
        host: str,
        port: int,
        *,
        timeout: float,
        max_response_bytes: int = MAX_RESPONSE_BYTES,
    ) -> Self:
        """Opens a connection and asks for the broker's API versions.

        ``timeout``, in seconds, is for connecting, for ApiVersions, and later for each request
        on its own. Raises BrokerError.
        """
        try:
            async with asyncio.timeout(timeout):
                reader, writer = await asyncio.open_connection(host, port)
        except TimeoutError:
            raise BrokerError(f"no connection within {timeout:g} s") from None
        # A host that is no host name, or a port that is none, is a ValueError or OverflowError.
        except (OSError, ValueError, OverflowError) as error:
            raise BrokerError(f"cannot connect: {_reason(error)}") from None
        connection = cls(reader, writer, timeout=timeout, max_response_bytes=max_response_bytes)
        try:
            await connection._ask_api_versions()
        except BaseException:
            connection.close()
            raise
        return connection

    @property
    def api_versions(self) -> dict[int, tuple[int, int]]:
        """API key -> (lowest, highest) version that the broker speaks."""
        return self._api_versions.copy()

    @property
    def peer(self) -> tuple[str, int]:
        """The (IP address, port) at the other end."""
        host, port, *_ = self._writer.get_extra_info("peername")
        return host, port

    @property
    def is_open(self) -> bool:
        """False once closed at either end. True may be out of date."""
        return not self._writer.is_closing() and not self._reader.at_eof()

    def version_for(self, name: str) -> int:
        """The highest version of a request that the broker and this gateway both know.

        ``name`` is Kafka's, ``MetadataRequest``. Raises BrokerError if there is none.
        """
        low, high = self._api_versions.get(api_key_of(name), (0, -1))
        common = [version for version in message_versions(name) if low <= version <= high]
        if not common:
            raise BrokerError(f"speaks no version of {name} that the gateway knows")
        return common[-1]

    async def request(self, name: str, version: int, entity: Any) -> Any:
        """Sends a request entity and returns the response entity; see ``exchange``."""
        body = await self.exchange(name, version, entity)
        try:
            return messages.parse(response_name(api_key_of(name)), version, body)
        except ProtocolError as error:
            self.close()
            raise BrokerError(f"the answer to {name} makes no sense: {error}") from None

    async def exchange(self, name: str, version: int, entity: Any) -> bytes:
        """Sends a request entity and returns the body of the response, without its header.

        Callers take turns; the timeout counts from when the turn comes. Raises BrokerError, and
        the connection is closed then.
        """
        async with self._turn:
            answered = False
            try:
                async with asyncio.timeout(self._timeout):
                    body = await self._exchange(name, version, messages.write(entity))
                answered = True
                return body
            except TimeoutError:
                raise BrokerError(f"no answer to {name} within {self._timeout:g} s") from None
            except asyncio.IncompleteReadError:
                raise BrokerError(f"closed the connection instead of answering {name}") from None
            except OSError as error:
                raise BrokerError(f"connection lost: {_reason(error)}") from None
            except ProtocolError as error:
                raise BrokerError(f"the answer to {name} makes no sense: {error}") from None
            finally:
                if not answered:
                    self.close()

    def close(self) -> None:
        """Closes the connection at once. May be called again."""
        self._writer.transport.abort()

    async def _exchange(self, name: str, version: int, body: bytes) -> bytes:
        self._correlation_id = self._correlation_id % _MAX_CORRELATION_ID + 1
        api_key = api_key_of(name)
        header = _request_header(api_key, version, self._correlation_id)
        self._writer.write(frame(header, body))
        await self._writer.drain()
        size = int.from_bytes(await self._reader.readexactly(_SIZE_BYTES), "big", signed=True)
        if not _CORRELATION_BYTES <= size <= self._max_response_bytes:
            raise ProtocolError(f"{size} bytes announced, {self._max_response_bytes} allowed")
        response = await self._reader.readexactly(size)
        correlation_id = int.from_bytes(response[:_CORRELATION_BYTES], "big", signed=True)
        if correlation_id != self._correlation_id:
            raise ProtocolError(
                f"it has correlation id {correlation_id}, not {self._correlation_id}"
            )
        header_version = response_header_version(api_key, version)
        return response[response_body_pos(response, 0, size, header_version) :]

    async def _ask_api_versions(self) -> None:
        """KIP-511: ask with the newest version; whoever does not know it says what it knows."""
        name = "ApiVersionsRequest"
        version = message_versions(name)[-1]
        while True:
            body = await self.exchange(name, version, _api_versions_request(version))
            refused = int.from_bytes(body[:2], "big") == _UNSUPPORTED_VERSION
            response = self._parse_api_versions(0 if refused else version, body)
            ranges = {key.api_key: (key.min_version, key.max_version) for key in response.api_keys}
            if not refused:
                break
            # Kafka before 2.4 does not even say what versions of ApiVersions it knows.
            _, highest = ranges.get(api_key_of(name), (0, 0))
            if not 0 <= highest < version:
                raise BrokerError(f"refuses {name} v{version} and offers v{highest}")
            version = highest
        if response.error_code:
            raise BrokerError(f"{name} is answered with error {int(response.error_code)}")
        self._api_versions = ranges

    def _parse_api_versions(self, version: int, body: bytes) -> Any:
        try:
            return messages.parse("ApiVersionsResponse", version, body)
        except ProtocolError as error:
            raise BrokerError(f"its ApiVersions v{version} makes no sense: {error}") from None


def _api_versions_request(version: int) -> Any:
    message = messages.message_class("ApiVersionsRequest", version)
    if version < 3:
        return messages.build(message)
    return messages.build(
        message, client_software_name=CLIENT_ID, client_software_version=_software_version()
    )


def _software_version() -> str:
    try:
        # Kafka refuses any other character than letters, digits, "-" and "." (KIP-511).
        return importlib.metadata.version(CLIENT_ID).replace("+", "-")
    except importlib.metadata.PackageNotFoundError:  # run from a source tree
        return "unknown"


def _request_header(api_key: int, version: int, correlation_id: int) -> bytes:
    """Request header v1, or v2, which adds tagged fields (none here)."""
    fixed = (api_key << 48 | version << 32 | correlation_id).to_bytes(8, "big")
    tagged_fields = b"\x00" if request_header_version(api_key, version) >= 2 else b""
    return fixed + legacy_string(CLIENT_ID.encode()) + tagged_fields


def _reason(error: Exception) -> str:
    """What the system says, without the address that asyncio puts into it."""
    if isinstance(error, OSError) and not isinstance(error, socket.gaierror) and error.errno:
        return os.strerror(error.errno)
    return getattr(error, "strerror", None) or str(error) or type(error).__name__
