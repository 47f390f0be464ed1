"""Key sets at a URL: fetched in the background, kept if that fails."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import pytest
from aiohttp import web

from gateway.auth import jwks_url
from gateway.auth.jwks import MAX_BYTES, KeySet
from gateway.auth.jwks_url import UrlKeys
from tests.auth.tokens import jwk, key_set
from tests.brokers.name_server import NameServer

KEY = "listeners[0].sasl.oauthbearer.jwks"


class Issuer:
    """Responds with ``text``, and counts the requests."""

    def __init__(self) -> None:
        self.text = key_set(jwk("ES256"))
        self.status = 200
        self.asked = 0
        self.url = ""

    async def answer(self, _: web.Request) -> web.Response:
        self.asked += 1
        return web.Response(text=self.text, status=self.status)


@pytest.fixture
async def issuer() -> AsyncIterator[Issuer]:
    made = Issuer()
    app = web.Application()
    app.router.add_get("/keys", made.answer)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    host, port = runner.addresses[0][:2]
    made.url = f"http://{host}:{port}/keys"
    yield made
    await runner.cleanup()


@asynccontextmanager
async def fetching(url: str, refresh: float = 300.0) -> AsyncIterator[UrlKeys]:
    keys = UrlKeys(url, refresh, KEY)
    keys.load()
    try:
        yield keys
    finally:
        await keys.stop()


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(120):
        while not condition():
            await asyncio.sleep(0.005)


def has(keys: UrlKeys, name: str) -> bool:
    return keys.current is not None and keys.current.knows(name)


async def test_keys_are_fetched(issuer: Issuer) -> None:
    async with fetching(issuer.url) as keys:
        assert keys.current is None
        await until(lambda: has(keys, "one"))
        keys.look_again()
    assert issuer.asked == 1


async def test_keys_are_fetched_again(issuer: Issuer) -> None:
    async with fetching(issuer.url, refresh=0.05) as keys:
        await until(lambda: has(keys, "one"))
        issuer.text = key_set(jwk("ES256", "two"))
        await until(lambda: has(keys, "two"))
        assert not has(keys, "one")


async def test_a_key_that_is_missed_is_looked_for_soon(
    issuer: Issuer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jwks_url, "MISSED_SECONDS", 0.02)
    async with fetching(issuer.url) as keys:
        await until(lambda: has(keys, "one"))
        issuer.text = key_set(jwk("ES256", "two"))
        keys.missed()
        await until(lambda: has(keys, "two"))


async def test_but_not_as_often_as_anyone_likes(issuer: Issuer) -> None:
    async with fetching(issuer.url) as keys:
        await until(lambda: has(keys, "one"))
        for _ in range(100):
            keys.missed()
            await asyncio.sleep(0)
    assert issuer.asked == 1


@pytest.mark.parametrize(
    ("status", "text", "reason"),
    [
        (503, "", "it answers 503"),
        (200, "<html>", "it is not JSON"),
        (200, " " * (MAX_BYTES + 1), "it has more than 1048576 bytes"),
    ],
)
async def test_keys_stay_when_fetching_fails(
    issuer: Issuer, status: int, text: str, reason: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("WARNING", "aiohttp.access")
    caplog.set_level("INFO", "gateway")
    async with fetching(issuer.url, refresh=0.02) as keys:
        await until(lambda: has(keys, "one"))
        good, asked = issuer.text, issuer.asked
        issuer.status, issuer.text = status, text
        await until(lambda: issuer.asked > asked + 3)
        assert has(keys, "one")
        issuer.status, issuer.text = 200, good
        await until(lambda: "again" in caplog.text)
    assert caplog.messages == [
        f"{KEY}: the keys fetched before stay in use: {reason}",
        f"{KEY}: the keys can be fetched again",
    ]


async def test_a_url_that_is_down_at_start(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with fetching("http://127.0.0.1:1/keys") as keys:
        await until(lambda: bool(caplog.messages))
        assert keys.current is None
    (line,) = caplog.messages
    assert line.startswith(f"{KEY}: no keys yet, so nobody logs in with a token: ")


async def test_a_url_that_does_not_answer(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jwks_url, "TIMEOUT_SECONDS", 0.05)

    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        async with fetching(f"http://127.0.0.1:{port}/keys"):
            await until(lambda: bool(caplog.messages))
    assert "no answer in 0.05 s" in caplog.text


async def test_a_defect_does_not_end_the_fetching(
    issuer: Issuer, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(_: object) -> None:
        raise RuntimeError("a defect")

    monkeypatch.setattr(jwks_url, "FIRST_RETRY_SECONDS", 0.01)
    with monkeypatch.context() as patch:
        patch.setattr(KeySet, "parse", fail)
        async with fetching(issuer.url) as keys:
            await until(lambda: issuer.asked > 1)
            patch.undo()
            await until(lambda: has(keys, "one"))
    assert f"{KEY}: fetching the keys failed" in caplog.messages


def test_a_silent_name_server_does_not_hold_up_the_end(
    run: Callable[[Callable[[], Awaitable[None]]], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    names = NameServer(monkeypatch)
    host = "keys.example"
    names.silent.add(host)
    giving_up = threading.Timer(120, names.released.set)
    giving_up.start()

    async def test() -> None:
        async with fetching(f"http://{host}:1/keys"):
            await until(lambda: names.asked == [host])

    run(test)
    assert not names.released.is_set()
    names.released.set()
    giving_up.cancel()
