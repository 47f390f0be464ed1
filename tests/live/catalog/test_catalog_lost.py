"""The catalog's topic is deleted at a real broker, and a restore brings everything back.

The gateway fails closed and exports the catalog in its memory; no gateway begins another.
"""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest
import yaml
from confluent_kafka import KafkaException
from confluent_kafka.admin import ScramCredentialInfo, ScramMechanism, UserScramCredentialUpsertion
from confluent_kafka.cimpl import NewTopic

from devkit.broker import KafkaCluster
from devkit.gateway_config import GatewayPlan, plan_gateway
from devkit.gateway_process import GatewayProcess, gateway_command
from devkit.process import ManagedProcess
from devkit.topics import create_topics
from devkit.waiting import wait_until
from gateway import exit_codes
from gateway.acl_model import AclBinding, AclEntry, Operation, Permission, pattern_of
from gateway.catalog.log.topics import CATALOG_TOPIC, CONFIGS, mark_of
from tests.live.support import authorized, clients
from tests.live.support.fixtures import COLON, own_kafka

pytestmark = pytest.mark.long("kills")

kafka = own_kafka()

ACLS: Final = [
    AclBinding(
        pattern_of(f"TOPIC:LITERAL:{name}"),
        AclEntry(principal, "*", operation, permission),
    )
    for name, principal, operation, permission in (
        ("team-a:orders", "User:alice", Operation.READ, Permission.ALLOW),
        ("team-a:orders", "User:bob", Operation.READ, Permission.ALLOW),
        ("team-a:orders", "User:bob", Operation.ALL, Permission.DENY),
    )
]


