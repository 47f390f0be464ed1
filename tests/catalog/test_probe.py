"""gateway.catalog.probe: which servers answer a Kafka request."""

from __future__ import annotations

import asyncio
import ssl
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import pytest

from devkit.certificates import Authority
from devkit.ports import free_port
from gateway.catalog import probe
from gateway.catalog.probe import Reaction, accepts, answers, reaction

KAFKA = bytes.fromhex("0000000a00000001000000000000")
"""ApiVersionsResponse v0 of correlation id 1: error 0, no APIs."""


@asynccontextmanager
async def server(answer: bytes | None, tls: ssl.SSLContext | None = None) -> AsyncIterator[str]:
    """The address of a server that answers each request like this, or is silent if ``answer`` is
    None, like a process that hangs."""
    tasks = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        tasks.append(asyncio.current_task())
        if await reader.read(4) and answer is not None:
            writer.write(answer)
        elif answer is None:
            await reader.read()
        writer.close()
        with suppress(OSError):
            await writer.wait_closed()

    serving = await asyncio.start_server(serve, "127.0.0.1", 0, ssl=tls)
    async with serving:
        yield f"127.0.0.1:{serving.sockets[0].getsockname()[1]}"
        await asyncio.gather(*filter(None, tasks), return_exceptions=True)


async def test_a_kafka_server_answers() -> None:
    async with server(KAFKA) as address:
        assert await answers(address, tls=False)


@pytest.mark.parametrize(
    "answer",
    [b"", b"HTTP/1.1 400 Bad Request\r\n\r\n", KAFKA[:7], KAFKA[:7] + b"\x02" + KAFKA[8:]],
)
async def test_what_accepts_and_speaks_no_kafka_does_not(answer: bytes) -> None:
    async with server(answer) as address:
        assert await accepts(address)
        assert not await answers(address, tls=False)


async def test_one_that_hangs_does_not(monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that is stopped still accepts connections, because the system does."""
    monkeypatch.setattr(probe, "ANSWER_SECONDS", 0.2)
    async with server(None) as address:
        assert await accepts(address)
        assert not await answers(address, tls=False)


@pytest.mark.parametrize("address", ["127.0.0.1:{}", "127.0.0.1:99999", "", "a b:1"])
async def test_nothing_is_there(address: str) -> None:
    assert not await answers(address.format(free_port()), tls=False)


@pytest.mark.parametrize("required", [False, True])
async def test_tls_of_anybody(required: bool, tmp_path: Path) -> None:
    """Its certificate need not be known here, nor need it know a certificate of this process."""
    authority = Authority(tmp_path / "ca")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(authority.server().both)
    if required:
        context.load_verify_locations(authority.file)
        context.verify_mode = ssl.CERT_REQUIRED
    async with server(KAFKA, context) as address:
        assert await answers(address, tls=True)
        assert not await answers(address, tls=False)


@pytest.mark.parametrize("answer", [KAFKA, b"", KAFKA[:1]], ids=["kafka", "closes", "a-byte"])
async def test_what_sends_or_closes_responds(answer: bytes) -> None:
    async with server(answer) as address:
        assert await reaction(address, tls=False) is Reaction.RESPONDS


async def test_what_accepts_and_sends_nothing_is_silent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(probe, "TICK_SECONDS", 0.05)
    async with server(None) as address:
        assert await reaction(address, tls=False) is Reaction.SILENT
        assert await reaction(address, tls=True) is Reaction.SILENT


async def test_what_refuses_is_not_silent() -> None:
    assert await reaction(f"127.0.0.1:{free_port()}", tls=False) is Reaction.NO_CONNECTION
    assert await reaction("127.0.0.1:99999", tls=False) is Reaction.NO_CONNECTION


async def test_what_breaks_off_responds(monkeypatch: pytest.MonkeyPatch) -> None:
    """A plain server that gets a TLS handshake."""
    async with server(b"no TLS") as address:
        assert await reaction(address, tls=True) is Reaction.RESPONDS


async def test_while_this_process_is_stopped_no_time_passes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It is stopped for longer than a gateway may be silent, after it has connected."""
    monkeypatch.setattr(probe, "TICK_SECONDS", 0.1)

    async def responds(address: str, *, tls: bool) -> None:
        time.sleep(0.1 * probe.ANSWER_TICKS + 0.1)
        await asyncio.sleep(0.1)

    monkeypatch.setattr(probe, "_responds", responds)
    async with server(KAFKA) as address:
        assert await reaction(address, tls=False) is Reaction.RESPONDS
