"""Thousands of clients that log in, each with a connection that it reopens when it is lost."""

from __future__ import annotations

import asyncio
import random
import threading
import time
from collections import Counter
from collections.abc import Sequence
from typing import Any, Final, Self

from scramp import ScramClient

from protocol import messages
from protocol.headers import request_header_version, response_body_pos, response_header_version
from protocol.schema import api_key_of
from tests.live.support.sasl import PASSWORDS
from tests.live.support.wire import request_frame

SECONDS: Final = 30.0
"""Java's request.timeout.ms: the longest time to a response."""

LEAST_PAUSE, MOST_PAUSE = 0.05, 1.0
"""Java's reconnect.backoff.ms and reconnect.backoff.max.ms, seconds."""

PULSE: Final = 1.0
"""Seconds between requests of a client that has logged in."""

USER: Final = "alice"

ADDRESSES: Final = 250
"""Source addresses that the clients come from, in turn."""


class Client:
    """A client. ``served_at`` is the time (``monotonic``) of its last response after a login."""

    def __init__(self, number: int, servers: Sequence[str], errors: Counter[str]) -> None:
        self.served_at = 0.0
        self.at = number % len(servers)
        self._source = f"127.0.1.{number % ADDRESSES + 1}"
        self._mechanism = ("PLAIN", "SCRAM-SHA-256")[number % 2]
        self._servers = servers
        self._errors = errors

    async def run(self) -> None:
        """Run until cancelled."""
        pause = LEAST_PAUSE
        while True:
            host, _, port = self._servers[self.at].rpartition(":")
            writer = None
            try:
                reader, writer = await asyncio.open_connection(
                    host, int(port), local_addr=(self._source, 0)
                )
                await self._serve(reader, writer)
            except (OSError, EOFError, TimeoutError) as error:
                self._errors[type(error).__name__] += 1
            finally:
                if writer is not None:
                    writer.close()
            self.at = (self.at + 1) % len(self._servers)
            was_served = time.monotonic() - self.served_at < 2 * PULSE
            pause = LEAST_PAUSE if was_served else min(pause * 2, MOST_PAUSE)
            await asyncio.sleep(pause * random.uniform(0.8, 1.2))

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        async def ask(name: str, version: int, **values: Any) -> Any:
            async with asyncio.timeout(SECONDS):
                return await _ask(reader, writer, name, version, **values)

        async def prove(token: str) -> str:
            answer = await ask("SaslAuthenticate", 1, auth_bytes=token.encode())
            if answer.error_code:
                self._errors[f"login: {answer.error_message}"] += 1
                raise EOFError
            return str(answer.auth_bytes.decode())

        await ask("SaslHandshake", 1, mechanism=self._mechanism)
        if self._mechanism == "PLAIN":
            await prove(f"\0{USER}\0{PASSWORDS[USER]}")
        else:
            scram = ScramClient([self._mechanism], USER, PASSWORDS[USER])
            scram.set_server_first(await prove(scram.get_client_first()))
            scram.set_server_final(await prove(scram.get_client_final()))
        while True:
            await ask("Metadata", 4, topics=(), allow_auto_topic_creation=False)
            self.served_at = time.monotonic()
            await asyncio.sleep(PULSE)


async def _ask(
    reader: asyncio.StreamReader,
    writer: asyncio.StreamWriter,
    name: str,
    version: int,
    **values: Any,
) -> Any:
    key = api_key_of(f"{name}Request")
    request = messages.build(messages.message_class(f"{name}Request", version), **values)
    header = request_header_version(key, version)
    writer.write(request_frame(key, version, messages.write(request), 1, header))
    size = int.from_bytes(await reader.readexactly(4), "big")
    data = await reader.readexactly(size)
    start = response_body_pos(data, 0, len(data), response_header_version(key, version))
    return messages.parse(f"{name}Response", version, data[start:])


class Storm:
    """Clients on an event loop of their own.

    ``errors`` counts the errors they received; ``defects`` are errors of their own code.
    """

    def __init__(self, servers: Sequence[str], count: int) -> None:
        self.errors: Counter[str] = Counter()
        self.defects: list[str] = []
        self.clients = [Client(number, servers, self.errors) for number in range(count)]
        self._thread = threading.Thread(target=lambda: asyncio.run(self._run()))
        self._stopping: asyncio.Event | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    async def _run(self) -> None:
        self._loop, self._stopping = asyncio.get_running_loop(), asyncio.Event()
        tasks = [asyncio.create_task(one.run()) for one in self.clients]
        stopped = asyncio.create_task(self._stopping.wait())
        await asyncio.wait([*tasks, stopped], return_when=asyncio.FIRST_COMPLETED)
        if not stopped.done():
            self.defects += [str(one.exception()) for one in tasks if one.done()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def served_since(self, moment: float) -> int:
        """The number of clients that have had a response since then."""
        return sum(one.served_at > moment for one in self.clients)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._loop is not None and self._stopping is not None:
            self._loop.call_soon_threadsafe(self._stopping.set)
        self._thread.join(60)
