"""gateway.processes.http_endpoints: the three paths, over HTTP."""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import AsyncIterator, Mapping, Sequence
from pathlib import Path
from unittest.mock import Mock

import aiohttp
import pytest
import pytest_asyncio
from aiohttp.test_utils import make_mocked_request
from prometheus_client.openmetrics.parser import text_string_to_metric_families

from gateway.checks import running
from gateway.processes.http_endpoints import Health, HttpEndpoints
from gateway.processes.metrics import Metrics


class Site:
    """A running server, and the health that it reports."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.health = Health()
        self.pieces: list[bytes] = []

    async def clients(self) -> Sequence[bytes]:
        """The text of /metrics/clients."""
        return self.pieces

    async def get(self, path: str, **headers: str) -> tuple[int, str, str]:
        """Status, content type and body."""
        url = f"http://127.0.0.1:{self.port}{path}"
        async with aiohttp.ClientSession() as session, session.get(url, headers=headers) as answer:
            return answer.status, answer.headers["Content-Type"], await answer.text()


@pytest_asyncio.fixture
async def site() -> AsyncIterator[Site]:
    made = Site(0)
    endpoints = HttpEndpoints(Metrics("1.2.3", 10), lambda: made.health, clients=made.clients)
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


async def test_metrics_of_clients(site: Site) -> None:
    plain = "text/plain; version=0.0.4; charset=utf-8"
    assert await site.get("/metrics/clients") == (200, plain, "")
    site.pieces = [b"a 1\n", b"b 2\n"]
    accept = "application/openmetrics-text; version=1.0.0"
    for headers in ({}, {"Accept": accept}, {"Accept-Encoding": "identity"}):
        assert await site.get("/metrics/clients", **headers) == (200, plain, "a 1\nb 2\n")


async def test_metrics_of_clients_are_for_the_same_hosts(site: Site) -> None:
    for path in ("/metrics", "/metrics/clients"):
        assert (await site.get(path, Host="gateway.example"))[0] == 403


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


async def test_a_name_that_is_not_this_ports_gets_nothing(site: Site) -> None:
    """Otherwise a web site whose name resolves to 127.0.0.1 could read it (DNS rebinding)."""
    for path in ("/metrics", "/livez", "/readyz"):
        status, _, body = await site.get(path, Host="evil.example:9404")
        assert (status, "evil" in body) == (403, False), path
        for own in ("localhost:9404", "127.0.0.1", "[::1]:9404"):
            assert (await site.get(path, Host=own))[0] == 200, (path, own)


PROVEN = {running.PROOF: ", ".join(["0" * 64, *running.proofs(["a-digest"])])}


async def told(
    headers: Mapping[str, str], asking: str = "127.0.0.1", own: str = "127.0.0.1"
) -> int:
    """The status of a request for ``/instance`` between these addresses."""
    transport = Mock(spec=asyncio.Transport)
    transport.get_extra_info = {"peername": (asking, 1), "sockname": (own, 2)}.get
    request = make_mocked_request("GET", "/instance", headers, transport=transport)
    instance = {"pid": 1, "files": ["a-digest"]}
    endpoints = HttpEndpoints(Metrics("1", 10), Health, instance=instance)
    return (await endpoints._tell_instance(request)).status


async def test_another_machine_is_not_told_of_the_process() -> None:
    own, other = "192.0.2.1", "192.0.2.9"
    for asking, status in (("127.0.0.1", 200), (own, 200), (other, 404)):
        assert await told(PROVEN, asking, own) == status, asking


@pytest.mark.parametrize(
    "header", ["Forwarded", "X-Forwarded-For", "x-forwarded-host", "X-Real-IP", "Via"]
)
async def test_what_a_proxy_of_this_machine_forwards_is_not_told(header: str) -> None:
    assert await told(PROVEN) == 200
    # Also if it is empty, because a proxy that removes a value leaves the name.
    for value in ("192.0.2.9", ""):
        assert await told({**PROVEN, header: value}) == 404


async def test_a_proxy_that_adds_no_header_is_not_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """nginx adds none by default. A digest of the path alone could be guessed, because paths are
    known."""
    for proof in ("", "a-digest", "0" * 64, "a-digest, , 0", *running.proofs(["another"])):
        assert await told({running.PROOF: proof}) == 404, proof
    assert await told({}) == 404
    monkeypatch.setattr(running, "_BOOT_ID", Path("/nonexistent"))
    assert await told(PROVEN) == await told({}) == 404


async def test_a_probe_without_a_host_is_answered(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As HTTP/1.0's, which balancers send. No name server is queried for this machine's name."""
    monkeypatch.setattr(socket, "getfqdn", None)
    for path in (b"/livez", b"/metrics"):
        reader, writer = await asyncio.open_connection("127.0.0.1", site.port)
        writer.write(b"GET " + path + b" HTTP/1.0\r\n\r\n")
        assert (await reader.readuntil(b"\r\n")).endswith(b" 200 OK\r\n")
        writer.close()


async def test_other_paths(site: Site) -> None:
    assert (await site.get("/"))[0] == 404


async def test_a_port_in_use() -> None:
    endpoints = HttpEndpoints(Metrics("1", 10), Health)
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        with pytest.raises(OSError, match="Address already in use"):
            await endpoints.start("127.0.0.1", port)
    await endpoints.stop()
