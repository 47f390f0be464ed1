"""ACLs, users and homes by the tools that operators have.

The tools are Kafka's own, confluent-kafka's admin client, and ``kafka-gateway acls`` with every
command of docs/cli.md about ACLs, as it stands there.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import KafkaException
from confluent_kafka.admin import (
    AclBinding,
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    AdminClient,
    ResourcePatternType,
    ResourceType,
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialDeletion,
    UserScramCredentialUpsertion,
)

from devkit import java
from devkit.broker import KafkaCluster
from devkit.gateway_config import Listener
from devkit.gateway_process import GatewayProcess
from devkit.waiting import wait_until
from tests.commands import cli_page
from tests.live.support import clients, java_tools, namespaces
from tests.live.support.fixtures import own_gateway
from tests.live.support.namespaces import CommandResult

Names = Callable[[str], str]

SCRAM = {
    "security_protocol": "SASL_PLAINTEXT",
    "sasl": {"mechanisms": ["SCRAM-SHA-256", "SCRAM-SHA-512"]},
}
LISTENERS = (
    Listener("admin", "who comes in here is a super user", list_namespaces=True),
    Listener("legal", "the same in the legal spelling", spelling="legal", list_namespaces=True),
    Listener("home", "the same with a home", home="team-a"),
    Listener("users", "users with SCRAM", list_namespaces=True, security=SCRAM),
)
AUTHORIZATION = {"super.users": ["User:ANONYMOUS"]}

TOPIC_AUTHORIZATION_FAILED = 29
CLUSTER_AUTHORIZATION_FAILED = 31


gateway = own_gateway(*LISTENERS, namespaces=["team-a", "team-b"], authorization=AUTHORIZATION)


def acls(servers: str, *args: str) -> CommandResult:
    """Run ``kafka-gateway acls``."""
    return namespaces.command("acls", "--bootstrap-server", servers, *args)


def kafka_acls(servers: str, *args: str) -> java.JavaResult:
    """Run ``kafka-acls``."""
    return java_tools.run(java.ACLS, servers, *args)


def listed(servers: str, *args: str) -> set[tuple[str, str, str, str, str]]:
    """Type, pattern, name, principal and operation of the ACLs that a listing shows."""
    told = json.loads(acls(servers, "--list", *args, "--json").out)["acls"]
    keys = ("resource_type", "pattern_type", "name", "principal", "operation")
    return {tuple(one[key] for key in keys) for one in told}


def make_user(admin: str, user: str, password: str) -> None:
    """Create a user with ``kafka-configs``."""
    change = ["--alter", "--add-config", f"SCRAM-SHA-256=[password={password}]"]
    java_tools.configs(admin, *change, "--entity-type", "users", "--entity-name", user)


def as_user(servers: str, user: str, password: str, **more: Any) -> dict[str, Any]:
    """confluent-kafka's settings for a user."""
    scram = {"security_protocol": "sasl_plaintext", "sasl_mechanisms": "SCRAM-SHA-256"}
    return clients.settings(servers, sasl_username=user, sasl_password=password, **scram, **more)


def names_of(settings: dict[str, Any]) -> set[str]:
    """The topics that a client lists."""
    return set(AdminClient(settings).list_topics(timeout=clients.SECONDS).topics)


# -- kafka-acls ------------------------------------------------------------------------------------


