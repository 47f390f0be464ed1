"""The supervisor's HTTP port: /metrics for Prometheus, /livez and /readyz for orchestrators, and
the page (gateway/page) for people."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from aiohttp import web
from prometheus_client import CollectorRegistry
from prometheus_client.exposition import choose_encoder
from prometheus_client.registry import Collector

SHUTDOWN_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class Health:
    """Problems, in sentences; none where all is well.

    ``not_live`` is what a restart may cure, ``not_ready`` why no traffic should come now;
    ``degraded`` is what concerns a part of the traffic alone, so that the rest should come.
    """

    not_live: Sequence[str] = ()
    not_ready: Sequence[str] = ()
    degraded: Sequence[str] = ()


class HttpEndpoints:
    """The server of the three paths. ``health`` is called at each request; ``add_page`` adds what
    else there is."""

    def __init__(
        self,
        collector: Collector,
        health: Callable[[], Health],
        add_page: Callable[[web.Application], None] = lambda _: None,
    ) -> None:
        # A registry of its own: prometheus_client's global one tells of this process only.
        self._registry = CollectorRegistry()
        self._registry.register(collector)
        self._health = health
        self._add_page = add_page
        self._runner: web.AppRunner | None = None

    async def start(self, host: str, port: int) -> int:
        """Listen; returns the port. Raises OSError when it cannot be bound."""
        app = web.Application()
        app.router.add_get("/metrics", self._metrics)
        app.router.add_get("/livez", self._livez)
        app.router.add_get("/readyz", self._readyz)
        self._add_page(app)
        runner = web.AppRunner(app, access_log=None, shutdown_timeout=SHUTDOWN_SECONDS)
        await runner.setup()
        try:
            await web.TCPSite(runner, host, port).start()
        except OSError:
            await runner.cleanup()
            raise
        self._runner = runner
        return int(runner.addresses[0][1])

    async def stop(self) -> None:
        """Close the port."""
        runner, self._runner = self._runner, None
        if runner is not None:
            await runner.cleanup()

    async def _metrics(self, request: web.Request) -> web.Response:
        encode, content_type = choose_encoder(request.headers.get("Accept", ""))
        body = encode(self._registry)
        response = web.Response(body=body, headers={"Content-Type": content_type})
        response.enable_compression()
        return response

    async def _livez(self, _: web.Request) -> web.Response:
        return _health_response(self._health().not_live)

    async def _readyz(self, _: web.Request) -> web.Response:
        health = self._health()
        return _health_response([*health.not_live, *health.not_ready], health.degraded)


def _health_response(problems: Sequence[str], warnings: Sequence[str] = ()) -> web.Response:
    """200, or 503 and what is not as it should be."""
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
