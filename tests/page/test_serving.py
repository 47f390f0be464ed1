"""gateway.page.serving, gateway.page.files: the page over HTTP."""

from __future__ import annotations

import asyncio
import gzip
import json
import re
import socket
import tomllib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from aiohttp import web

from devkit.paths import PROJECT_ROOT
from gateway.config.models import MetricsSettings
from gateway.page import files
from gateway.page.auth import PageAuth
from gateway.page.feed import MAX_STREAMS, Feed
from gateway.page.serving import add_no_page, add_page
from tests.page.samples import SampleGateway
from tests.waiting import eventually

BEARER = "0123456789abcdef"
ECHARTS = PROJECT_ROOT / "spark" / "assets" / "echarts.min.js"


class Site:
    """The page of a made-up gateway."""

    def __init__(self, gateway: SampleGateway, feed: Feed, port: int) -> None:
        self.gateway = gateway
        self.feed = feed
        self.port = port

    def url(self, path: str) -> str:
        return f"http://127.0.0.1:{self.port}{path}"

    async def ask(self, path: str, method: str = "GET", **headers: str) -> tuple[int, Any, bytes]:
        """Status, headers and body, as they were sent."""
        headers = {"Accept-Encoding": "identity", **headers}
        async with (
            aiohttp.ClientSession(auto_decompress=False) as session,
            session.request(method, self.url(path), headers=headers) as answer,
        ):
            return answer.status, answer.headers, await answer.read()


@asynccontextmanager
async def serving(
    directory: Path, settings: MetricsSettings | None = None, **options: Any
) -> AsyncIterator[Site]:
    gateway = SampleGateway(directory)
    past = gateway.history.to_json
    feed = Feed(gateway.begin, gateway.ask, gateway.state, past, **{"every": 0.05, **options})
    app = web.Application()
    add_page(app, feed, PageAuth(settings or MetricsSettings()))
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    try:
        yield Site(gateway, feed, runner.addresses[0][1])
    finally:
        await feed.close()
        await runner.cleanup()


async def test_the_page_and_all_that_it_names_are_served(tmp_path: Path) -> None:
    async with serving(tmp_path) as site:
        status, headers, body = await site.ask("/")
        assert (status, headers["Content-Type"]) == (200, "text/html; charset=utf-8")
        html = body.decode()
        named = set(re.findall(r'(?:src|href)="(page/[^"]+)"', html))
        assert len(named) >= 8
        for path in named:
            status, headers, body = await site.ask(f"/{path}")
            assert status == 200, path
            assert body
        # Every file is named, and no other address.
        assert {path.removeprefix("page/") for path in named} == files.NAMES - {files.HTML}
        assert "//" not in re.sub(r"<!--.*?-->", "", html)


async def test_there_is_one_echarts(tmp_path: Path) -> None:
    copies = [
        path
        for folder in ("gateway", "spark")
        for path in (PROJECT_ROOT / folder).rglob("echarts*.js")
    ]
    assert copies == [ECHARTS]
    async with serving(tmp_path) as site:
        _, headers, body = await site.ask("/page/echarts.min.js", **{"Accept-Encoding": "gzip"})
        assert headers["Content-Encoding"] == "gzip"
        assert gzip.decompress(body) == ECHARTS.read_bytes()
        _, headers, body = await site.ask("/page/echarts.min.js", **{"Accept-Encoding": "identity"})
        assert "Content-Encoding" not in headers
        assert body == ECHARTS.read_bytes()


async def test_without_echarts_the_page_has_no_curves(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "find_spec", lambda _: None)
    async with serving(tmp_path) as site:
        _, _, body = await site.ask("/")
        assert b"echarts" not in body
        assert (await site.ask("/page/echarts.min.js"))[0] == 404


async def test_nothing_runs_that_is_not_the_page_s(tmp_path: Path) -> None:
    async with serving(tmp_path) as site:
        _, headers, body = await site.ask("/")
        policy = dict(
            part.strip().split(" ", 1) for part in headers["Content-Security-Policy"].split(";")
        )
        assert policy == {
            "default-src": "'none'",
            "script-src": "'self'",
            "style-src": "'self'",
            "connect-src": "'self'",
            "img-src": "'self'",
            "base-uri": "'none'",
            "form-action": "'none'",
            "frame-ancestors": "'none'",
        }
        assert headers["X-Content-Type-Options"] == "nosniff"
        html = body.decode()
        assert re.findall(r"<script(?![^>]* src=)", html) == []
        assert re.findall(r"<style|style=|\son\w+=", html) == []
        for path in ("/page/page.js", "/page/nothing", "/page/events"):
            async with (
                aiohttp.ClientSession() as session,
                session.get(site.url(path)) as answer,
            ):
                assert (
                    answer.headers["Content-Security-Policy"] == headers["Content-Security-Policy"]
                )


async def test_it_can_only_be_read(tmp_path: Path) -> None:
    async with serving(tmp_path) as site:
        for path in ("/", "/page/events", "/page/page.js"):
            for method in ("POST", "PUT", "DELETE", "PATCH", "OPTIONS"):
                assert (await site.ask(path, method))[0] == 405, (method, path)
        assert (await site.ask("/", "HEAD"))[0] == 200


async def test_nothing_else_is_served(tmp_path: Path) -> None:
    async with serving(tmp_path) as site:
        for path in (
            "/page/",
            "/page/index.html",
            "/page/..%2fauth.py",
            "/page/%2e%2e/auth.py",
            "/page/__init__.py",
            "/page/echarts.LICENSE.txt",
        ):
            assert (await site.ask(path))[0] == 404, path


