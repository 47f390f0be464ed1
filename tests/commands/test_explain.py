"""gateway.commands.explain and gateway.commands.explanation: the subcommand explain."""

from __future__ import annotations

from pathlib import Path

import pytest

from devkit.ports import free_ports
from gateway.acl_model import (
    AclEntry,
    Operation,
    PatternType,
    Permission,
    ResourcePattern,
    ResourceType,
)
from gateway.catalog.entities import (
    Alias,
    Entity,
    Namespace,
    PrincipalHome,
    ResourceAcls,
    TopicEntry,
)
from gateway.catalog.snapshot import Snapshot
from gateway.names import LogicalName
from tests.commands.fake_backend import FakeBackend
from tests.commands.running import Said, command
from tests.config import config_samples

CATALOG = Snapshot().apply(
    [
        Namespace("org", {"retention.ms": "1", "segment.ms": "3", "flush.ms": "7"}),
        Namespace("org:apache", {"retention.ms": "2"}),
        Namespace("gone", deleting=5),
        TopicEntry(
            "old.orders",
            LogicalName("org:apache", "orders"),
            topic_id=bytes([255] * 16),
            aliases=(Alias(LogicalName("", "old.orders"), 1_796_126_400_000),),
            own_configs=("segment.ms",),
        ),
        TopicEntry("org..taken", LogicalName("org", "elsewhere")),
    ],
    3,
)
TOPICS = {
    "old.orders": {
        "retention.ms": ("2", 1),
        "segment.ms": ("3", 1),
        "flush.ms": ("8", 1),
        "cleanup.policy": ("delete", 5),
        "min.insync.replicas": ("2", 4),
    },
    "org..plain": {"retention.ms": ("1", 1)},
    "loose": {"retention.ms": ("9", 1)},
    "hollow": {"min.insync.replicas": ("1", 5)},
    "org..hollow": {"min.insync.replicas": ("1", 5)},
    "__consumer_offsets": {},
}


@pytest.fixture
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    ports = free_ports(8)
    listeners = [
        {"name": "colon", "port": ports[0]},
        {"name": "home", "port": ports[4], "home": "org"},
    ]
    FakeBackend(CATALOG, TOPICS).take_place(monkeypatch)
    return str(config_samples.write(tmp_path, namespaces=["org"], listeners=listeners))


@pytest.fixture
def secured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A gateway with ACLs; alice may read a topic, and carol's home is org."""
    pattern = ResourcePattern(ResourceType.TOPIC, PatternType.LITERAL, "org:apache:orders")
    entry = AclEntry("User:alice", "*", Operation.READ, Permission.ALLOW)
    acls: list[Entity] = [
        ResourceAcls(pattern, frozenset({entry})),
        PrincipalHome("User:carol", "org"),
    ]
    FakeBackend(CATALOG.apply(acls, 4), TOPICS).take_place(monkeypatch)
    authorization = {"super.users": ["User:root"]}
    path = config_samples.write(tmp_path, namespaces=["org"], authorization=authorization)
    return str(path)


async def explain(config: str, name: str, *words: str) -> Said:
    return await command("explain", "--config", config, "--name", name, *words)


async def test_a_moved_topic(config: str) -> None:
    said = await explain(config, "org:apache:orders", "--principal", "User:alice")
    assert (said.status, said.err) == (0, "")
    assert said.out == (
        "Topic 'org:apache:orders' is stored as 'old.orders' in cluster 'main'.\n"
        "\n"
        "name          org:apache:orders\n"
        "principal     User:alice\n"
        "listener      colon\n"
        "home          none\n"
        "cluster       main\n"
        "is            topic\n"
        "logical name  org:apache:orders\n"
        "namespace     org:apache (exists)\n"
        "stored as     old.orders\n"
        "topic exists  yes\n"
        "topic id      _____________________w (virtual)\n"
        "alias         old.orders until 2026-12-01T12:00:00.000Z\n"
        "\n"
        "config               value  source\n"
        "flush.ms             8      topic\n"
        "min.insync.replicas  2      broker (STATIC_BROKER_CONFIG)\n"
        "retention.ms         2      namespace org:apache\n"
        "segment.ms           3      topic\n"
        "\n"
        "1 config at Kafka's default, shown by --all\n"
        "\n"
        "policy                limit    mode  source\n"
        "producer.acks         upgrade        the default\n"
        "producer.idempotence  observe        the default\n"
    )


async def test_all_configs(config: str) -> None:
    """DEFAULT_CONFIG is Kafka's own value (ConfigEntry.ConfigSource), which no operator has set."""
    said = await explain(config, "org:apache:orders", "--all")
    assert "cleanup.policy       delete  broker (DEFAULT_CONFIG)\n" in said.out
    assert "--all" not in said.out
    shown = (await explain(config, "org:apache:orders", "--json")).json["configs"]
    assert "cleanup.policy" in {one["name"] for one in shown}