def test_kafka_acls_of_namespaces_and_what_is_in_them(
    gateway: GatewayProcess, admin: str, unique: Names
) -> None:
    org = unique("org")
    allow = ["--add", "--allow-principal", "User:bob"]
    kafka_acls(admin, *allow, "--operation", "Read", "--topic", f"{org}:")
    kafka_acls(admin, *allow, "--producer", "--topic", f"{org}:orders")
    prefixed = ["--resource-pattern-type", "prefixed"]
    kafka_acls(admin, *allow, "--operation", "All", "--group", f"{org}:", *prefixed)
    inside = {
        ("TOPIC", "LITERAL", f"{org}:", "User:bob", "READ"),
        ("TOPIC", "LITERAL", f"{org}:orders", "User:bob", "WRITE"),
        ("TOPIC", "LITERAL", f"{org}:orders", "User:bob", "CREATE"),
        ("TOPIC", "LITERAL", f"{org}:orders", "User:bob", "DESCRIBE"),
        ("GROUP", "PREFIXED", f"{org}:", "User:bob", "ALL"),
    }
    assert {one for one in listed(admin) if org in one[2]} == inside

    shown = kafka_acls(admin, "--list", "--topic", f"{org}:orders").stdout
    assert f"name={org}:orders, patternType=LITERAL)`" in shown
    assert "(principal=User:bob, host=*, operation=WRITE, permissionType=ALLOW)" in shown
    # The namespace exists now, so the legal spelling of its names is known.
    namespaces.create(admin, f"{org}:")
    legal = gateway.bootstrap_servers("legal")
    shown = kafka_acls(legal, "--list", "--topic", f"{org}..orders").stdout
    assert f"name={org}..orders, patternType=LITERAL)`" in shown
    match = ["--resource-pattern-type", "match"]
    assert f"name={org}..," in kafka_acls(legal, "--list", "--group", f"{org}..g", *match).stdout

    kafka_acls(admin, "--remove", "--topic", f"{org}:orders", "--force")
    kafka_acls(legal, "--remove", "--topic", f"{org}..", "--force")
    assert {one for one in listed(admin) if org in one[2]} == {
        ("GROUP", "PREFIXED", f"{org}:", "User:bob", "ALL")
    }
    namespaces.delete(admin, f"{org}:")
    wait_until(
        lambda: not {one for one in listed(admin) if org in one[2]},
        "the end of the ACLs of a deleted namespace",
        clients.SECONDS,
        poll=0.3,
    )


def test_kafka_acls_under_a_home(gateway: GatewayProcess, admin: str, unique: Names) -> None:
    home, topic = gateway.bootstrap_servers("home"), unique("orders")
    allow = ["--add", "--allow-principal", f"User:{topic}", "--operation", "Read"]
    kafka_acls(home, *allow, "--topic", topic, "--topic", "*")
    shown = kafka_acls(home, "--list", "--principal", f"User:{topic}").stdout
    assert f"name={topic}, patternType=LITERAL)`" in shown
    assert "name=*, patternType=LITERAL)`" in shown
    assert listed(admin, "--principal", f"User:{topic}") == {
        ("TOPIC", "LITERAL", f"team-a:{topic}", f"User:{topic}", "READ"),
        ("TOPIC", "PREFIXED", "team-a:", f"User:{topic}", "READ"),
    }
    rejected = java_tools.attempt(java.ACLS, home, *allow, "--cluster")
    assert rejected.returncode == 1
    kafka_acls(home, "--remove", "--topic", topic, "--topic", "*", "--force")
    assert listed(admin, "--principal", f"User:{topic}") == set()


def test_a_delegate(admin: str, users: str, tmp_path: Path, unique: Names) -> None:
    org = unique("org")
    make_user(admin, "dan", "dan-secret")
    namespaces.create(admin, f"{org}:")
    allow = ["--add", "--allow-principal", "User:dan", "--operation", "Alter"]
    kafka_acls(admin, *allow, "--topic", f"{org}:")
    dan = [
        "--command-config",
        str(java_tools.login_file(tmp_path, "dan", "dan-secret", "SCRAM-SHA-256")),
    ]
    bob = ["--add", "--allow-principal", "User:bob", "--operation", "Read", "--topic"]
    kafka_acls(users, *dan, *bob, f"{org}:x")
    assert listed(users, *dan) == {
        ("TOPIC", "LITERAL", f"{org}:", "User:dan", "ALTER"),
        ("TOPIC", "LITERAL", f"{org}:x", "User:bob", "READ"),
    }
    rejected = java_tools.attempt(java.ACLS, users, *dan, *bob, "x")
    assert rejected.returncode == 1
    assert "ClusterAuthorizationException" in rejected.stdout + rejected.stderr
    # Our own command is denied, too, and names the right to ask for.
    said = namespaces.attempt("acls", "--bootstrap-server", users, *dan, *bob, "x")
    assert said.status == 1
    assert "ask for ALTER on the cluster, or on the namespace" in said.err
    kafka_acls(admin, "--remove", "--topic", f"{org}:", "--force")
    said = namespaces.attempt("acls", "--bootstrap-server", users, *dan, "--list")
    assert (said.status, said.out) == (1, "")
    namespaces.delete(admin, f"{org}:")


