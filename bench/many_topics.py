"""A relay before a broker that lists more topics than a broker of this machine can hold.

It answers a request for all topics itself: with the broker's own response, to which topics of one
partition are added. All else passes as it is.
"""

from __future__ import annotations

import asyncio
import threading
import uuid
from collections import deque
from contextlib import suppress
from enum import Enum
from typing import Any, Final, NamedTuple, Self

from bench.client import HOST
from bench.entities import CLIENT_ID
from protocol import messages
from protocol.headers import (
    SIZE_PREFIX,
    frame,
    read_request_header,
    response_body_pos,
    response_header_version,
)
from protocol.messages import changed, element_class, make
from protocol.schema import api_key_of

_METADATA: Final = api_key_of("MetadataRequest")
_SECONDS: Final = 60.0
_CHUNK: Final = 1 << 20
_EPOCH: Final = 0x5A5A5A5A
"""A leader epoch that is found in the bytes of a response: the last topic's."""

_LAST: Final = "bench..last-{:08}"
"""The last topic's name. What stands in it does not change its length."""


class Differs(Enum):
    """What differs in each response to a client of the bench: what the gateway asks for itself
    stays as it is, so that its reading of it is not counted."""

    NOTHING = "nothing"
    EPOCH = "a leader's epoch"
    TOPIC = "a topic"


class _Prepared(NamedTuple):
    """A response's body, and where the last topic's name and leader epoch are in it."""

    body: bytes
    name: int
    epoch: int


class _Asked(NamedTuple):
    """A request for all topics: its version, and whether the bench's client has sent it."""

    version: int
    by_bench: bool


class ManyTopics:
    """The relay, on a free port, on a thread and an event loop of its own.

    Set ``upstream`` to the broker's port once it is known: a broker that advertises ``address`` is
    reached through the relay alone. ``topics`` are so many to be added, none while it is 0;
    ``differs`` is what changes from one response to the next. No client may Produce with acks=0,
    which has no response.
    """

    def __init__(self) -> None:
        self.upstream = 0
        self.port = 0
        self.topics = 0
        self.differs = Differs.NOTHING
        self._number = 0
        self._prepared: dict[tuple[int, int], _Prepared] = {}
        self._listed: dict[int, bytes] = {}  # the newest body of the broker, by version
        self._tasks: set[asyncio.Task[None]] = set()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="many topics")

    @property
    def address(self) -> str:
        """The relay's own ``host:port``."""
        return f"{HOST}:{self.port}"

    def show(self, topics: int) -> None:
        """Let so many topics be added from now on, after the responses of the versions that were
        requested before are made: the gateway waits 5 s for a listing, and 200,000 topics take
        longer to write."""
        for version, body in list(self._listed.items()):
            self._prepared[version, topics] = _prepare(version, topics, body)
        self.topics = topics

    def __enter__(self) -> Self:
        self._thread.start()
        starting = asyncio.start_server(self._serve, HOST, 0, limit=_CHUNK)
        self._server = asyncio.run_coroutine_threadsafe(starting, self._loop).result(_SECONDS)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    def __exit__(self, *_: object) -> None:
        asyncio.run_coroutine_threadsafe(self._stop(), self._loop).result(_SECONDS)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(_SECONDS)
        self._loop.close()

    async def _stop(self) -> None:
        self._server.close()
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            # Cancelled by _stop alone: a stream's task that ends cancelled would be reported.
            with suppress(OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
                await self._relay(reader, writer)
        finally:
            writer.close()
            self._tasks.discard(task)

    async def _relay(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if not self.upstream:
            return  # it is too early
        from_broker, to_broker = await asyncio.open_connection(HOST, self.upstream, limit=_CHUNK)
        asked: deque[_Asked | None] = deque()
        ways = [
            asyncio.create_task(self._requests(reader, to_broker, asked)),
            asyncio.create_task(self._responses(from_broker, writer, asked)),
        ]
        try:
            await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for way in ways:
                way.cancel()
            await asyncio.gather(*ways, return_exceptions=True)
            to_broker.close()

    async def _requests(
        self,
        source: asyncio.StreamReader,
        sink: asyncio.StreamWriter,
        asked: deque[_Asked | None],
    ) -> None:
        while True:
            request = await _read(source)
            asked.append(_for_all_topics(request))
            sink.write(frame(request))
            await sink.drain()

    async def _responses(
        self,
        source: asyncio.StreamReader,
        sink: asyncio.StreamWriter,
        asked: deque[_Asked | None],
    ) -> None:
        while True:
            response = await _read(source)
            all_topics = asked.popleft()
            if all_topics is not None:
                response = self._with_more(all_topics, response)
            sink.write(frame(response))
            await sink.drain()

    def _with_more(self, asked: _Asked, response: bytes) -> bytes:
        start = response_body_pos(
            response, 0, len(response), response_header_version(_METADATA, asked.version)
        )
        self._listed[asked.version] = response[start:]
        if not self.topics:
            return response
        key = (asked.version, self.topics)
        prepared = self._prepared.get(key)
        if prepared is None:
            prepared = self._prepared[key] = _prepare(*key, response[start:])
        body = prepared.body
        if asked.by_bench and self.differs is not Differs.NOTHING:
            self._number += 1
            at, new = prepared.epoch, self._number.to_bytes(4, "big")
            if self.differs is Differs.TOPIC:
                at, new = prepared.name, _LAST.format(self._number).encode()
            body = b"".join((body[:at], new, body[at + len(new) :]))
        return response[:start] + body


def _prepare(version: int, count: int, body: bytes) -> _Prepared:
    """A MetadataResponse with ``count`` more topics than ``body`` has."""
    response = messages.parse("MetadataResponse", version, body)
    topic_class = element_class(type(response), "topics")
    partition_class = element_class(topic_class, "partitions")
    node = response.brokers[0].node_id

    def topic(name: str, number: int, epoch: int) -> Any:
        partition = {
            "leader_id": node,
            "leader_epoch": epoch,
            "replica_nodes": (node,),
            "isr_nodes": (node,),
        }
        values = {
            "name": name,
            "topic_id": uuid.UUID(int=(1 << 100) + number),
            "partitions": (make(partition_class, partition),),
        }
        return make(topic_class, values)

    added = [topic(f"bench..t{number}", number, 0) for number in range(1, count)]
    last = _LAST.format(0)
    values = {"topics": (*response.topics, *added, topic(last, 0, _EPOCH))}
    made = messages.write(changed(response, values))
    epoch = _EPOCH.to_bytes(4, "big")
    # Before v7 there is no epoch.
    return _Prepared(made, made.rindex(last.encode()), made.rfind(epoch))


def _for_all_topics(request: bytes) -> _Asked | None:
    if int.from_bytes(request[:2], "big") != _METADATA:
        return None
    _, version, _, client_id, start = read_request_header(request, 0, len(request))
    topics = messages.parse("MetadataRequest", version, request[start:]).topics
    return _Asked(version, client_id == CLIENT_ID) if topics is None else None


async def _read(source: asyncio.StreamReader) -> bytes:
    (size,) = SIZE_PREFIX.unpack(await source.readexactly(SIZE_PREFIX.size))
    return await source.readexactly(size)
