"""The page of a made-up gateway in a browser, over HTTP, for tests that look at it."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from aiohttp import web

from devkit.browser import Page, kept_browser
from gateway.config.models import MetricsSettings
from gateway.page.auth import PageAuth
from gateway.page.feed import Feed
from gateway.page.serving import add_page
from tests.page.samples import SampleGateway

DESKTOP, PHONE = (1440, 900), (390, 844)


class Opened:
    """The tab, and the gateway behind it."""

    def __init__(self, tab: Page, gateway: SampleGateway, feed: Feed, server: Server) -> None:
        self.tab = tab
        self.gateway = gateway
        self.feed = feed
        self.server = server

    async def text(self, selector: str) -> str:
        """The text of an element as it is shown."""
        found: str = await self.tab.run(f"document.querySelector('{selector}').innerText")
        return found

    async def until(self, expression: str, what: str) -> Any:
        """Wait until an expression in the page is true."""
        try:
            async with asyncio.timeout(120):
                while not (found := await self.tab.run(expression)):
                    await asyncio.sleep(0.05)
                return found
        except TimeoutError:
            raise AssertionError(f"{what}: not within 120 s; {self.tab.errors}") from None

    async def press(self, key: str, times: int = 1) -> None:
        """Press a key of :data:`KEYS`."""
        pressed: dict[str, Any] = {"key": key, "code": key, "windowsVirtualKeyCode": KEYS[key]}
        if key == "Enter":
            pressed["text"] = "\r"
        for kind in ("keyDown", "keyUp") * times:
            await self.tab.call("Input.dispatchKeyEvent", type=kind, **pressed)


KEYS = {"Tab": 9, "Enter": 13, "End": 35, "Home": 36}
KEYS |= {"ArrowLeft": 37, "ArrowUp": 38, "ArrowRight": 39, "ArrowDown": 40}


class Server:
    """The HTTP port, which can go away and come back."""

    def __init__(self, gateway: SampleGateway, every: float) -> None:
        self._gateway = gateway
        self._every = every
        self._runner: web.AppRunner | None = None
        self.port = 0
        self.feed: Feed | None = None

    async def start(self) -> Feed:
        gateway = self._gateway
        feed = self.feed = Feed(
            gateway.begin, gateway.ask, gateway.state, gateway.history.to_json, every=self._every
        )
        app = web.Application()
        add_page(app, feed, PageAuth(MetricsSettings()))
        self._runner = web.AppRunner(app, shutdown_timeout=0.1, access_log=None)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", self.port).start()
        self.port = self._runner.addresses[0][1]
        return feed

    async def stop(self) -> None:
        runner, self._runner = self._runner, None
        if runner is not None:
            assert self.feed is not None
            await self.feed.close()
            await runner.cleanup()


@contextlib.asynccontextmanager
async def opened(
    directory: Path,
    *,
    size: tuple[int, int] = DESKTOP,
    scheme: str = "light",
    every: float = 0.1,
    gateway: SampleGateway | None = None,
    quiet: bool = True,
) -> AsyncIterator[Opened]:
    """The page with its first figures. If ``quiet``, it must not have reported any problem, nor
    requested anything but its gateway's, when it is closed."""
    gateway = gateway or SampleGateway(directory)
    server = Server(gateway, every)
    feed = await server.start()
    try:
        async with kept_browser() as browser, browser.page() as tab:
            await tab.media(scheme=scheme)
            await tab.resize(*size)
            await tab.open(f"http://127.0.0.1:{server.port}/")
            page = Opened(tab, gateway, feed, server)
            await page.until("document.documentElement.dataset.ready === 'yes'", "first figures")
            yield page
            if quiet:
                assert tab.errors == []
                assert tab.console == []
                start = f"http://127.0.0.1:{server.port}/"
                assert [url for url in tab.requests if not url.startswith(start)] == []
    finally:
        await server.stop()