async def test_a_file_that_is_known_is_not_sent_again(tmp_path: Path) -> None:
    async with serving(tmp_path) as site:
        _, headers, _ = await site.ask("/page/page.js")
        again = await site.ask("/page/page.js", **{"If-None-Match": headers["ETag"]})
        assert (again[0], again[2]) == (304, b"")
        assert (await site.ask("/page/page.js", **{"If-None-Match": '"x"'}))[0] == 200


async def events(answer: aiohttp.ClientResponse, count: int) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    async for line in answer.content:
        if line.startswith(b"data: "):
            found.append(json.loads(line.removeprefix(b"data: ")))
        if len(found) == count:
            break
    return found


async def test_the_stream(tmp_path: Path) -> None:
    async with serving(tmp_path) as site, aiohttp.ClientSession() as session:
        async with session.get(site.url("/page/events")) as answer:
            assert answer.headers["Content-Type"] == "text/event-stream"
            assert answer.headers["Cache-Control"] == "no-store"
            past, first, second = await events(answer, 3)
            assert past["fields"][:2] == ["time", "requests"]
            assert first["gateway"]["id"] == "gw"
            assert second["time"] >= first["time"]
            assert site.feed.open == 1
        await eventually(lambda: site.feed.open == 0, "the end of the stream")
        asked = site.gateway.asked
        await asyncio.sleep(0.3)
        assert site.gateway.asked == asked


async def test_streams_are_bounded(tmp_path: Path) -> None:
    async with serving(tmp_path) as site, aiohttp.ClientSession() as session:
        open_ones = [await session.get(site.url("/page/events")) for _ in range(MAX_STREAMS)]
        await eventually(lambda: site.feed.open == MAX_STREAMS, "all streams")
        async with session.get(site.url("/page/events")) as answer:
            assert answer.status == 503
            assert answer.headers["Retry-After"] == "5"
            assert "pages are open, which is the most" in await answer.text()
        assert (await site.ask("/"))[0] == 200
        for one in open_ones:
            one.close()
        await eventually(lambda: site.feed.open == 0, "the end of all streams")


async def test_a_reader_that_does_not_read_is_dropped(tmp_path: Path) -> None:
    async with serving(tmp_path, every=0.01, slow=0.3) as site:
        state = site.gateway.change
        site.gateway.change = lambda made: {**state(made), "ballast": "x" * 500_000}
        with socket.create_connection(("127.0.0.1", site.port)) as connection:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
            connection.sendall(b"GET /page/events HTTP/1.1\r\nHost: localhost\r\n\r\n")
            await eventually(lambda: site.feed.open == 1, "the stream")
            await eventually(lambda: site.feed.open == 0, "its end")


async def test_who_may_not_see_it(tmp_path: Path) -> None:
    (tmp_path / "token").write_text(BEARER)
    settings = MetricsSettings.model_validate({"auth": {"token": {"file": tmp_path / "token"}}})
    paths = ("/", "/page/events", "/page/page.js", "/page/nothing")
    async with serving(tmp_path, settings) as site:
        for path in paths:
            status, headers, body = await site.ask(path)
            assert status == 401, path
            assert headers["WWW-Authenticate"].startswith("Bearer ")
            assert body == b"Log in to see the page.\n"
            assert (await site.ask(path, Authorization="Bearer wrong"))[0] == 401
        assert site.gateway.asked == 0
        assert (await site.ask("/", Authorization=f"Bearer {BEARER}"))[0] == 200
        # Then the requested name may be anybody's.
        assert (await site.ask("/", Authorization=f"Bearer {BEARER}", Host="gw.example"))[0] == 200


async def test_other_sites_cannot_read_it(tmp_path: Path) -> None:
    async with serving(tmp_path) as site:
        status, _, body = await site.ask("/", Host="evil.example")
        assert status == 403
        assert b"ask for it as localhost" in body
        foreign = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "cors"}
        assert (await site.ask("/page/events", **foreign))[0] == 403
        # A link to the page is harmless.
        link = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"}
        assert (await site.ask("/", **link))[0] == 200
        _, headers, _ = await site.ask("/", Origin="http://example.org")
        assert not any(name.startswith("Access-Control-") for name in headers)


@pytest.mark.parametrize(
    ("turned_off", "told"), [(True, "metrics.page is false"), (False, "Give metrics.auth")]
)
async def test_where_there_is_none_it_is_said_why(turned_off: bool, told: str) -> None:
    app = web.Application()
    add_no_page(app, turned_off=turned_off)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    url = f"http://127.0.0.1:{runner.addresses[0][1]}"
    async with aiohttp.ClientSession() as session:
        async with session.get(f"{url}/") as answer:
            assert answer.status == 403
            assert told in await answer.text()
        async with session.get(f"{url}/page/events") as answer:
            assert answer.status == 404
    await runner.cleanup()


def test_the_files_are_in_the_wheel() -> None:
    project = tomllib.loads((PROJECT_ROOT / "pyproject.toml").read_text())
    setuptools = project["tool"]["setuptools"]
    assert setuptools["package-data"]["gateway"] == ["page/assets/*"]
    folder = PROJECT_ROOT / "gateway" / "page" / "assets"
    assert {path.name for path in folder.iterdir()} == files.NAMES - {files.ECHARTS}
