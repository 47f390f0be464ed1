"""A browser for tests of pages: headless Chromium, driven by its DevTools protocol.

No driver and no library is needed: the protocol is JSON over a WebSocket, which aiohttp has. A page
is loaded from a file, like a report that a person opens; its network requests, its console output
and its exceptions are kept.
"""

from __future__ import annotations

import asyncio
import atexit
import base64
import contextlib
import itertools
import os
import shutil
import tempfile
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import aiohttp

from devkit.chromium import chromium
from devkit.process import ManagedProcess

_SECONDS: Final = 240.0
_PORT_FILE: Final = "DevToolsActivePort"
_LARGEST: Final = 256 * 2**20

_LOADED: Final = (
    "document.readyState === 'complete'"
    " || new Promise(done => addEventListener('load', () => done(true)))"
)

# No sandbox: it needs rights that containers and root lack, and the pages are our own. The other
# flags keep the browser from contacting its vendor.
_FLAGS: Final = (
    "--headless",
    "--no-sandbox",
    "--no-zygote",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-quic",
    "--disable-sync",
    "--disable-extensions",
    "--disable-default-apps",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-domain-reliability",
    "--no-first-run",
    "--no-pings",
    "--font-render-hinting=none",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
    "--remote-debugging-port=0",
)


class BrowserError(Exception):
    """The browser did not start or rejected a command, or a script in a page threw."""


@dataclass(slots=True)
class Page:
    """A tab of the browser. ``requests``, ``console`` and ``errors`` grow while it is open."""

    _socket: aiohttp.ClientWebSocketResponse
    requests: list[str] = field(default_factory=list)
    console: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    _ids: itertools.count[int] = field(default_factory=lambda: itertools.count(1))
    _answers: dict[int, asyncio.Future[dict[str, Any]]] = field(default_factory=dict)
    _events: dict[str, asyncio.Event] = field(default_factory=dict)

    async def open(self, what: Path | str) -> None:
        """Load a file or a URL, and wait until its scripts have run."""
        loaded = self._events["Page.loadEventFired"] = asyncio.Event()
        url = what.resolve().as_uri() if isinstance(what, Path) else what
        await self.call("Page.navigate", url=url)
        async with asyncio.timeout(_SECONDS):
            await loaded.wait()
            # The event may be of the new tab's empty page, because the browser reports it late.
            await self.run(_LOADED)

    async def run(self, script: str) -> Any:
        """The value of an expression in the page, awaited if it is a promise.

        Raises BrowserError with the exception that the script threw.
        """
        answer = await self.call(
            "Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True
        )
        if "exceptionDetails" in answer:
            raise BrowserError(_thrown(answer["exceptionDetails"]))
        return answer["result"].get("value")

    async def resize(self, width: int, height: int, *, scale: float = 1) -> None:
        """Give the page a window of this size, in CSS pixels, and wait until it has drawn."""
        await self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=scale,
            mobile=False,
        )
        await self.settle()

    async def media(self, kind: str = "screen", scheme: str = "light") -> None:
        """Show the page on a ``screen`` or for ``print``, in the colour scheme ``light`` or
        ``dark``."""
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        await self.call("Emulation.setEmulatedMedia", media=kind, features=features)
        await self.settle()

    async def settle(self) -> None:
        """Wait until changes are drawn, because observers run between two frames."""
        frame = "new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))"
        await self.run(f"{frame}.then(() => true)")

    async def screenshot(self, **clip: float) -> bytes:
        """A PNG of the window, or of ``clip`` (x, y, width, height in CSS pixels)."""
        more = {"clip": {**clip, "scale": 1}, "captureBeyondViewport": True} if clip else {}
        answer = await self.call("Page.captureScreenshot", format="png", **more)
        return base64.b64decode(answer["data"])

    async def pdf(self) -> bytes:
        """The page printed on A4; resets :meth:`media`."""
        await self.call("Emulation.setEmulatedMedia", media="")
        answer = await self.call("Page.printToPDF", paperWidth=8.27, paperHeight=11.69)
        return base64.b64decode(answer["data"])

    async def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Send a command of the DevTools protocol; returns its result. Raises BrowserError if it is
        rejected."""
        number = next(self._ids)
        answer = self._answers[number] = asyncio.get_running_loop().create_future()
        await self._socket.send_json({"id": number, "method": method, "params": parameters})
        async with asyncio.timeout(_SECONDS):
            message = await answer
        if "error" in message:
            raise BrowserError(f"{method}: {message['error'].get('message')}")
        result: dict[str, Any] = message["result"]
        return result

    async def _read(self) -> None:
        """Handle the browser's messages until it closes the page."""
        async for frame in self._socket:
            message = frame.json()
            if "id" in message:
                self._answers.pop(message["id"]).set_result(message)
            else:
                self._take(message["method"], message["params"])
        for answer in self._answers.values():
            answer.set_exception(BrowserError("the browser has closed the page"))

    def _take(self, event: str, told: dict[str, Any]) -> None:
        match event:
            case "Network.requestWillBeSent":
                self.requests.append(told["request"]["url"])
            case "Runtime.consoleAPICalled":
                words = (str(a.get("value", a.get("description"))) for a in told["args"])
                self.console.append(f"{told['type']}: {' '.join(words)}")
            case "Runtime.exceptionThrown":
                self.errors.append(_thrown(told["exceptionDetails"]))
            case "Log.entryAdded":
                # The browser's own messages: blocked scripts, failed loads.
                self.errors.append(f"{told['entry']['level']}: {told['entry']['text']}")
        if event in self._events:
            self._events[event].set()


