"""gateway.processes.http_port: the effects of any client that reaches the HTTP port."""

from __future__ import annotations

import asyncio
import gzip
import logging
import random
import resource
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress

import pytest
from aiohttp import web

from gateway.processes import http_port
from gateway.processes.http_endpoints import Health, HttpEndpoints
from gateway.processes.http_port import (
    MAX_REQUEST_BYTES,
    RESERVED,
    RESERVED_A_WORKER,
    HttpPort,
    connections_left,
)
from gateway.processes.metrics import Metrics
from tests.waiting import eventually

GET = b"GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n"
LAST = b"GET /livez HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
HALF = b"GET /livez HTTP/1.1\r\nHost: loc"


@pytest.fixture(autouse=True)
def _sweeps_often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_port, "SWEEP_SECONDS", 0.01)


class Site:
    """An application on a port. ``/wait`` responds when ``go_on`` is set, ``/long`` with more than
    can be under way at once, ``/fails`` raises."""

    def __init__(
        self, most: int, reads: Callable[[web.Request], Awaitable[web.Response]] | None = None
    ) -> None:
        self.go_on = asyncio.Event()
        self.waiting = 0
        app = web.Application()
        app.router.add_get("/livez", self._livez)
        app.router.add_get("/wait", self._wait)
        app.router.add_get("/long", self._long)
        app.router.add_get("/fails", self._fail)
        if reads is not None:
            app.router.add_post("/reads", reads)
        self.http = HttpPort(app, most)
        self.port = 0

    async def _livez(self, _: web.Request) -> web.Response:
        return web.Response(text="lives")

    async def _wait(self, _: web.Request) -> web.Response:
        self.waiting += 1
        await self.go_on.wait()
        return web.Response(text="waited")

    async def _long(self, _: web.Request) -> web.Response:
        return web.Response(body=bytes(64 * 2**20))

    async def _fail(self, _: web.Request) -> web.Response:
        raise ValueError("a defect")

    async def connect(self, data: bytes = b"") -> asyncio.StreamReader:
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        writer.write(data)
        self.writers.append(writer)
        return reader

    async def __aenter__(self) -> Site:
        self.writers: list[asyncio.StreamWriter] = []
        self.port = await self.http.start("127.0.0.1", 0)
        return self

    async def __aexit__(self, *_: object) -> None:
        self.go_on.set()
        for writer in self.writers:
            writer.close()
        await self.http.stop()


async def until_closed(reader: asyncio.StreamReader) -> bytes:
    """The bytes until the server closes."""
    received = b""
    async with asyncio.timeout(120):
        with suppress(ConnectionError):
            while piece := await reader.read(65_536):
                received += piece
    return received


def ended(reader: asyncio.StreamReader) -> bool:
    """Whether the server has closed or reset the connection."""
    return reader.at_eof() or reader.exception() is not None


async def response(reader: asyncio.StreamReader, ends: bytes = b"lives") -> bytes:
    async with asyncio.timeout(120):
        return await reader.readuntil(ends)


@pytest.mark.parametrize("sent", [b"", HALF], ids=["nothing", "half a request"])
async def test_a_connection_without_a_whole_request_is_closed(
    sent: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http_port, "FIRST_SECONDS", 0.05)
    async with Site(most=10) as site:
        assert await until_closed(await site.connect(sent)) == b""
        await eventually(lambda: not site.http.open, "a closed descriptor")


async def test_bytes_that_trickle_in_are_no_request(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_port, "FIRST_SECONDS", 0.1)
    async with Site(most=10) as site:
        reader = await site.connect(HALF)

        async def trickle() -> None:
            with suppress(ConnectionError):
                while not site.writers[0].is_closing():
                    site.writers[0].write(b"x")
                    await asyncio.sleep(0.01)

        trickling = asyncio.create_task(trickle())
        assert await until_closed(reader) == b""
        trickling.cancel()


async def test_between_requests_it_may_wait_longer(monkeypatch: pytest.MonkeyPatch) -> None:
    async with Site(most=10) as site:
        monkeypatch.setattr(http_port, "IDLE_SECONDS", 1000.0)
        reader = await site.connect(GET)
        await response(reader)
        [connection] = site.http._connections.values()
        first = connection.since + 999
        assert not connection.overdue(first)
        assert connection.overdue(first + 2)
        monkeypatch.setattr(http_port, "IDLE_SECONDS", 0.05)
        site.writers[0].write(GET)
        await response(reader)
        assert await until_closed(reader) == b""


