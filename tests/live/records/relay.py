"""A relay in front of a broker that spoils single responses: a real broker with planned faults."""

from __future__ import annotations

import asyncio
import struct
from collections import defaultdict, deque
from collections.abc import Callable

from protocol.headers import frame, response_body_pos, response_header_version
from tests.cluster.scripted_broker import Answer, Fault
from tests.live.support.relay import Relay, until_one_ends

_HEADER = struct.Struct(">hhih")
_CORRELATION_ID = struct.Struct(">i")

Asked = dict[int, tuple[int, int, bytes]]
"""API key, version and client id of the pending requests, by correlation id."""


Edit = Callable[[int, bytes], bytes]
"""Maps a version and a response body to the body that replaces it."""


class FaultyRelay(Relay):
    """A relay that spoils the responses that a test selects.

    ``edits``: by API key, the function that rewrites each response of the API, for every client.
    """

    def __init__(self) -> None:
        super().__init__()
        self.edits: dict[int, Edit] = {}
        self._faults: defaultdict[tuple[bytes, int], deque[Fault]] = defaultdict(deque)

    def spoil_next(self, client_id: str, api_key: int, fault: Fault) -> None:
        """Hand the next response to this client's request of that API to the fault."""
        self._faults[client_id.encode(), api_key].append(fault)

    async def _relay(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        host, _, port = self.upstream.rpartition(":")
        if not host:
            return
        broker_reader, broker_writer = await asyncio.open_connection(host, int(port))
        asked: Asked = {}
        try:
            await until_one_ends(
                _requests(reader, broker_writer, asked), self._answers(broker_reader, writer, asked)
            )
        finally:
            broker_writer.close()

    async def _answers(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, asked: Asked
    ) -> None:
        while True:
            payload = await _payload(reader)
            (correlation_id,) = _CORRELATION_ID.unpack_from(payload)
            api_key, version, client_id = asked.pop(correlation_id)
            faults = self._faults[client_id, api_key]
            edit = self.edits.get(api_key)
            header = response_header_version(api_key, version)
            start = response_body_pos(payload, 0, len(payload), header)
            if faults:
                answer = Answer(writer, correlation_id, header, payload[start:])
                await faults.popleft()(answer)
            else:
                if edit is not None:
                    payload = payload[:start] + edit(version, payload[start:])
                writer.write(frame(payload))
                await writer.drain()


async def _requests(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, asked: Asked
) -> None:
    while True:
        payload = await _payload(reader)
        api_key, version, correlation_id, length = _HEADER.unpack_from(payload)
        client_id = payload[_HEADER.size : _HEADER.size + max(length, 0)]
        asked[correlation_id] = api_key, version, client_id
        writer.write(frame(payload))
        await writer.drain()


async def _payload(reader: asyncio.StreamReader) -> bytes:
    """The next frame without its size. Raises IncompleteReadError at the end of the stream."""
    size = int.from_bytes(await reader.readexactly(4), "big", signed=True)
    return await reader.readexactly(size)
