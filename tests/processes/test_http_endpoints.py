"""gateway.processes.http_endpoints: the three paths, over HTTP."""

from __future__ import annotations

import json
import socket
from collections.abc import AsyncIterator

import aiohttp
import pytest
import pytest_asyncio
from prometheus_client.openmetrics.parser import text_string_to_metric_families

from gateway.processes.http_endpoints import Health, HttpEndpoints
from gateway.processes.metrics import Metrics


class Site:
    """A running server, and what it shall say of its health."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.health = Health()

    async def get(self, path: str, **headers: str) -> tuple[int, str, str]:
        """Status, content type and body."""
        url = f"http://127.0.0.1:{self.port}{path}"
        async with aiohttp.ClientSession() as session, session.get(url, headers=headers) as answer:
            return answer.status, answer.headers["Content-Type"], await answer.text()


@pytest_asyncio.fixture
async def site() -> AsyncIterator[Site]:
    made = Site(0)
    endpoints = HttpEndpoints(Metrics("1.2.3", 10), lambda: made.health)
    made.port = await endpoints.start("127.0.0.1", 0)
    yield made
    await endpoints.stop()


async def test_metrics_as_text(site: Site) -> None:
    status, kind, body = await site.get("/metrics")
    assert status == 200
    assert kind.startswith("text/plain; version=")
    assert 'kafka_gateway_build_info{version="1.2.3"} 1.0' in body
    assert "python_info" not in body


async def test_metrics_as_openmetrics_compressed(site: Site) -> None:
    accept = "application/openmetrics-text; version=1.0.0"
    status, kind, body = await site.get("/metrics", Accept=accept)
    assert status == 200
    assert kind.startswith("application/openmetrics-text")
    families = text_string_to_metric_families(body)  # type: ignore[no-untyped-call]
    assert "kafka_gateway_build" in {family.name for family in families}


async def test_compression_is_asked_for(site: Site) -> None:
    url = f"http://127.0.0.1:{site.port}/metrics"
    async with aiohttp.ClientSession(auto_decompress=False) as session:
        async with session.get(url, headers={"Accept-Encoding": "gzip"}) as answer:
            assert answer.headers["Content-Encoding"] == "gzip"
        async with session.get(url, headers={"Accept-Encoding": "identity"}) as answer:
            assert "Content-Encoding" not in answer.headers


async def test_all_is_well(site: Site) -> None:
    told = (200, "application/json; charset=utf-8", '{"status": "ok", "problems": []}\n')
    assert await site.get("/livez") == told
    assert await site.get("/readyz") == told


async def test_not_ready_is_live(site: Site) -> None:
    site.health = Health(not_ready=["worker 1 is not ready"])
    assert (await site.get("/livez"))[0] == 200
    status, _, body = await site.get("/readyz")
    assert (status, body) == (
        503,
        '{"status": "unavailable", "problems": ["worker 1 is not ready"]}\n',
    )


async def test_not_live_is_not_ready(site: Site) -> None:
    site.health = Health(not_live=["worker 1 is not running"])
    for path in ("/livez", "/readyz"):
        status, _, body = await site.get(path)
        assert status == 503
        assert "worker 1 is not running" in body


async def test_a_part_that_is_down_is_a_warning(site: Site) -> None:
    site.health = Health(degraded=["cluster 'ny' is not known to be reachable"])
    status, _, body = await site.get("/readyz")
    assert status == 200
    assert json.loads(body) == {
        "status": "ok",
        "problems": [],
        "warnings": ["cluster 'ny' is not known to be reachable"],
    }
    status, _, body = await site.get("/livez")
    assert (status, body) == (200, '{"status": "ok", "problems": []}\n')


async def test_other_paths(site: Site) -> None:
    assert (await site.get("/"))[0] == 404


async def test_a_port_in_use() -> None:
    endpoints = HttpEndpoints(Metrics("1", 10), Health)
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        with pytest.raises(OSError, match="address already in use"):
            await endpoints.start("127.0.0.1", port)
    await endpoints.stop()