async def test_by_its_alias(config: str) -> None:
    """Clients that use the alias get the broker's own id; its inherited configs are its
    namespace's."""
    said = await explain(config, "old.orders", "--json")
    assert (said.json["logical_name"], said.json["flat_name"]) == ("old.orders", "old.orders")
    assert said.json["topic_id"] == "AAAAAAAAAAAAAAAAAAAAAQ"
    sources = {one["name"]: one["source"] for one in said.json["configs"]}
    assert sources["retention.ms"] == "namespace org:apache"


async def test_json(config: str) -> None:
    said = await explain(config, "plain", "--listener", "home", "--json")
    assert said.json == {
        "name": "plain",
        "principal": "User:ANONYMOUS",
        "listener": "home",
        "cluster": "main",
        "kind": "topic",
        "logical_name": "org:plain",
        "namespace": "org",
        "missing_tier": None,
        "deleting_tier": None,
        "refusal": None,
        "flat_name": "org..plain",
        "exists": True,
        "topic_id": "AAAAAAAAAAAAAAAAAAAAAg",
        "aliases": [],
        "link_to": None,
        "links": [],
        "mirror_maker": {"kind": "user", "replicated": True, "was_replicated": True},
        "configs": [{"name": "retention.ms", "value": "1", "source": "namespace org"}],
        "home": "org",
        "permissions": None,
        "policies": [
            {"rule": rule, "limit": limit, "mode": None, "source": "the default"}
            for rule, limit in (
                ("producer.acks", "upgrade"),
                ("producer.idempotence", "observe"),
            )
        ],
        "warnings": [],
    }


async def test_what_a_principal_may_do(secured: str) -> None:
    said = await explain(secured, "org:apache:orders", "--principal", "User:alice")
    start = next(place for place, line in enumerate(said.lines) if line.startswith("operation "))
    assert said.lines[start : start + 9] == [
        "operation         is       because",
        "READ              allowed  ALLOW READ for User:alice on TOPIC:LITERAL:org:apache:orders",
        "WRITE             denied   no ACL allows it",
        "DESCRIBE          allowed  ALLOW READ for User:alice on TOPIC:LITERAL:org:apache:orders",
        "CREATE            denied   no ACL allows it",
        "DELETE            denied   no ACL allows it",
        "ALTER             denied   no ACL allows it",
        "DESCRIBE_CONFIGS  denied   no ACL allows it",
        "ALTER_CONFIGS     denied   no ACL allows it",
    ]
    said = await explain(secured, "loose", "--principal", "User:root", "--json")
    assert {(one["allowed"], one["rule"]) for one in said.json["permissions"]} == {
        (True, "super.users")
    }