def test_a_moved_topic_takes_its_acls_along(
    kafka: KafkaCluster, admin: str, users: str, unique: Names
) -> None:
    topic = unique("orders")
    make_user(admin, "amy", "amy-secret")
    namespaces.create_topic(admin, kafka, f"team-a:{topic}")
    allow = ["--add", "--allow-principal", "User:amy", "--operation", "describe"]
    acls(admin, *allow, "--namespace", "team-a", "--topic", topic)
    amy = as_user(users, "amy", "amy-secret")
    assert names_of(amy) == {f"team-a:{topic}"}
    namespaces.alter(admin, f"team-a:{topic}", {"gateway.namespace": "team-b"})
    wait_until(lambda: names_of(amy) == {f"team-b:{topic}"}, "the new name", clients.SECONDS)
    assert listed(admin, "--principal", "User:amy") == {
        ("TOPIC", "LITERAL", f"team-b:{topic}", "User:amy", "DESCRIBE")
    }
    acls(admin, "--remove", "--namespace", "team-b", "--topic", topic, "--force")
    wait_until(lambda: names_of(amy) == set(), "nothing to be listed", clients.SECONDS)
    namespaces.delete(admin, f"team-b:{topic}")


# -- users and homes -------------------------------------------------------------------------------


def test_kafka_configs_manages_users(admin: str, users: str, tmp_path: Path) -> None:
    make_user(admin, "joe", "first")
    entity = ["--entity-type", "users", "--entity-name", "joe"]
    both = "SCRAM-SHA-256=[iterations=8192,password=second],SCRAM-SHA-512=[password=second]"
    java_tools.configs(admin, "--alter", "--add-config", both, *entity)
    shown = "are SCRAM-SHA-256=iterations=8192, SCRAM-SHA-512=iterations=4096"
    assert shown in java_tools.configs(admin, "--describe", *entity).stdout
    assert "'joe'" in java_tools.configs(admin, "--describe", "--entity-type", "users").stdout
    assert "second" not in java_tools.configs(admin, "--describe", *entity).stdout

    def topics_as(password: str) -> CommandResult:
        file = str(java_tools.login_file(tmp_path, "joe", password, "SCRAM-SHA-256"))
        given = ["--bootstrap-server", users, "--command-config", file, "--list"]
        return namespaces.attempt("topics", *given)

    assert topics_as("second").status == 0
    said = topics_as("first")
    assert (said.status, "refuses user 'joe'" in said.err) == (1, True)
    for mechanism in ("SCRAM-SHA-256", "SCRAM-SHA-512"):
        java_tools.configs(admin, "--alter", "--delete-config", mechanism, *entity)
    assert topics_as("second").status == 1
    assert "'joe'" not in java_tools.configs(admin, "--describe", "--entity-type", "users").stdout


def test_kafka_configs_gives_principals_a_home(
    gateway: GatewayProcess, kafka: KafkaCluster, admin: str, users: str, unique: Names
) -> None:
    topic = unique("orders")
    make_user(admin, "sue", "sue-secret")
    namespaces.create_topic(admin, kafka, f"team-a:{topic}")
    acls(admin, "--add", "--allow-principal", "User:sue", "--operation", "all", "--topic", "*")
    sue = as_user(users, "sue", "sue-secret")
    assert f"team-a:{topic}" in names_of(sue)

    legal = gateway.bootstrap_servers("legal")
    team_a = ["--entity-type", "topics", "--entity-name", "team-a.."]
    home = "gateway.principals=[User:sue,User:tom]"
    java_tools.configs(legal, "--alter", "--add-config", home, *team_a)
    shown = java_tools.configs(legal, "--describe", "--all", *team_a).stdout
    assert "gateway.principals=User:sue,User:tom" in shown
    wait_until(lambda: topic in names_of(sue), "the name in its home", clients.SECONDS)
    assert all(":" not in name for name in names_of(sue))
    # A user has a single home: another namespace replaces it.
    team_b = ["--entity-type", "topics", "--entity-name", "team-b.."]
    java_tools.configs(legal, "--alter", "--add-config", "gateway.principals=User:sue", *team_b)
    wait_until(lambda: topic not in names_of(sue), "another home", clients.SECONDS)
    shown = java_tools.configs(legal, "--describe", "--all", *team_a).stdout
    assert "gateway.principals=User:tom" in shown
    java_tools.configs(legal, "--alter", "--delete-config", "gateway.principals", *team_a)
    java_tools.configs(legal, "--alter", "--add-config", "gateway.principals=", *team_b)
    wait_until(lambda: f"team-a:{topic}" in names_of(sue), "no home", clients.SECONDS)
    acls(admin, "--remove", "--topic", "*", "--force")
    namespaces.delete(admin, f"team-a:{topic}")