@pytest.fixture(scope="module")
def gateway(
    kafka: KafkaCluster, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[GatewayProcess]:
    """A gateway with two workers; users log in and are subject to ACLs."""
    listener = authorized.listener(tmp_path_factory.mktemp("secrets"), ("PLAIN", "SCRAM-SHA-256"))
    catalog = {"replication_factor": 1, "max_staleness": 3.0}
    with authorized.gateway(
        kafka.bootstrap_servers, listener, ["team-a"], workers=2, catalog=catalog
    ) as process:
        yield process


def run(gateway: GatewayProcess, *words: str) -> subprocess.CompletedProcess[str]:
    """Run ``kafka-gateway`` with the gateway's configuration."""
    line = [gateway_command(), *words, "--config", str(gateway.config_path)]
    return subprocess.run(line, capture_output=True, text=True, timeout=240, check=False)


def seen(gateway: GatewayProcess) -> set[str]:
    """The topics that bob and alice see, and the ACLs that an administrator sees."""
    servers = gateway.bootstrap_servers(authorized.USERS_LISTENER)
    found = {
        f"{user} sees {topic}"
        for user in ("alice", "bob")
        for topic in authorized.admin(servers, user).list_topics(timeout=clients.SECONDS).topics
    }
    return found


def test_lost_and_restored(kafka: KafkaCluster, gateway: GatewayProcess, tmp_path: Path) -> None:
    servers = gateway.bootstrap_servers(authorized.USERS_LISTENER)
    at_brokers = clients.admin(kafka.bootstrap_servers)
    admin = authorized.admin(servers)
    create_topics(admin, [NewTopic("team-a:orders", 1)])
    clients.await_known(admin, "team-a:orders")
    authorized.add_acls(servers, ACLS)
    credential = UserScramCredentialUpsertion(
        "dave", ScramCredentialInfo(ScramMechanism.SCRAM_SHA_256, 4096), b"dave-secret"
    )
    clients.done(admin.alter_user_scram_credentials([credential]))
    before = {"alice sees team-a:orders"}
    # The worker that answers may not be the worker that changed the ACLs.
    wait_until(lambda: seen(gateway) == before, f"{before}", clients.SECONDS)
    files = [str(tmp_path / name) for name in ("catalog.yaml", "secrets.yaml")]
    whole = run(gateway, "catalog", "export", "--secrets-to", files[1])
    known = (whole.stdout, Path(files[1]).read_text())
    assert "DENY" in known[0].upper() and "dave" in known[1]
    assert mark_of(CATALOG_TOPIC) in at_brokers.list_topics(timeout=clients.SECONDS).topics

    clients.done(at_brokers.delete_topics([CATALOG_TOPIC]))
    _wait_until_closed(gateway, servers)
    Path(files[1]).unlink()
    memory = run(
        gateway,
        "catalog",
        "export",
        "--from-memory",
        "--output",
        files[0],
        "--secrets-to",
        files[1],
    )
    assert memory.returncode == 0, memory.stderr
    assert (Path(files[0]).read_text().strip(), Path(files[1]).read_text()) == (
        known[0].strip(),
        known[1],
    )

    _begins_nothing(kafka, gateway, tmp_path, commands=True)
    assert CATALOG_TOPIC not in at_brokers.list_topics(timeout=clients.SECONDS).topics
    # The state after a restore that was killed just after it created the topic.
    create_topics(at_brokers, [NewTopic(CATALOG_TOPIC, 1, config=dict(CONFIGS))])
    _begins_nothing(kafka, gateway, tmp_path)
    assert gateway.get("/readyz")[0] == 503

    restored = run(gateway, "catalog", "restore", "--yes", "--secrets-from", files[1], files[0])
    assert restored.returncode == 0, restored.stderr
    wait_until(lambda: gateway.get("/readyz")[0] == 200, "the restored catalog", 120)
    wait_until(lambda: seen(gateway) == before, f"{before}", clients.SECONDS)
    again = run(gateway, "catalog", "restore", "--yes", files[0])
    assert again.returncode == 1, "it is not lost any more"

    gateway.kill()
    gateway.start_again()
    Path(files[1]).unlink()
    whole = run(gateway, "catalog", "export", "--secrets-to", files[1])
    assert (whole.stdout, Path(files[1]).read_text()) == known
    assert seen(gateway) == before


def _wait_until_closed(gateway: GatewayProcess, servers: str) -> None:
    def closed() -> bool:
        status, text = gateway.get("/readyz")
        return status == 503 and "--from-memory" in text

    wait_until(closed, "the gateway to fail closed and to say why", 120)
    assert "kafka_gateway_catalog_lost 1" in gateway.fresh_metrics()
    admin = authorized.admin(servers, "bob")
    with pytest.raises(KafkaException):
        clients.done(admin.create_topics([NewTopic("team-a:more", 1)], request_timeout=5))


def test_begun_anew_by_the_operators_word(
    kafka: KafkaCluster, gateway: GatewayProcess, tmp_path: Path
) -> None:
    clients.done(clients.admin(kafka.bootstrap_servers).delete_topics([CATALOG_TOPIC]))
    gateway.kill()
    path, plan = _other_gateway(kafka, tmp_path)
    line = [gateway_command(), "serve", "--config", str(path), "--new-catalog", "main"]
    process = ManagedProcess("gateway", line, tmp_path / "log")
    try:
        # The gateway creates the namespaces of its file, and accepts clients after that.
        servers = plan.bootstrap_servers[COLON.name]
        wait_until(lambda: clients.accepts(servers), "a new catalog", 240)
        clients.create(servers, "other:t")
    finally:
        process.kill()
    text = run(gateway, "catalog", "export").stdout
    assert "other" in text and "team-a" not in text
    gateway.start_again()  # a gateway that runs again, so that the fixture can stop it cleanly


def _other_gateway(kafka: KafkaCluster, directory: Path) -> tuple[Path, GatewayPlan]:
    """The configuration of another gateway of the cluster."""
    plan = plan_gateway(
        kafka.bootstrap_servers,
        [COLON],
        ["other"],
        traffic_log_directory=str(directory / "traffic"),
        overrides={"gateway_id": "gw-other"},
    )
    path = directory / "other.yaml"
    path.write_text(yaml.safe_dump(plan.config))
    return path, plan


def _begins_nothing(
    kafka: KafkaCluster, gateway: GatewayProcess, directory: Path, *, commands: bool = False
) -> None:
    """Another gateway does not start, and no command takes the catalog for an empty catalog."""
    path, _ = _other_gateway(kafka, directory)
    line = [gateway_command(), "serve", "--config", str(path)]
    found = subprocess.run(line, capture_output=True, text=True, timeout=240, check=False)
    assert found.returncode == exit_codes.CONFIG, found.stderr
    assert "catalog restore" in found.stderr
    assert f"serve --config {path} --new-catalog main" in found.stderr
    if not commands:
        return
    for words in (["status"], ["export"], ["upgrade", "--format", "5"]):
        said = run(gateway, "catalog", *words)
        assert said.returncode == exit_codes.FAILED, said.stderr
        assert "catalog restore" in said.stderr
        assert "--new-catalog main" in said.stderr