async def test_a_client_that_takes_nothing_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_port, "TAKING_SECONDS", 0.05)
    async with Site(most=10) as site:
        await site.connect(GET.replace(b"/livez", b"/long"))
        await eventually(lambda: site.http.open, "an open connection")
        await eventually(lambda: not site.http.open, "a closed descriptor")


async def test_a_full_port_still_responds() -> None:
    """Silent connections make room; connections with a request in work do not."""
    async with Site(most=4) as site:
        working = await site.connect(GET.replace(b"/livez", b"/wait"))
        await eventually(lambda: site.waiting, "a request in work")
        silent = [await site.connect(HALF) for _ in range(20)]
        assert (await response(await site.connect(GET))).startswith(b"HTTP/1.1 200")
        assert site.http.open <= 4
        closed = [asyncio.ensure_future(until_closed(each)) for each in silent]
        await asyncio.wait(closed, return_when=asyncio.FIRST_COMPLETED)
        site.go_on.set()
        assert (await response(working, b"waited")).startswith(b"HTTP/1.1 200")
        for each in closed:
            each.cancel()


async def tried(site: Site) -> asyncio.StreamReader:
    """A connection whose request is in work, or which a sweep has closed before it was.

    The first request of a process takes longer than the time between sweeps.
    """
    reader = await site.connect(GET.replace(b"/livez", b"/wait"))
    await eventually(lambda: site.waiting or ended(reader), "a request in work")
    return reader


async def test_where_all_have_requests_in_work_others_wait() -> None:
    async with Site(most=1) as site:
        while not site.waiting:
            working = await tried(site)
        late = await site.connect(GET)
        site.go_on.set()
        await response(working, b"waited")
        assert (await response(late)).startswith(b"HTTP/1.1 200")


