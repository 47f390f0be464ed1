"""Namespaces, configs and ACLs of a catalog, carried below ``dr:a``, and what is allowed there."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest
from confluent_kafka import TopicCollection
from confluent_kafka.cimpl import NewTopic

from devkit.broker import KafkaCluster
from devkit.gateway_process import GatewayProcess
from devkit.topics import create_topics
from gateway.acl_model import AclBinding, AclEntry, Operation, Permission, pattern_of
from tests.live.support import authorized, clients, namespaces
from tests.live.support.fixtures import own_kafka

TOPICS: Final = ("orders", "other", "org:orders", "org:apache:logs", "open:x")
ALLOWED: Final = {
    "alice": {"orders"},
    "bob": {"org:orders", "org:apache:logs", "open:x"},
}
"""By docs/access.md, ``org:`` and ``org:apache:`` are gates, and alice passes only the inner gate
(row 22 of its table)."""

ACLS: Final = (
    ("alice", "TOPIC:PREFIXED:ord"),
    ("alice", "TOPIC:LITERAL:org:apache:"),
    ("alice", "TOPIC:LITERAL:open:y"),
    ("bob", "TOPIC:LITERAL:org:"),
    ("bob", "TOPIC:PREFIXED:org:apache:"),
    ("bob", "TOPIC:PREFIXED:open:"),
    ("bob", "GROUP:LITERAL:app"),
)

kafka = own_kafka()
"""A broker of this file's own, because the names of its topics are not unique."""


@pytest.fixture(scope="module")
def gateway(
    kafka: KafkaCluster, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[GatewayProcess]:
    listener = authorized.listener(tmp_path_factory.mktemp("secrets"))
    homes = {"carol": "dr:a"}
    with authorized.gateway(kafka.bootstrap_servers, listener, homes=homes) as process:
        yield process


def acl(who: str, pattern: str, operation: Operation = Operation.READ) -> AclBinding:
    entry = AclEntry(f"User:{who}", "*", operation, Permission.ALLOW)
    return AclBinding(pattern_of(pattern), entry)


def described(servers: str, user: str, names: list[str]) -> set[str]:
    """The topics of ``names`` that a user may DESCRIBE."""
    admin = authorized.admin(servers, user)
    futures = admin.describe_topics(TopicCollection(names), request_timeout=clients.SECONDS)
    return {name for name, future in futures.items() if future.exception(clients.SECONDS) is None}


def make(servers: str, *names: str) -> None:
    admin = authorized.admin(servers)
    for name in names:
        create_topics(admin, [NewTopic(name, 1, 1)])
    clients.await_known(admin, *(name for name in names if not name.endswith(":")))


def test_carried_twice_and_closed_as_at_the_source(gateway: GatewayProcess, tmp_path: Path) -> None:
    servers = gateway.bootstrap_servers(authorized.USERS_LISTENER)
    make(servers, "org:", "org:apache:", "open:")
    namespaces_file, config = str(tmp_path / "namespaces.yaml"), str(gateway.config_path)
    login = str(authorized.command_config(tmp_path))
    namespaces.command(
        *("configs", "--bootstrap-server", servers, "--command-config", login),
        *("--alter", "--namespace", "org", "--add-config", "retention.ms=86400000"),
    )
    make(servers, *TOPICS)
    bindings = [acl(*one) for one in ACLS]
    # carol, whose home is dr:a, has the same ACLs as alice.
    bindings += [acl("carol", pattern) for who, pattern in ACLS if who == "alice"]
    authorized.add_acls(servers, bindings)
    for user, names in ALLOWED.items():
        assert described(servers, user, [*TOPICS]) == names

    where = ("--config", config)
    namespaces.command("catalog", "export", *where, "--namespaces", "--output", namespaces_file)
    words = ("catalog", "import", *where, "--under", "dr:a", namespaces_file)
    assert "+ namespace dr:a:org:apache" in namespaces.command(*words, "--dry-run").lines
    assert "Imported; " in namespaces.command(*words, "--yes").out
    again = namespaces.command(*words, "--yes", "--prune")
    assert again.lines == ["0 added, 0 changed, 0 removed."]

    below = [f"dr:a:{name}" for name in TOPICS]
    make(servers, *below)
    for user, names in ALLOWED.items():
        assert described(servers, user, below) == {f"dr:a:{name}" for name in names}
        assert described(servers, user, [*TOPICS]) == names
    assert described(servers, "carol", [*TOPICS]) == ALLOWED["alice"]
    found = namespaces.command(
        *("configs", "--bootstrap-server", servers, "--command-config", login),
        *("--describe", "--topic", "dr:a:org:apache:logs"),
    )
    assert "86400000" in found.out

    # If a namespace is gone from the source but has topics here, an import with --prune fails.
    text = Path(namespaces_file).read_text().replace("  open: {}\n", "")
    Path(namespaces_file).write_text(text)
    said = namespaces.attempt(*words, "--yes", "--prune")
    assert said.status == 78
    assert "namespace 'dr:a:open' would be removed, and topics are in it: dr.a.open..x" in said.err
