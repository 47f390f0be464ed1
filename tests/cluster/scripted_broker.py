"""A broker in this process that answers ApiVersions and Metadata, or misbehaves as told."""

from __future__ import annotations

import asyncio
from collections import defaultdict, deque
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field, fields, replace
from types import TracebackType
from typing import Any, Self, get_args, get_type_hints
from uuid import UUID

from protocol import messages
from protocol.headers import frame, read_request_header, response_header, response_header_version

METADATA = 3
API_VERSIONS = 18
HOST = "127.0.0.1"

Fault = Callable[["Answer"], Awaitable[None]]


@dataclass
class ClusterState:
    """The state on which the brokers of a cluster agree.

    ``topics`` maps names to ids, ``errors`` names to the error codes of their entries, ``racks``
    brokers to their racks.
    """

    cluster_id: str | None = "cluster-a"
    brokers: dict[int, tuple[str, int]] = field(default_factory=dict)
    topics: dict[str, UUID] = field(default_factory=dict)
    errors: dict[str, int] = field(default_factory=dict)
    racks: dict[int, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Request:
    api_key: int
    version: int
    correlation_id: int
    client_id: bytes | None
    body: bytes


@dataclass(frozen=True)
class Answer:
    """A response about to be sent, which a fault may spoil."""

    writer: asyncio.StreamWriter
    correlation_id: int
    header_version: int
    body: bytes

    def frame(self) -> bytes:
        return frame(response_header(self.correlation_id, self.header_version), self.body)


class ScriptedBroker:
    """Listens on a free port of the loopback; keeps that port when it is started again."""

    def __init__(self, state: ClusterState, node_id: int = 1) -> None:
        self.state = state
        self.node_id = node_id
        self.port = 0
        self.requests: list[Request] = []
        self.api_versions = {API_VERSIONS: (0, 4), METADATA: (0, 13)}
        self.api_versions_error = 0
        self.tells_api_versions = True  # when rejecting; Kafka before 2.4 does not
        self.connections = 0
        self._seen = asyncio.Condition()
        self._faults: defaultdict[int, deque[Fault]] = defaultdict(deque)
        self._writers: dict[asyncio.StreamWriter, asyncio.Task[None]] = {}
        self._server: asyncio.Server | None = None

    async def start(self) -> Self:
        self._server = await asyncio.start_server(self._serve, HOST, self.port)
        self.port = self._server.sockets[0].getsockname()[1]
        self.state.brokers[self.node_id] = (HOST, self.port)
        return self

    async def stop(self) -> None:
        if self._server is not None:
            self._server.close()
            for task in self._writers.values():
                task.cancel()
            await self.wait_disconnected()
            self._server = None

    async def __aenter__(self) -> Self:
        return await self.start()

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.stop()

    @property
    def address(self) -> tuple[str, int]:
        return HOST, self.port

    @property
    def open_connections(self) -> int:
        return len(self._writers)

    def disconnect_all(self) -> None:
        for writer in self._writers:
            writer.transport.abort()

    def spoil_next(self, api_key: int, *faults: Fault) -> None:
        """Leave the next responses to this API to the faults, one for each."""
        self._faults[api_key].extend(faults)

    def asked(self, api_key: int) -> list[Request]:
        return [request for request in self.requests if request.api_key == api_key]

    async def wait_asked(self, api_key: int, times: int) -> None:
        """Wait until this API has been requested that often since the broker was made."""
        async with self._seen:
            await self._seen.wait_for(lambda: len(self.asked(api_key)) >= times)

    async def wait_disconnected(self) -> None:
        """Wait until no connection is open."""
        async with self._seen:
            await self._seen.wait_for(lambda: not self._writers)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._writers[writer] = task
        self.connections += 1
        try:
            with suppress(asyncio.IncompleteReadError, OSError):
                while True:
                    size = int.from_bytes(await reader.readexactly(4), "big")
                    await self._handle(await reader.readexactly(size), writer)
        finally:
            del self._writers[writer]
            writer.transport.abort()
            async with self._seen:
                self._seen.notify_all()

    async def _handle(self, payload: bytes, writer: asyncio.StreamWriter) -> None:
        api_key, version, correlation_id, client_id, start = read_request_header(
            payload, 0, len(payload)
        )
        async with self._seen:
            self.requests.append(
                Request(api_key, version, correlation_id, client_id, payload[start:])
            )
            self._seen.notify_all()
        if api_key == API_VERSIONS:
            body = self._api_versions(version)
        else:
            body = metadata_response(version, self.state, self.node_id)
        header_version = response_header_version(api_key, version)
        answer = Answer(writer, correlation_id, header_version, body)
        faults = self._faults[api_key]
        await (faults.popleft() if faults else send)(answer)

    def _api_versions(self, version: int) -> bytes:
        known = self.api_versions
        low, high = known[API_VERSIONS]
        rejected = not low <= version <= high
        if rejected:
            version = 0
            known = {API_VERSIONS: (low, high)} if self.tells_api_versions else {}
        response = messages.message_class("ApiVersionsResponse", version)
        key = _nested(response, "api_keys")
        return messages.write(
            messages.build(
                response,
                error_code=35 if rejected else self.api_versions_error,
                api_keys=tuple(
                    messages.build(key, api_key=api_key, min_version=lowest, max_version=highest)
                    for api_key, (lowest, highest) in known.items()
                ),
            )
        )


def metadata_response(version: int, state: ClusterState, controller_id: int) -> bytes:
    response = messages.message_class("MetadataResponse", version)
    broker, topic = (_nested(response, name) for name in ("brokers", "topics"))
    return messages.write(
        _build(
            response,
            brokers=tuple(
                _build(
                    broker,
                    node_id=node_id,
                    host=host,
                    port=port,
                    rack=state.racks.get(node_id),
                )
                for node_id, (host, port) in state.brokers.items()
            ),
            cluster_id=state.cluster_id,
            controller_id=controller_id,
            topics=tuple(
                _build(
                    topic,
                    name=name,
                    topic_id=topic_id,
                    error_code=state.errors.get(name, 0),
                )
                for name, topic_id in state.topics.items()
            ),
        )
    )


async def send(answer: Answer) -> None:
    """Send the response without a fault."""
    answer.writer.write(answer.frame())
    await answer.writer.drain()


async def disconnect(answer: Answer) -> None:
    answer.writer.transport.abort()


async def send_half(answer: Answer) -> None:
    data = answer.frame()
    answer.writer.write(data[: len(data) // 2])
    await answer.writer.drain()
    answer.writer.close()


async def send_garbage(answer: Answer) -> None:
    header = response_header(answer.correlation_id, answer.header_version)
    answer.writer.write(frame(header, b"\xff" * 64))
    await answer.writer.drain()


async def send_wrong_correlation_id(answer: Answer) -> None:
    header = response_header(answer.correlation_id + 1, answer.header_version)
    answer.writer.write(frame(header, answer.body))
    await answer.writer.drain()


def send_throttled(ms: int) -> Fault:
    """Send the response with this throttle time, with which it has to begin."""

    async def fault(answer: Answer) -> None:
        await send(replace(answer, body=ms.to_bytes(4, "big") + answer.body[4:]))

    return fault


def send_size(size: int) -> Fault:
    """Announce this number of bytes (signed), and send none."""

    async def fault(answer: Answer) -> None:
        answer.writer.write(size.to_bytes(4, "big", signed=True))
        await answer.writer.drain()

    return fault


async def say_nothing(answer: Answer) -> None:
    """Leave the request unanswered and the connection open."""


def send_when(event: asyncio.Event) -> Fault:
    """Send the response, as it was when the request came, once the event is set."""

    async def fault(answer: Answer) -> None:
        await event.wait()
        await send(answer)

    return fault


def _build(message: Any, **values: Any) -> Any:
    """Build a message without the values that its version does not have."""
    known = {field.name for field in fields(message)}
    return messages.build(message, **{n: v for n, v in values.items() if n in known})


def _nested(message: Any, name: str) -> Any:
    """The class of the elements of an array field."""
    return get_args(get_type_hints(message)[name])[0]