class Browser:
    """A running Chromium; made by ``open_browser`` and ``kept_browser``."""

    def __init__(self, session: aiohttp.ClientSession, address: str) -> None:
        self._session = session
        self._address = address

    @contextlib.asynccontextmanager
    async def page(self) -> AsyncIterator[Page]:
        """A new tab, closed at the end, without the storage and cache of other tabs."""
        async with self._session.get(f"{self._address}/json/version") as answer:
            whole = (await answer.json(content_type=None))["webSocketDebuggerUrl"]
        async with self._session.ws_connect(whole) as owner:
            context = await _ask(owner, "Target.createBrowserContext", disposeOnDetach=True)
            own = {"browserContextId": context["browserContextId"]}
            target = await _ask(owner, "Target.createTarget", url="about:blank", **own)
            url = f"{self._address}/devtools/page/{target['targetId']}"
            async with self._session.ws_connect(url, max_msg_size=_LARGEST) as socket:
                page = Page(socket)
                reader = asyncio.create_task(page._read())
                try:
                    for domain in ("Page", "Runtime", "Network", "Log"):
                        await page.call(f"{domain}.enable")
                    yield page
                    await page.call("Page.close")
                finally:
                    reader.cancel()
                    with contextlib.suppress(asyncio.CancelledError):
                        await reader


async def _ask(socket: aiohttp.ClientWebSocketResponse, method: str, **parameters: Any) -> Any:
    """The result of a command to the browser as a whole. Raises BrowserError if it is rejected."""
    await socket.send_json({"id": 1, "method": method, "params": parameters})
    async with asyncio.timeout(_SECONDS):
        while "id" not in (message := await socket.receive_json()):
            pass  # an event
    if "error" in message:
        raise BrowserError(f"{method}: {message['error'].get('message')}")
    return message["result"]


@contextlib.asynccontextmanager
async def open_browser(directory: Path) -> AsyncIterator[Browser]:
    """A new Chromium, ended at the end; its profile and log are in ``directory``.

    Raises ChromiumError or BrowserError.
    """
    await asyncio.to_thread(chromium)  # fetched, if it is missing
    with _start(directory) as process:
        try:
            async with aiohttp.ClientSession() as session:
                yield Browser(session, await _address(process, directory))
        finally:
            process.kill()


_kept: list[tuple[ManagedProcess, Path]] = []


@contextlib.asynccontextmanager
async def kept_browser() -> AsyncIterator[Browser]:
    """A Chromium that ends with this process, because its start takes longer than most pages.

    Raises ChromiumError or BrowserError.
    """
    await asyncio.to_thread(chromium)
    if not _kept or not _kept[-1][0].running:
        directory = Path(tempfile.mkdtemp(prefix="kafka-gateway-chromium-"))
        _kept.append((_start(directory), directory))
        atexit.register(_end, *_kept[-1])
    async with aiohttp.ClientSession() as session:
        yield Browser(session, await _address(*_kept[-1]))


def _end(process: ManagedProcess, directory: Path) -> None:
    process.kill()
    shutil.rmtree(directory, ignore_errors=True)


def _start(directory: Path) -> ManagedProcess:
    found = chromium()
    profile = directory / "profile"
    command = [found.program, *_FLAGS, f"--user-data-dir={profile}", "about:blank"]
    environment = {**os.environ, "HOME": str(directory), **found.environment}
    # A profile that was used before still holds the port of its former browser.
    (profile / _PORT_FILE).unlink(missing_ok=True)
    return ManagedProcess("chromium", command, directory / "chromium.log", env=environment)


async def _address(process: ManagedProcess, directory: Path) -> str:
    """The address that the browser listens on, read from its profile."""
    file = directory / "profile" / _PORT_FILE
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(_SECONDS):
            while process.running:
                lines = file.read_text().splitlines() if file.is_file() else []
                if len(lines) > 1:
                    return f"http://127.0.0.1:{lines[0]}"
                await asyncio.sleep(0.05)
    raise BrowserError(f"Chromium does not serve\n{process.tail()}")


def _thrown(details: dict[str, Any]) -> str:
    thrown = details.get("exception", {})
    return str(thrown.get("description") or thrown.get("value") or details.get("text"))