async def test_a_request_has_so_many_bytes_at_most() -> None:
    async with Site(most=10) as site:
        line = b"X-%d: " + b"x" * 4_000 + b"\r\n"
        lines = [line % number for number in range(MAX_REQUEST_BYTES // 4_000 + 1)]
        reader = await site.connect(GET[:-2] + b"".join(lines))
        assert b"200" not in await until_closed(reader)
        body = b"POST /nothing HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99999999\r\n\r\n"
        reader = await site.connect(body + bytes(4 * MAX_REQUEST_BYTES))
        await until_closed(reader)
        await eventually(lambda: not site.http.open, "closed descriptors")


async def test_a_body_is_not_unpacked() -> None:
    """60 MB of zeros compress to 58 KB, and took the loop 0.3 s."""
    body = gzip.compress(bytes(1_000))
    read: list[bytes] = []

    async def reads(request: web.Request) -> web.Response:
        read.append(await request.read())
        return web.Response(text="lives")

    async with Site(most=10, reads=reads) as site:
        head = b"POST /reads HTTP/1.1\r\nHost: localhost\r\nContent-Encoding: gzip\r\n"
        length = b"Content-Length: %d\r\n\r\n" % len(body)
        await response(await site.connect(head + length + body))
    assert read == [body]


async def test_a_defect_is_logged_now_and_then(caplog: pytest.LogCaptureFixture) -> None:
    async with Site(most=10) as site:
        for _ in range(3):
            reader = await site.connect(GET.replace(b"/livez", b"/fails"))
            assert b"HTTP/1.1 500" in await response(reader, b"log says why.\n")
    logged = [each for each in caplog.records if each.exc_info]
    assert len(logged) == 1
    assert logged[0].name == http_port.__name__


def test_descriptors_are_kept_for_the_supervisor() -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (200, hard))
        assert connections_left(10, workers=2) == 10
        assert connections_left(10_000, workers=2) == 200 - RESERVED - 2 * RESERVED_A_WORKER
        assert connections_left(10_000, workers=100) == 1
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


# --- bytes of any kind


@asynccontextmanager
async def endpoints() -> AsyncIterator[int]:
    """The gateway's own paths."""
    made = HttpEndpoints(Metrics("1.2.3", 10), Health)
    port = await made.start("127.0.0.1", 0)
    yield port
    await made.stop()


async def sent(port: int, data: bytes) -> bytes:
    """The response of the port to bytes, until it closes the connection."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(data)
    received = await until_closed(reader)
    writer.close()
    return received


NO_REQUESTS = {
    "TLS": bytes.fromhex("16030100c8010000c40303") + bytes(range(189)),
    "HTTP/9": b"GET /livez HTTP/9\r\nHost: localhost\r\n\r\n",
    "HTTP/9.9": b"GET /livez HTTP/9.9\r\nHost: localhost\r\n\r\n",
    "negative length": b"GET /livez HTTP/1.1\r\nHost: localhost\r\nContent-Length: -1\r\n\r\n",
    "no length": b"GET /livez HTTP/1.1\r\nHost: localhost\r\nContent-Length: x\r\n\r\n",
    "chunks": b"GET /livez HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
    "gzip": b"GET /livez HTTP/1.1\r\nContent-Encoding: gzip\r\nContent-Length: 4\r\n\r\nnope",
    "header": b"GET /livez HTTP/1.1\r\nHost localhost\r\n\r\n",
    "long line": b"GET /" + b"x" * 60_000 + b" HTTP/1.1\r\n\r\n",
    "absolute": b"GET http://[::1 HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "escapes": b"GET /%ff%zz/%00 HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "host": b"GET /metrics HTTP/1.1\r\nHost: \xff\xfe[::\r\n\r\n",
    "accept": b"GET /metrics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
    b"Accept: text/plain; version=x\r\n\r\n",
    "accept bytes": b"GET /metrics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
    b"Accept: application/openmetrics-text; version=2.\xff\r\n\r\n",
    "upgrade": b"GET /livez HTTP/1.1\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n\xff\xff",
    "preface": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    "expect": b"GET /livez HTTP/1.1\r\nExpect: what\r\nConnection: close\r\n\r\n",
}


def noisy(records: list[logging.LogRecord]) -> list[str]:
    return [each.getMessage() for each in records if each.levelno >= logging.WARNING]


@pytest.mark.parametrize("data", NO_REQUESTS.values(), ids=NO_REQUESTS)
async def test_bytes_from_outside_print_no_traceback(
    data: bytes, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(http_port, "FIRST_SECONDS", 0.05)
    monkeypatch.setattr(http_port, "IDLE_SECONDS", 0.05)
    async with endpoints() as port:
        await sent(port, data)
        monkeypatch.setattr(http_port, "FIRST_SECONDS", 1000.0)
        assert b"200 OK" in await sent(port, LAST)
    assert noisy(caplog.records) == []


async def test_mutated_requests_print_no_traceback(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(http_port, "FIRST_SECONDS", 0.05)
    monkeypatch.setattr(http_port, "IDLE_SECONDS", 0.05)
    chance = random.Random(7)
    whole = [*NO_REQUESTS.values(), GET, GET.replace(b"/livez", b"/metrics")]

    def flip(data: bytearray) -> None:
        data[chance.randrange(len(data))] = chance.randrange(256)

    def cut(data: bytearray) -> None:
        start = chance.randrange(len(data))
        del data[start : start + chance.randrange(1, 9)]

    def insert(data: bytearray) -> None:
        piece = chance.choice((b"\r\n", b"\x00", b"\xff", b": ", b"-", b"%", b",", b"\r\n\r\n"))
        start = chance.randrange(len(data) + 1)
        data[start:start] = piece

    kinds: tuple[Callable[[bytearray], None], ...] = flip, cut, insert

    def mutated() -> bytes:
        data = bytearray(chance.choice(whole)[:2_000])
        for _ in range(chance.randrange(1, 5)):
            if data:
                chance.choice(kinds)(data)
        return bytes(data)

    async with endpoints() as port:
        for _ in range(12):
            await asyncio.gather(*(sent(port, mutated()) for _ in range(50)))
        monkeypatch.setattr(http_port, "FIRST_SECONDS", 1000.0)
        assert b"200 OK" in await sent(port, LAST)
    assert noisy(caplog.records) == []
