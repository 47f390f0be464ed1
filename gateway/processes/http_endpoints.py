"""The supervisor's HTTP port: /metrics and /metrics/clients for Prometheus, /livez and /readyz for
orchestrators, /summary for the pages of the fleet, /instance for ``kafka-gateway check`` on this
machine, and the page (gateway/page) for people."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, TypeAlias

from aiohttp import web

from gateway.checks import running
from gateway.config.values import is_loopback
from gateway.page.auth import is_own_host
from gateway.processes.exposition import Exposition
from gateway.processes.http_port import HttpPort
from gateway.processes.metrics import Metrics
from gateway.slices import Turns

MAX_CONNECTIONS: Final = 128
"""Connections that may be open at a time, unless the configuration sets another number."""

FOREIGN_HOST: Final = (
    "This port is for this machine: ask for it as localhost or 127.0.0.1, or by metrics.host.\n"
)

FORWARDING: Final = (
    *("Forwarded", "Via", "X-Real-IP", "X-Client-IP", "True-Client-IP", "CF-Connecting-IP"),
    *("X-Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Port"),
    *("X-Forwarded-Proto", "X-Forwarded-Server", "X-Original-Host", "X-Envoy-External-Address"),
)
"""Headers that reverse proxies add: RFC 7239, RFC 9110, and what nginx, Apache, HAProxy, Envoy and
others send."""

TEXT: Final = "text/plain; version=0.0.4; charset=utf-8"
"""Prometheus' plain text format, which /metrics/clients has whatever is asked for."""

AT_ONCE: Final = 64 * 1024
"""Bytes of a response that are compressed in one go: 1 to 2 ms."""

_Handler: TypeAlias = Callable[[web.Request], Awaitable[web.StreamResponse]]


async def _no_clients() -> Sequence[bytes]:
    return ()


@dataclass(frozen=True, slots=True)
class Health:
    """Problems, in sentences; empty if all is well.

    ``not_live``: problems that a restart may cure.
    ``not_ready``: why no traffic should come now.
    ``degraded``: problems of a part of the traffic; the rest should come.
    """

    not_live: Sequence[str] = ()
    not_ready: Sequence[str] = ()
    degraded: Sequence[str] = ()


class HttpEndpoints:
    """The server of these paths.

    ``health`` and ``summary`` are called at each request.
    ``instance`` describes the process to other processes of this machine that know its file.
    ``add_page`` adds the page's routes.
    ``clients`` makes the text of /metrics/clients, in pieces.
    """

    def __init__(
        self,
        metrics: Metrics,
        health: Callable[[], Health],
        add_page: Callable[[web.Application], None] = lambda _: None,
        summary: Callable[[], Mapping[str, object]] = dict,
        instance: Mapping[str, object] = MappingProxyType({}),
        turns: Turns | None = None,
        clients: Callable[[], Awaitable[Sequence[bytes]]] = _no_clients,
    ) -> None:
        # No registry: prometheus_client's global registry has the metrics of this process only.
        self._exposition = Exposition(metrics, turns or Turns())
        self._health = health
        self._add_page = add_page
        self._clients = clients
        self._summary = summary
        self._instance = json.dumps(dict(instance)) + "\n"
        files = instance.get("files")
        self._files: Sequence[object] = files if isinstance(files, list) else ()
        self._port: HttpPort | None = None

    async def start(self, host: str, port: int, most: int = MAX_CONNECTIONS) -> int:
        """Listen, for ``most`` connections; returns the port. Raises OSError if it cannot be
        bound."""
        app = web.Application()
        for path, handler in {
            "/metrics": self._metrics,
            "/metrics/clients": self._metrics_of_clients,
            "/livez": self._livez,
            "/readyz": self._readyz,
            "/summary": self._summarise,
            running.PATH: self._tell_instance,
        }.items():
            app.router.add_get(path, _for_own_names(host, handler))
        self._add_page(app)
        http = HttpPort(app, most)
        bound = await http.start(host, port)
        self._port = http
        return bound

    async def stop(self) -> None:
        """Close the port."""
        http, self._port = self._port, None
        if http is not None:
            await http.stop()
        await self._exposition.stop()

    async def _metrics(self, request: web.Request) -> web.Response:
        body, content_type = await self._exposition.text(request.headers.get("Accept", ""))
        response = web.Response(body=body, headers={"Content-Type": content_type})
        response.enable_compression()
        return response

    async def _metrics_of_clients(self, request: web.Request) -> web.StreamResponse:
        pieces = await self._clients()
        response = web.StreamResponse(headers={"Content-Type": TEXT})
        response.enable_compression()
        await response.prepare(request)
        for piece in pieces:
            for start in range(0, len(piece), AT_ONCE):
                await response.write(piece[start : start + AT_ONCE])
                await asyncio.sleep(0)
        await response.write_eof()
        return response

    async def _livez(self, _: web.Request) -> web.Response:
        return _health_response(self._health().not_live)

    async def _readyz(self, _: web.Request) -> web.Response:
        health = self._health()
        return _health_response([*health.not_live, *health.not_ready], health.degraded)

    async def _summarise(self, _: web.Request) -> web.Response:
        return web.json_response(self._summary())

    async def _tell_instance(self, request: web.Request) -> web.Response:
        if not _is_of_this_machine(request) or not self._is_named(request):
            return web.Response(status=404, text="404: Not Found")
        return web.Response(text=self._instance, content_type="application/json")

    def _is_named(self, request: web.Request) -> bool:
        """Whether a request proves that it was made on this machine, about this process's file."""
        given = {one.strip() for one in request.headers.get(running.PROOF, "").split(",")}
        return not given.isdisjoint(running.proofs(self._files))


def _is_of_this_machine(request: web.Request) -> bool:
    """Whether a request came from this machine, as far as addresses and headers show. If the port
    is bound to a specific address, connections from this machine come from that address; a proxy
    that forwards for others adds a header."""
    asking, own = (request.get_extra_info(side) for side in ("peername", "sockname"))
    if any(name in request.headers for name in FORWARDING):
        return False
    return bool(asking and own and (is_loopback(asking[0]) or asking[0] == own[0]))


def _for_own_names(bound: str, handler: _Handler) -> _Handler:
    """The handler, but requests whose Host is no name of this port's get 403."""

    async def checked(request: web.Request) -> web.StreamResponse:
        if not is_own_host(bound, request.headers.get("Host", "")):
            return web.Response(status=403, text=FOREIGN_HOST)
        return await handler(request)

    return checked


def _health_response(problems: Sequence[str], warnings: Sequence[str] = ()) -> web.Response:
    """The response of /livez or /readyz: 200, or 503 if there are problems, which are in its
    body."""
    content: dict[str, object] = {
        "status": "unavailable" if problems else "ok",
        "problems": list(problems),
    }
    if warnings:
        content["warnings"] = list(warnings)
    return web.Response(
        status=503 if problems else 200,
        text=json.dumps(content) + "\n",
        content_type="application/json",
    )
