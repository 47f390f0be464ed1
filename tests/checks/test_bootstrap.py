"""gateway.checks.bootstrap: addresses of the file at which no broker responds, and who does."""

from __future__ import annotations

import socket
import time
from pathlib import Path
from typing import Any

import pytest

from devkit.certificates import Authority
from devkit.ports import free_port
from gateway.checks.bootstrap import ask_bootstrap, unreachable_brokers
from gateway.checks.cluster import ask_cluster
from gateway.config.errors import key_text
from tests.commands.init.fake_brokers import HOST, FakeBrokers
from tests.config import config_samples


async def texts(
    directory: Path, servers: list[str], timeout: float = 5, **security: Any
) -> list[str]:
    """The problems, with the key of each, if none of the addresses responds."""
    values = config_samples.values()
    values["clusters"][0] |= {"bootstrap_servers": servers, "security": security}
    config = config_samples.config(directory, **values)
    found = await ask_bootstrap(config, timeout=timeout)
    assert not found.answers
    return [f"{key_text(problem.key)}: {problem.text}" for problem in found.problems]


async def test_nothing_is_there(tmp_path: Path) -> None:
    servers = [f"{HOST}:{free_port()}", f"{HOST}:{free_port()}"]
    assert await texts(tmp_path, servers) == [
        f"clusters[0].bootstrap_servers[{place}]: '{server}' does not answer: cannot connect:"
        " Connection refused; see that it runs, and that clusters[0] names it"
        for place, server in enumerate(servers)
    ]


@pytest.mark.parametrize(
    ("has_tls", "mechanisms", "given", "step"),
    [
        (True, (), "PLAINTEXT", "make clusters[0].security.protocol SSL"),
        (
            False,
            ("PLAIN",),
            "PLAINTEXT",
            "make clusters[0].security.protocol SASL_PLAINTEXT, and give clusters[0].security.sasl"
            " with mechanism, username and password",
        ),
        (
            True,
            ("PLAIN",),
            "SSL",
            "make clusters[0].security.protocol SASL_SSL, and give clusters[0].security.sasl with"
            " mechanism, username and password",
        ),
        (
            True,
            (),
            "SASL_PLAINTEXT",
            "make clusters[0].security.protocol SSL, without clusters[0].security.sasl",
        ),
        (True, ("PLAIN",), "SASL_PLAINTEXT", "make clusters[0].security.protocol SASL_SSL"),
    ],
)
async def test_another_protocol(
    tmp_path: Path, has_tls: bool, mechanisms: tuple[str, ...], given: str, step: str
) -> None:
    ca = Authority(tmp_path / "ca")
    security: dict[str, Any] = {"protocol": given}
    if given == "SSL":
        security["tls"] = {"ca": str(ca.file)}
    if given.startswith("SASL"):
        (tmp_path / "password").write_text("secret\n")
        password = {"file": str(tmp_path / "password")}
        security["sasl"] = {"mechanism": "PLAIN", "username": "me", "password": password}
    credentials = ca.server() if has_tls else None
    async with FakeBrokers(mechanisms=mechanisms, credentials=credentials) as brokers:
        (text,) = await texts(tmp_path, [brokers.address], **security)
    tls = "speaks TLS there" if has_tls else "speaks no TLS there"
    assert f"'{brokers.address}' {tls}, and " in text
    assert text.partition("; ")[2] == step


async def test_a_broker_that_leaves_connections_in_its_backlog(tmp_path: Path) -> None:
    """At ``max.connections`` of its listener, as one that hangs does."""
    with socket.create_server((HOST, 0)) as server:
        address = f"{HOST}:{server.getsockname()[1]}"
        (text,) = await texts(tmp_path, [address], timeout=0.3)
    assert "no answer to ApiVersionsRequest" in text
    assert "max.connections" in text


async def test_a_controller(tmp_path: Path) -> None:
    async with FakeBrokers(is_controller=True) as controller:
        (text,) = await texts(tmp_path, [controller.address])
    assert "is no broker, and may be a controller" in text


async def test_a_host_that_does_not_resolve_is_reported_elsewhere(tmp_path: Path) -> None:
    assert await texts(tmp_path, ["no-such-host.invalid:9092"]) == []


async def test_one_that_answers_is_enough(tmp_path: Path) -> None:
    async with FakeBrokers() as brokers:
        values = config_samples.values()
        closed = f"{HOST}:{free_port()}"
        values["clusters"][0]["bootstrap_servers"] = [closed, brokers.address]
        found = await ask_bootstrap(config_samples.config(tmp_path, **values))
    assert found.answers
    assert [key_text(one.key) for one in found.problems] == ["clusters[0].bootstrap_servers[0]"]


async def test_brokers_that_cannot_be_reached_at_their_own_addresses(tmp_path: Path) -> None:
    port = free_port()
    async with FakeBrokers() as brokers:
        there = {1: (HOST, brokers.port), 2: (HOST, port), 3: ("no-such-host.invalid", 9092)}
        found = await unreachable_brokers(config_samples.config(tmp_path), there, timeout=5)
    assert [key_text(problem.key) for problem in found] == ["clusters[0]", "clusters[0]"]
    assert found[0].text == (
        f"broker 2 advertises {HOST}:{port}, where it cannot be reached from here: cannot connect:"
        " Connection refused; correct its advertised.listeners, or this machine's names"
    )
    assert found[1].text.startswith("broker 3 advertises no-such-host.invalid:9092, where it")


async def test_nobody_waits_for_what_is_wrong(tmp_path: Path) -> None:
    """Gateways wait for a cluster that starts up, but check reports at once."""
    since = time.monotonic()
    found = await ask_cluster(config_samples.config(tmp_path))
    assert len(found.problems) == 1
    assert time.monotonic() - since < 10
