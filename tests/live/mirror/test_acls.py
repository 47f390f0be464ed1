"""ACLs that MirrorMaker copies, with exactly the rights that docs/mirrormaker.md gives it.

ACLs of topics arrive; ACLs of a namespace do not become a gate at the other side.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

import pytest
from confluent_kafka.admin import (
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    ResourcePatternType,
    ResourceType,
)
from confluent_kafka.cimpl import NewTopic

from devkit.broker import KafkaCluster
from devkit.broker_security import jaas_config
from devkit.gateway_process import GatewayProcess
from devkit.mirror_maker import MirrorMakerProcess
from devkit.waiting import wait_until
from gateway.acl_model import AclBinding, AclEntry, Operation, Permission, pattern_of
from tests.live.mirror import sites
from tests.live.support import authorized, clients, namespaces
from tests.live.support.clients import SECONDS

pytestmark = pytest.mark.long("brokers")

MIRROR_MAKER: Final = "carol"
TOPIC: Final = "team-a:orders"
OF_USERS: Final = (
    ("alice", Operation.READ, f"TOPIC:LITERAL:{TOPIC}"),
    ("alice", Operation.WRITE, f"TOPIC:LITERAL:{TOPIC}"),
    ("bob", Operation.ALL, f"TOPIC:LITERAL:{TOPIC}"),
    # A gate, which only alice, bob and MirrorMaker pass.
    ("alice", Operation.DESCRIBE, "TOPIC:LITERAL:team-a:"),
    ("bob", Operation.DESCRIBE, "TOPIC:LITERAL:team-a:"),
    (MIRROR_MAKER, Operation.READ, "TOPIC:LITERAL:team-a:"),
    (MIRROR_MAKER, Operation.DESCRIBE_CONFIGS, "TOPIC:LITERAL:team-a:"),
)
AT_SOURCE: Final = (
    (Operation.READ, "TOPIC:LITERAL:*"),
    (Operation.DESCRIBE_CONFIGS, "TOPIC:LITERAL:*"),
    (Operation.DESCRIBE, "GROUP:LITERAL:*"),
    (Operation.DESCRIBE, "CLUSTER:LITERAL:kafka-cluster"),
    *((one, "TOPIC:PREFIXED:mm2-") for one in (Operation.CREATE, Operation.WRITE)),
    *((one, "TOPIC:LITERAL:heartbeats") for one in (Operation.CREATE, Operation.WRITE)),
    (Operation.READ, "GROUP:PREFIXED:B-mm2"),
)
AT_TARGET: Final = tuple(
    (Operation.ALL, f"{kind}:PREFIXED:dr:") for kind in ("TOPIC", "GROUP", "TRANSACTIONAL_ID")
)


def acl(user: str, operation: Operation, pattern: str) -> AclBinding:
    return AclBinding(
        pattern_of(pattern), AclEntry(f"User:{user}", "*", operation, Permission.ALLOW)
    )


@pytest.fixture(scope="module")
def site_a(a: KafkaCluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[GatewayProcess]:
    """The gateway at the source, whose users log in."""
    listener = authorized.listener(tmp_path_factory.mktemp("a"))
    with authorized.gateway(a.bootstrap_servers, listener, ["team-a"]) as gateway:
        servers = gateway.bootstrap_servers(authorized.USERS_LISTENER)
        authorized.add_acls(servers, [acl(*one) for one in OF_USERS])
        authorized.add_acls(servers, [acl(MIRROR_MAKER, *one) for one in AT_SOURCE])
        yield gateway


@pytest.fixture(scope="module")
def site_b(b: KafkaCluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[GatewayProcess]:
    """The target.

    The administrators' listener has no home, so MirrorMaker's ACLs are created by their full names.
    """
    users = authorized.listener(tmp_path_factory.mktemp("b"))
    home = replace(users, name="home", home="dr:a", list_subtree=True)
    with authorized.gateway(
        b.bootstrap_servers, users, ["dr:a:team-a"], more_listeners=[home]
    ) as gateway:
        servers = gateway.bootstrap_servers(authorized.USERS_LISTENER)
        authorized.add_acls(servers, [acl(MIRROR_MAKER, *one) for one in AT_TARGET])
        yield gateway


def login(alias: str) -> dict[str, str]:
    password = authorized.PASSWORDS[MIRROR_MAKER]
    return {
        f"{alias}.security.protocol": "SASL_PLAINTEXT",
        f"{alias}.sasl.mechanism": "PLAIN",
        f"{alias}.sasl.jaas.config": jaas_config("PLAIN", MIRROR_MAKER, password),
    }


def described(servers: str) -> set[tuple[str, str, str]]:
    """The literal ACLs of topics: name, principal, operation."""
    every = AclBindingFilter(
        ResourceType.TOPIC,
        None,  # type: ignore[arg-type]
        ResourcePatternType.LITERAL,
        None,  # type: ignore[arg-type]
        None,  # type: ignore[arg-type]
        AclOperation.ANY,
        AclPermissionType.ANY,
    )
    found = authorized.admin(servers).describe_acls(every).result(SECONDS)
    return {(one.name, one.principal, one.operation.name) for one in found}


def test_acls_of_topics_are_copied_and_the_gate_is_carried_by_a_command_alone(
    site_a: GatewayProcess, site_b: GatewayProcess
) -> None:
    source = site_a.bootstrap_servers(authorized.USERS_LISTENER)
    everything, target = (site_b.bootstrap_servers(one) for one in ("users", "home"))
    admin = authorized.admin(source)
    (created,) = admin.create_topics([NewTopic(TOPIC, 1, 1)]).values()
    created.result(SECONDS)
    settings = {**sites.IDENTITY, **login("A"), **login("B")}
    with MirrorMakerProcess({"A": source, "B": target}, [("A", "B")], settings) as mirror_maker:
        wanted = {
            (f"dr:a:{TOPIC}", "User:alice", "READ"),
            (f"dr:a:{TOPIC}", "User:bob", "READ"),  # ALL, as MirrorMaker copies it
        }
        wait_until(lambda: described(everything) >= wanted, "copied ACLs", SECONDS, poll=0.5)
        clients.produce(source, TOPIC, ["one"], **authorized.login("alice"))
        read = clients.consumer(target, "bobs", **authorized.login("bob"))
        authorized.add_acls(everything, [acl("bob", Operation.READ, "GROUP:LITERAL:dr:a:bobs")])
        with read as consumer:
            consumer.subscribe([TOPIC])
            record = wait_until(lambda: consumer.poll(0.5), "the record at site B", SECONDS)
            assert record is not None
            assert (record.error(), record.value()) == (None, b"one")
        found = described(everything)
        assert {one for one in found if one[0].startswith("dr:a:team-a")} == wanted
        assert not {name for name, _, _ in found if name.endswith(":")}, "a gate was made"
        assert "Could not sync ACL" not in mirror_maker.log
        assert "Could not create topic" not in mirror_maker.log

    _carry_the_gate(site_a, site_b)
    # The command writes the catalog itself, and the gateway reads it from there.
    gate = ("dr:a:team-a:", "User:alice", "DESCRIBE")
    wait_until(lambda: gate in described(everything), "the gate at site B", SECONDS)


def _carry_the_gate(site_a: GatewayProcess, site_b: GatewayProcess) -> None:
    file = str(site_a.config_path.with_name("namespaces.yaml"))
    config = ["--config", str(site_a.config_path), "--namespaces"]
    namespaces.command("catalog", "export", *config, "--output", file)
    config = ["--config", str(site_b.config_path), "--under", "dr:a", "--yes"]
    said = namespaces.attempt("catalog", "import", *config, file)
    assert said.status == 0, said.err
