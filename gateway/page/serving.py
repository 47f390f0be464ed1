"""The page over HTTP: ``/``, its files, and its event stream, all of them read-only."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final, TypeAlias

from aiohttp import web

from gateway.page.auth import PageAuth, Verdict
from gateway.page.feed import MAX_STREAMS, Feed
from gateway.page.files import HTML, NAMES, Asset, Assets

_Handler: TypeAlias = Callable[[web.Request], Awaitable[web.StreamResponse]]

CONTENT_SECURITY_POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self';"
    " base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS: Final = {
    "Content-Security-Policy": CONTENT_SECURITY_POLICY,
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}

OFF: Final = (
    "The page is off: this port is open to other machines, and no authentication is configured.\n"
    "Give metrics.auth (kafka-gateway page-password makes a password), or make metrics.host"
    " 127.0.0.1.\n"
)
_TURNED_OFF: Final = "The page is off: metrics.page is false in the configuration.\n"
_FOREIGN: Final = (
    "The page is for this machine: ask for it as localhost or 127.0.0.1, or configure metrics.auth."
    "\n"
)
_TOO_MANY: Final = f"{MAX_STREAMS} pages are open, which is the most; close one and try again.\n"
_CROSS_SITE: Final = ("cross-site", "same-site")


def add_page(app: web.Application, feed: Feed, auth: PageAuth) -> None:
    """Add the page's routes."""
    page = _Page(feed, auth)
    app.router.add_get("/", page.guarded(page.html))
    app.router.add_get("/page/events", page.guarded(page.events), allow_head=False)
    app.router.add_get("/page/{name}", page.guarded(page.file))


def add_no_page(app: web.Application, *, turned_off: bool) -> None:
    """Add a route that says why there is no page."""

    async def say(_: web.Request) -> web.Response:
        return web.Response(status=403, text=_TURNED_OFF if turned_off else OFF, headers=HEADERS)

    app.router.add_get("/", say)


class _Page:
    def __init__(self, feed: Feed, auth: PageAuth) -> None:
        self._feed = feed
        self._auth = auth
        self._assets = Assets()

    def guarded(self, handler: _Handler) -> _Handler:
        """The handler, for requests that :class:`PageAuth` allows."""

        async def guarded(request: web.Request) -> web.StreamResponse:
            headers = request.headers
            site = headers.get("Sec-Fetch-Site", "")
            if site in _CROSS_SITE and headers.get("Sec-Fetch-Mode") != "navigate":
                return _text(403, "The page's files are for the page alone.\n")
            verdict = await self._auth.verdict(
                headers.get("Authorization", ""), headers.get("Host", "")
            )
            match verdict:
                case Verdict.ALLOWED:
                    return await handler(request)
                case Verdict.UNAUTHENTICATED:
                    answer = _text(401, "Log in to see the page.\n")
                    answer.headers["WWW-Authenticate"] = self._auth.challenge
                    return answer
                case Verdict.FOREIGN_HOST:
                    return _text(403, _FOREIGN)
                case Verdict.BUSY:
                    return _later(_text(503, "Too many logins at once; try again.\n"))

        return guarded

    async def html(self, request: web.Request) -> web.StreamResponse:
        return await self._answer(request, HTML)

    async def file(self, request: web.Request) -> web.StreamResponse:
        name = request.match_info["name"]
        if name not in NAMES or name == HTML:
            return _text(404, "There is no such file.\n")
        try:
            return await self._answer(request, name)
        except FileNotFoundError:
            return _text(404, "It is not installed.\n")

    async def events(self, request: web.Request) -> web.StreamResponse:
        if self._feed.full:
            return _later(_text(503, _TOO_MANY))
        response = web.StreamResponse(
            headers={**HEADERS, "Cache-Control": "no-store", "Content-Type": "text/event-stream"}
        )
        # Reverse proxies would otherwise buffer a stream before they forward it.
        response.headers["X-Accel-Buffering"] = "no"
        try:
            await response.prepare(request)
            await self._feed.serve(response.write)
        except TimeoutError:
            # The client does not read, so that the end of the response would wait, too.
            if request.transport is not None:
                request.transport.abort()
        except ConnectionError:
            pass  # the page was closed
        return response

    async def _answer(self, request: web.Request, name: str) -> web.StreamResponse:
        # In a thread: compressing a megabyte takes a while, and /metrics must not wait for it.
        asset: Asset = await asyncio.to_thread(self._assets.get, name)
        headers = {**HEADERS, "Cache-Control": "no-cache", "Vary": "Accept-Encoding"}
        headers["ETag"] = f'"{asset.tag}"'
        if asset.tag in {one.value for one in request.if_none_match or ()}:
            return web.Response(status=304, headers=headers)
        headers["Content-Type"] = f"{asset.content_type}; charset=utf-8"
        if "gzip" in request.headers.get("Accept-Encoding", ""):
            headers["Content-Encoding"] = "gzip"
            return web.Response(body=asset.compressed, headers=headers)
        return web.Response(body=asset.body, headers=headers)


def _text(status: int, text: str) -> web.Response:
    return web.Response(status=status, text=text, headers={**HEADERS, "Cache-Control": "no-store"})


def _later(response: web.Response) -> web.Response:
    response.headers["Retry-After"] = "5"
    return response
