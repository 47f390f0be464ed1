"""The gateway authenticates to brokers, in every way, and brokers to the gateway."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from confluent_kafka.admin import AclOperation, ResourceType

from devkit.certificates import Authority
from devkit.gateway_config import Listener, plan_gateway
from devkit.gateway_process import gateway_command
from devkit.process import ManagedProcess
from devkit.waiting import wait_until
from tests.live.support import clients, gateway_log, namespaces
from tests.live.support.secured_brokers import ANY, PASSWORDS, SecuredBrokers

Names = Callable[[str], str]

WAYS = {
    "TLS, by certificate": ("SSL", ""),
    "SCRAM": ("SASL_PLAINTEXT", "SCRAM-SHA-512"),
    "PLAIN over TLS": ("SASL_SSL", "PLAIN"),
}


@pytest.mark.parametrize("way", WAYS)
def test_everything_works(secured_brokers: SecuredBrokers, unique: Names, way: str) -> None:
    """Catalog, topics in namespaces, records, groups, configs, a background job."""
    security = secured_brokers.identity(*WAYS[way])
    with secured_brokers.gateway(security) as gateway:
        servers = gateway.bootstrap_servers("all")
        root, topic = unique("team"), unique("orders")
        clients.create(servers, f"{root}:", f"{root}:sub:", f"{root}:sub:{topic}")
        name = f"{root}:sub:{topic}"
        clients.await_stored(secured_brokers.kafka, f"{root}.sub..{topic}")
        clients.produce(servers, name, ["first", "second"])
        assert clients.consume(servers, name, 2, unique("readers")) == ["first", "second"]
        assert name in clients.listed(servers)
        exported = namespaces.command("catalog", "export", "--config", str(gateway.config_path))
        assert f"{root}:sub" in exported.out
        namespaces.command(
            *("topics", "--bootstrap-server", servers),
            *("--delete", "--namespace", root, "--recursive"),
        )
        clients.await_gone(secured_brokers.kafka, f"{root}.sub..{topic}")
        # The tool looks for the topics of a namespace while it is being deleted.
        gone = " is being deleted", f"Namespace '{root}", f"namespace '{root}"
        assert gateway_log.complaints(gateway, *gone) == []


def unreachable_warning(directory: Path, servers: str, security: dict[str, Any]) -> str:
    """The line in which a gateway logs why it cannot reach its cluster."""
    listener = Listener("all", "every namespace")
    log_directory = str(directory / "traffic")
    plan = plan_gateway(
        servers, [listener], [], traffic_log_directory=log_directory, cluster_security=security
    )
    config, log = directory / "gateway.yaml", directory / "gateway.log"
    config.write_text(yaml.safe_dump(plan.config))
    command = [gateway_command(), "serve", "--config", str(config)]
    with ManagedProcess("kafka-gateway", command, log):
        wait_until(lambda: "WARNING" in log.read_text(), "what is wrong", clients.SECONDS)
        # The gateway goes on trying, and does not repeat the line.
        time.sleep(1)
        (line,) = [line for line in log.read_text().splitlines() if "WARNING" in line]
    assert not any(password in log.read_text() for password in PASSWORDS.values())
    return line.partition("gateway.cluster.cluster ")[2]


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-256"])
def test_a_wrong_password(secured_brokers: SecuredBrokers, tmp_path: Path, mechanism: str) -> None:
    security = secured_brokers.identity("SASL_SSL", mechanism)
    wrong = tmp_path / "password"
    wrong.write_text("wrong\n")
    security["sasl"]["password"] = {"file": str(wrong)}
    servers = secured_brokers.kafka.servers("SASL_SSL")
    line = unreachable_warning(tmp_path, servers, security)
    assert line.startswith(f"cluster 'main' is not reachable: {servers}: refuses user 'gateway' by")
    assert line.endswith(
        "correct clusters[0].security.sasl.username or clusters[0].security.sasl.password"
    )


def test_an_authority_that_is_not_believed(secured_brokers: SecuredBrokers, tmp_path: Path) -> None:
    security = secured_brokers.identity("SSL")
    security["tls"]["ca"] = str(Authority(tmp_path / "another", "another").file)
    servers = secured_brokers.kafka.servers("SSL")
    line = unreachable_warning(tmp_path, servers, security)
    assert line.startswith(f"cluster 'main' is not reachable: {servers}: cannot connect: its cert")
    assert "is not believed" in line
    assert line.endswith("correct clusters[0].security.tls.ca")


def test_a_certificate_of_another_host(secured_brokers: SecuredBrokers, tmp_path: Path) -> None:
    """The certificate names 127.0.0.1 and localhost, but the gateway connects to 127.1."""
    port = secured_brokers.kafka.servers("SSL").rpartition(":")[2]
    line = unreachable_warning(tmp_path, f"127.1:{port}", secured_brokers.identity("SSL"))
    assert f"127.1:{port}: cannot connect: its certificate is another host's" in line
    assert "or set clusters[0].security.tls.verify_hostname to false" in line


@pytest.mark.parametrize(
    ("protocol", "spoken"),
    [
        ("SSL", "PLAINTEXT"),
        ("SASL_PLAINTEXT", "PLAINTEXT"),
        ("SASL_SSL", "SSL"),
        ("PLAINTEXT", "SSL"),
        ("PLAINTEXT", "SASL_PLAINTEXT"),
    ],
)
def test_a_protocol_that_the_broker_does_not_speak_there(
    secured_brokers: SecuredBrokers, tmp_path: Path, protocol: str, spoken: str
) -> None:
    servers = secured_brokers.kafka.servers(spoken)
    line = unreachable_warning(tmp_path, servers, secured_brokers.identity(protocol))
    assert line.startswith(f"cluster 'main' is not reachable: {servers}: ")
    assert "clusters[0].security.protocol" in line


def test_passwords_change_while_it_runs(secured_brokers: SecuredBrokers, unique: Names) -> None:
    """New connections log in with the file's present password."""
    security = secured_brokers.identity("SASL_PLAINTEXT", "SCRAM-SHA-256")
    user, topic = unique("gw"), unique("orders")
    password = secured_brokers.directory / user
    password.write_text("first")
    security["sasl"] |= {"username": user, "password": {"file": str(password)}}
    secured_brokers.set_password(user, "first")
    for kind, name in ((ResourceType.BROKER, "kafka-cluster"), *ANY):
        secured_brokers.allow(user, kind, name, AclOperation.ALL)
    with secured_brokers.gateway(security) as gateway:
        servers = gateway.bootstrap_servers("all")
        clients.create(servers, topic)
        clients.produce(servers, topic, ["before"])
        password.write_text("second")
        secured_brokers.set_password(user, "second")
        clients.produce(servers, topic, ["after"])
        assert clients.consume(servers, topic, 2, unique("readers")) == ["before", "after"]
        assert gateway_log.complaints(gateway) == []