@pytest.fixture
def judged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A gateway with policies."""
    FakeBackend(CATALOG, TOPICS).take_place(monkeypatch)
    policies = {
        "everywhere": {"partitions": {"min": 1, "max": 12}, "producer": {"idempotence": "require"}},
        "default_namespace": {"max_topics": 5},
        "namespaces": {
            "org": {"mode": "warn", "create.topic.policy.class.name": "acme.policies:Naming"},
            "org:apache": {"producer": {"acks": "require"}},
        },
    }
    return str(config_samples.write(tmp_path, namespaces=["org"], policies=policies))


async def test_which_policies_apply(judged: str) -> None:
    said = await explain(judged, "org:apache:new")
    there = f"in {judged}"
    table = [" ".join(line.split()) for line in said.lines[-6:]]
    assert table == [
        "policy limit mode source",
        f"partitions.min 1 enforce policies.everywhere {there}",
        f"partitions.max 12 enforce policies.everywhere {there}",
        f"create.topic.policy.class.name acme.policies:Naming warn policies.namespaces.org {there}",
        f"producer.acks require policies.namespaces.org:apache {there}",
        f"producer.idempotence require policies.everywhere {there}",
    ]
    told = (await explain(judged, "org:", "--json")).json["policies"]
    assert told[2] == {
        "rule": "create.topic.policy.class.name",
        "limit": "acme.policies:Naming",
        "mode": "warn",
        "source": "policies.namespaces.org",
    }
    assert told[3]["source"] == "the default"


async def test_policies_of_an_alias_are_those_of_where_its_topic_is(judged: str) -> None:
    told = (await explain(judged, "old.orders", "--json")).json["policies"]
    assert "policies.default_namespace" not in {one["source"] for one in told}
    told = (await explain(judged, "loose", "--json")).json["policies"]
    assert [one["rule"] for one in told] == [
        "partitions.min",
        "partitions.max",
        "max_topics",
        "producer.acks",
        "producer.idempotence",
    ]


async def test_what_is_no_name_has_no_policies(judged: str) -> None:
    said = await explain(judged, "a_b:")
    assert "policy" not in said.out
    assert (await explain(judged, "a_b:", "--json")).json["policies"] == []


async def test_a_principal_with_a_home(secured: str) -> None:
    said = await explain(secured, "plain", "--principal", "User:carol", "--json")
    assert (said.json["home"], said.json["logical_name"]) == ("org", "org:plain")


async def test_the_default_namespace(config: str) -> None:
    said = await explain(config, "loose")
    assert "namespace     the default one\n" in said.out
    assert "topic id      AAAAAAAAAAAAAAAAAAAAAw\n" in said.out
    assert "retention.ms  9      topic\n" in said.out


async def test_a_topic_that_does_not_exist_yet(config: str) -> None:
    said = await explain(config, "org:apache:new")
    assert said.status == 0
    assert "stored as     org.apache..new\ntopic exists  no\n" in said.out
    assert said.lines[-7:-4] == [
        "flush.ms      7      namespace org",
        "retention.ms  2      namespace org:apache",
        "segment.ms    3      namespace org",
    ]


@pytest.mark.parametrize(
    ("name", "lines"),
    [
        (
            "no:such:orders",
            [
                "namespace        no:such ('no' does not exist)",
                "stored as        no.such..orders",
                "topic exists     no",
                "clients are told  InvalidNamespaceException: namespace 'no' does not exist, so",
            ],
        ),
        ("gone:orders", ["namespace         gone ('gone' is being deleted)"]),
        ("org:taken", ["stored as         nothing: its stored name is another topic's"]),
        (
            "__consumer_offsets",
            [
                "topic exists      no",
                "clients are told  Topic '__consumer_offsets' is reserved and does not exist here.",
            ],
        ),
        ("org:a:b c", ["is         no name here: topic name 'b c' holds characters other than"]),
        ("a_b:", ["is         no name here: tier 'a_b' of namespace 'a_b' is not one or more"]),
    ],
)
async def test_what_clients_cannot_use(config: str, name: str, lines: list[str]) -> None:
    said = await explain(config, name)
    assert (said.status, said.err) == (0, "")
    told = [" ".join(line.split()) for line in said.lines]
    for line in lines:
        wanted = " ".join(line.split())
        assert any(one.startswith(wanted) for one in told), f"{wanted}\n{said.out}"
    assert (await explain(config, name, "--json")).json["exists"] is False


async def test_a_namespace(config: str) -> None:
    said = await explain(config, "org:apache:")
    assert said.lines[0] == "Namespace 'org:apache' exists."
    assert said.lines[7:10] == [
        "is            namespace",
        "logical name  org:apache",
        "namespace     org:apache (exists)",
    ]
    assert said.lines[-6] == "retention.ms  2      namespace org:apache"
    said = await explain(config, "no:", "--json")
    assert (said.json["kind"], said.json["missing_tier"]) == ("namespace", "no")
    assert (said.json["exists"], said.json["configs"]) == (False, [])


async def test_an_unknown_listener(config: str) -> None:
    said = await explain(config, "loose", "--listener", "none")
    assert (said.status, said.out) == (1, "")
    assert said.err == (
        "kafka-gateway: there is no listener 'none'; the listeners are colon, home\n"
    )


async def test_a_broker_that_rejects(config: str, monkeypatch: pytest.MonkeyPatch) -> None:
    backend = FakeBackend(CATALOG, TOPICS)
    backend.cluster.error = 29
    backend.take_place(monkeypatch)
    said = await explain(config, "loose")
    assert (said.status, said.out) == (1, "")
    assert "the configs of topic 'loose' were not described by the broker: TOPIC_AUTH" in said.err


async def test_what_makes_no_sense(config: str) -> None:
    for words in (["explain"], ["explain", "--config", config], ["explain", "--name", "x"]):
        assert (await command(*words)).status == 2
    assert (await explain(config, "")).status == 2
    # ACLs name `User:alice`, so any other text would be "denied", whatever is allowed.
    for principal in ("alice", "User:", "User:*"):
        said = await explain(config, "loose", "--principal", principal)
        assert (said.status, said.out) == (2, "")


async def test_acks_all_that_one_replica_answers(config: str) -> None:
    said = await explain(config, "org:hollow")
    assert said.out.endswith(
        "\nwarning: its producers have to use acks=all, but min.insync.replicas is 1, so the leader"
        " may acknowledge a record that no other replica has; set min.insync.replicas=2 (with 3"
        " replicas)\n"
    )
    said = await explain(config, "org:hollow", "--json")
    (warning,) = said.json["warnings"]
    assert warning.startswith("its producers have to use acks=all")
    # The default namespace does not require acks=all, or min.insync.replicas is 2.
    for name in ("hollow", "org:apache:orders"):
        assert "warning" not in (await explain(config, name)).out


async def test_what_mirrormaker_makes_of_it(config: str) -> None:
    said = await explain(config, "orders.internal")
    shown = "to MirrorMaker  a user's topic, replicated since Kafka 4.0 (KIP-1074), not before"
    assert shown in said.out
    said = await explain(config, "A.checkpoints.internal")
    assert "to MirrorMaker  its own topic, not replicated" in said.out
    assert "to MirrorMaker" not in (await explain(config, "plain")).out