# -- confluent-kafka -------------------------------------------------------------------------------


def binding(name: str, kind: ResourceType = ResourceType.TOPIC) -> AclBinding:
    how = ResourcePatternType.LITERAL
    what = (AclOperation.READ, AclPermissionType.ALLOW)
    return AclBinding(kind, name, how, "User:eve", "*", *what)


def any_of(principal: str | None) -> AclBindingFilter:
    """The filter of all ACLs of a principal, or of every ACL if it is None."""
    anything: Any = None  # the stubs of confluent-kafka lack these members
    return AclBindingFilter(
        ResourceType.ANY,
        anything,
        ResourcePatternType.ANY,
        anything if principal is None else principal,
        anything,
        AclOperation.ANY,
        AclPermissionType.ANY,
    )


def test_confluent_s_admin_client_manages_acls(admin: str, users: str, unique: Names) -> None:
    asking, org = clients.admin(admin), unique("org")
    wanted = [binding(f"{org}:x"), binding(f"{org}:"), binding(f"{org}:g", ResourceType.GROUP)]
    for future in asking.create_acls(wanted).values():
        future.result(clients.SECONDS)
    any_of_eve = any_of("User:eve")
    found = asking.describe_acls(any_of_eve).result(clients.SECONDS)
    assert {(one.restype, one.name) for one in found} == {(one.restype, one.name) for one in wanted}
    ((_, future),) = asking.delete_acls([any_of_eve]).items()
    assert len(future.result(clients.SECONDS)) == 3
    assert asking.describe_acls(any_of_eve).result(clients.SECONDS) == []

    make_user(admin, "eve", "eve-secret")
    eve = AdminClient(as_user(users, "eve", "eve-secret"))
    ((_, future),) = eve.create_acls([binding(f"{org}:x")]).items()
    code, text = namespaces.rejection(future)
    assert code == CLUSTER_AUTHORIZATION_FAILED
    assert "User:eve is not allowed to ALTER cluster" in text


def test_confluent_s_admin_client_manages_users(admin: str, users: str) -> None:
    asking: Any = clients.admin(admin)
    mechanism = ScramMechanism.SCRAM_SHA_512
    upsertion = UserScramCredentialUpsertion(
        "kim", ScramCredentialInfo(mechanism, 4096), b"kim-secret", b"a salt of 20 bytes.."
    )
    clients.done(asking.alter_user_scram_credentials([upsertion]))
    (described,) = clients.done(asking.describe_user_scram_credentials(["kim"])).values()
    (info,) = described.scram_credential_infos
    assert (info.mechanism, info.iterations) == (mechanism, 4096)
    kim = as_user(users, "kim", "kim-secret") | {"sasl.mechanisms": "SCRAM-SHA-512"}
    assert names_of(kim) == set()
    clients.done(
        asking.alter_user_scram_credentials([UserScramCredentialDeletion("kim", mechanism)])
    )
    with pytest.raises(KafkaException) as caught:
        clients.done(asking.describe_user_scram_credentials(["kim"]))
    assert caught.value.args[0].code() == 91  # RESOURCE_NOT_FOUND


# -- kafka-gateway acls ----------------------------------------------------------------------------


def test_the_page_of_the_command_line(gateway: GatewayProcess, admin: str) -> None:
    """Every command of docs/cli.md about ACLs, on a gateway without ACLs."""
    for left in clients.admin(admin).delete_acls([any_of(None)]).values():
        left.result(clients.SECONDS)  # other tests' ACLs in this catalog, about any topic
    steps = cli_page.steps("acls")
    assert len(steps) > 5
    for step in steps:
        words = [admin if word == cli_page.ADDRESS else word for word in step.words]
        said = namespaces.attempt(*words)
        assert said.status == step.status, f"{words}\n{said}"
        assert said.err + said.out == step.output
    metric = 'kafka_gateway_deprecated_grants_total{operation="IDEMPOTENT_WRITE"} 1.0'
    wait_until(lambda: metric in gateway.metrics(), metric, clients.SECONDS)
    for flags in ("--topic acme:orders", "--namespace acme --resource-pattern-type any"):
        acls(admin, "--remove", *flags.split(), "--force")
