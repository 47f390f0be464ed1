"""A listener of a broker in this process that lets users log in, with TLS or without."""

from __future__ import annotations

import asyncio
import ssl
from types import TracebackType
from typing import Self, get_args, get_type_hints

from devkit.certificates import Credentials
from protocol import messages
from protocol.headers import frame, read_request_header, response_header
from tests.auth.sasl_broker import API_VERSIONS, AUTHENTICATE, HANDSHAKE, SaslBroker

HOST = "127.0.0.1"
SERVED = {16: (0, 0), HANDSHAKE: (0, 1), API_VERSIONS: (0, 4), AUTHENTICATE: (0, 2)}


class TlsBroker:
    """Answers logins as ``sasl`` does, ApiVersions, and echoes the body of every other request.

    ``loses`` ends a connection after that many requests; ``silent`` answers nothing.
    """

    def __init__(self, sasl: SaslBroker, credentials: Credentials | None = None) -> None:
        self.sasl = sasl
        self.port = 0
        self.connections = 0
        self.closed = 0
        self.silent = False
        self.loses: int | None = None
        self.echoed: list[bytes] = []
        self._context: ssl.SSLContext | None = None
        if credentials is not None:
            self._context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            self._context.load_cert_chain(credentials.certificate, credentials.key)
        self._server: asyncio.Server | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, HOST, 0, ssl=self._context)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        assert self._server is not None
        self._server.close()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        self.connections += 1
        try:
            await self._answer_all(reader, writer)
        except (asyncio.IncompleteReadError, OSError):
            pass
        finally:
            self._tasks.discard(task)
            self.closed += 1
            writer.transport.abort()

    async def _answer_all(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        answered = 0
        while self.loses is None or answered < self.loses:
            size = await reader.readexactly(4)
            payload = await reader.readexactly(int.from_bytes(size, "big"))
            if not self.silent:
                writer.write(self._answer(size, payload))
            answered += 1

    def _answer(self, size: bytes, payload: bytes) -> bytes:
        api_key, _, correlation_id, _, start = read_request_header(payload, 0, len(payload))
        if api_key in (HANDSHAKE, AUTHENTICATE):
            return self.sasl.take(size + payload)
        if api_key == API_VERSIONS:
            return frame(response_header(correlation_id, 0), _api_versions())
        self.echoed.append(payload[start:])
        return frame(response_header(correlation_id, 0), payload[start:])


def _api_versions() -> bytes:
    response = messages.message_class("ApiVersionsResponse", 4)
    (entry,) = get_args(get_type_hints(response)["api_keys"])[:1]
    keys = tuple(
        messages.build(entry, api_key=key, min_version=low, max_version=high)
        for key, (low, high) in SERVED.items()
    )
    return messages.write(messages.build(response, api_keys=keys))
