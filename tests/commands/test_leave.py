"""kafka-gateway leave --plan: the entities it names, copies and prints. Kafka's tools run its
output in tests/live/operations/test_leaving.py."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any, ClassVar

import pytest

from gateway.acl_model import AclEntry, Operation, PatternType, Permission
from gateway.acl_model import ResourcePattern as Pattern
from gateway.acl_model import ResourceType as Type
from gateway.catalog.entities import (
    Alias,
    Link,
    Namespace,
    ResourceAcls,
    ScramCredential,
    TopicEntry,
)
from gateway.catalog.snapshot import Snapshot
from gateway.names import LogicalName
from tests.commands.cli_page import steps
from tests.commands.fake_backend import FakeBackend
from tests.commands.running import Said, command
from tests.config import config_samples

SHADOW = "__kafka_gateway_far.2.AAAAAAAAAAAAAAAAAAAAAQ"
CATALOG = Snapshot().apply(
    [
        *map(Namespace, ("crm", "crm:eu")),
        TopicEntry(
            "crm.calls",
            LogicalName("crm", "calls"),
            aliases=(Alias(LogicalName("", "crm.calls"), 1),),
        ),
        Link(LogicalName("", "shared"), "crm.calls", bytes(16)),
        ScramCredential("dana o'neil", "SCRAM-SHA-512", 20_000, b"", b"", b""),
        ResourceAcls(
            Pattern(Type.TOPIC, PatternType.LITERAL, "crm:"),
            frozenset({AclEntry("User:dana o'neil", "*", Operation.ALL, Permission.ALLOW)}),
        ),
    ],
    9,
)


class Stored(dict[str, tuple[str, int]]):
    """A topic's configs; it has two partitions."""

    partitions = 2
    assigned: ClassVar[dict[int, tuple[int, ...]]] = {0: (1, 2), 1: (2, 3)}


TOPICS = {
    "crm.calls": Stored(),
    "crm..mails": Stored({"retention.ms": ("1", 1), "segment.ms": ("2", 4)}),
    "crm.eu..mails": Stored(),
    "crm.eu.mails": Stored(),
    "crm..x.replica": Stored(),
    "orders": Stored(),
    "other..orders": Stored(),
    "__consumer_offsets": Stored(),
    "__kafka_gateway_catalog": Stored(),
    SHADOW: Stored(),
}


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeBackend:
    monkeypatch.chdir(tmp_path)
    authorization = {"super.users": ["User:root"]}
    config_samples.write(tmp_path, authorization=authorization)
    backend = FakeBackend(CATALOG, TOPICS)
    backend.cluster.groups = ["app", "crm..app", "other..app"]
    backend.cluster.ids = ["crm..tx"]
    backend.take_place(monkeypatch)
    return backend


async def leave(*more: str) -> Said:
    return await command("leave", "--config", "gateway.yaml", "--plan", *more)


def commands(said: Said, tool: str) -> list[list[str]]:
    """The words of a tool's commands, as a shell reads them, without the address."""
    lines = [line.removeprefix("# ") for line in said.lines]
    found = [shlex.split(line) for line in lines if line.startswith(f"{tool} ")]
    assert all(words[1] == "--bootstrap-server" for words in found)
    return [words[3:] for words in found]


def becoming(content: Any) -> dict[str, str]:
    return {one["stored_as"]: one["becomes"] for one in content["topics"]}


def becoming_ids(content: Any) -> dict[str, str]:
    return {one["stored"]: one["becomes"] for one in content}


async def test_the_page_shows_what_it_prints(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    values = config_samples.values(authorization={"super.users": ["User:admin"]})
    values["clusters"][0]["bootstrap_servers"] = ["127.0.0.1:9092"]
    config_samples.write(tmp_path, **values)
    alice = AclEntry("User:alice", "*", Operation.ALL, Permission.ALLOW)
    crm = Pattern(Type.TOPIC, PatternType.LITERAL, "crm:")
    held = [
        Namespace("crm"),
        TopicEntry("crm.calls", LogicalName("crm", "calls")),
        ScramCredential("alice", "SCRAM-SHA-512", 4_096, b"", b"", b""),
        ResourceAcls(crm, frozenset({alice})),
    ]
    stored = ("crm.calls", "crm..mails", "__kafka_gateway_catalog", "__kafka_gateway_catalog_mark")
    backend = FakeBackend(Snapshot().apply(held, 9), dict.fromkeys(stored, Stored()))
    backend.cluster.groups = ["crm..app"]
    backend.take_place(monkeypatch)
    (step,) = steps("leave")
    said = await command(*step.words)
    assert (said.status, said.out + said.err) == (step.status, step.output)


async def test_flat_names_copy_nothing(site: FakeBackend) -> None:
    content = (await leave("--json")).json
    assert becoming(content) == {
        name: name for name in ("crm.calls", "crm..mails", "crm.eu..mails", "crm..x.replica")
    }
    (group,) = content["groups"]
    assert (group["stored"], group["becomes"]) == ("crm..app", "crm..app")
    said = await leave()
    assert said.status == 0
    assert not commands(said, "connect-mirror-maker")
    assert not commands(said, "kafka-consumer-groups")
    deleted = [words[2] for words in commands(said, "kafka-topics")]
    assert deleted == ["__kafka_gateway_catalog", SHADOW.replace(".", "[.]")]
    assert all(line.startswith("# kafka-topics") for line in said.lines if "--delete" in line)
    assert site.opened == ["to read"] * 2


async def test_plain_names(site: FakeBackend) -> None:
    content = (await leave("--names", "plain", "--json")).json
    assert becoming(content) == {
        "crm.calls": "crm.calls",  # it has a plain name already
        "crm..mails": "crm.mails",
        "crm.eu..mails": "crm.eu..mails",  # crm.eu.mails is another topic
        "crm..x.replica": "crm..x.replica",  # DefaultTopicFilter excludes it (KIP-382)
    }
    why = {one["stored_as"]: one["keeps_its_name_because"] for one in content["topics"]}
    assert {name for name, text in why.items() if text} == {"crm.eu..mails", "crm..x.replica"}
    assert content["groups"][0]["becomes"] == "crm.app"
    assert content["transactional_ids"][0]["becomes"] == "crm.tx"
    said = await leave("--names", "plain")
    created = [words for words in commands(said, "kafka-topics") if words[0] == "--create"]
    made = "--create --topic crm.mails --partitions 2 --replication-factor 2"
    assert created == [[*made.split(), "--config", "retention.ms=1"]]
    resets = [words for words in commands(said, "kafka-consumer-groups") if "--execute" in words]
    assert [words[words.index("--group") + 1] for words in resets] == ["crm.app"]


async def test_no_group_becomes_another_one(site: FakeBackend) -> None:
    """Clients choose the names of groups, here so that plain names are the names of other homes."""
    site.cluster.groups = ["crm..app", "crm.app", "crm..eu.x", "crm.eu..x", "crm..tx"]
    site.cluster.ids = ["crm..tx", "crm.tx", "crm..eu.x", "crm.eu..x"]
    content = (await leave("--names", "plain", "--json")).json
    for kind, stored in (
        ("groups", site.cluster.groups),
        ("transactional_ids", site.cluster.ids),
    ):
        becomes = {one: one for one in stored} | becoming_ids(content[kind])
        assert len({*becomes.values()}) == len(stored)
        kept = {one["stored"] for one in content[kind] if one["keeps_its_name_because"]}
        assert kept == {name for name in becomes if ".." in name and becomes[name] == name}
    assert becoming_ids(content["groups"])["crm..tx"] == "crm.tx"
    said = await leave("--names", "plain")
    resets = [words for words in commands(said, "kafka-consumer-groups") if "--execute" in words]
    written = [words[words.index("--group") + 1] for words in resets]
    assert sorted({*written} & {*site.cluster.groups} - {"crm..app", "crm.eu..x"}) == []


async def test_nothing_is_renamed_where_nothing_is_copied(
    site: FakeBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    copied = await leave("--names", "plain")
    assert "| sed -E -f leave-names.sed > leave-offsets-1.csv" in copied.out
    backend = FakeBackend(CATALOG, {"crm.calls": Stored()})
    backend.cluster.groups = ["crm..app"]
    backend.take_place(monkeypatch)
    adopted = await leave("--names", "plain")
    assert "sed" not in {word for line in adopted.lines for word in line.split()}
    assert "MirrorMaker" not in adopted.out
    (export,) = [line for line in adopted.lines if "--export" in line]
    assert "--group crm..app" in export
    assert export.endswith("--export > leave-offsets-1.csv")


async def test_users_have_to_get_a_password(site: FakeBackend) -> None:
    """Brokers accept at most 16,384 iterations (ScramMechanism), and no StoredKey (KIP-554)."""
    said = await leave()
    (words,) = commands(said, "kafka-configs")
    assert words[-1] == "dana o'neil"
    assert words[2] == "SCRAM-SHA-512=[iterations=16384,password=${PASSWORD_1:?}]"


async def test_acls_of_a_namespace(site: FakeBackend) -> None:
    """An ALLOW on a namespace applies to topics, groups and ids in it and below
    (docs/access.md)."""
    said = await leave()
    who = ["--add", "--allow-principal", "User:dana o'neil", "--operation", "All"]
    prefixed = ["--resource-pattern-type", "prefixed"]
    flags = ("--topic", "--group", "--transactional-id")
    wanted = [[*who, flag, name, *prefixed] for flag in flags for name in ("crm..", "crm.eu..")]
    wanted.append([*who, "--topic", "crm.calls"])
    assert sorted(commands(said, "kafka-acls")) == sorted(wanted)


async def test_without_authorization(
    site: FakeBackend, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config_samples.write(tmp_path)
    said = await leave()
    assert said.status == 0
    assert not commands(said, "kafka-acls")
    assert (await leave("--json")).json["no_acls"]


async def test_brokers_with_a_login(site: FakeBackend, tmp_path: Path) -> None:
    (tmp_path / "password").write_text("secret\n")
    values = config_samples.values()
    sasl = {
        "mechanism": "PLAIN",
        "username": "gateway",
        "password": {"file": str(tmp_path / "password")},
    }
    values["clusters"][0]["security"] = {"protocol": "SASL_PLAINTEXT", "sasl": sasl}
    config_samples.write(tmp_path, **values)
    said = await leave("--names", "plain")
    tools = [line for line in said.lines if line.removeprefix("# ").startswith("kafka-")]
    assert tools
    assert all("--command-config admin.properties" in line for line in tools)
    assert ["--list", "--principal", "User:gateway"] in [
        words[2:] for words in commands(said, "kafka-acls")
    ]


async def test_no_name_becomes_a_command(site: FakeBackend) -> None:
    """Clients choose the names of groups, and of resources in ACLs."""
    bad = "\nrm -rf $HOME #\r\x1b[2K"
    site.cluster.groups = [f"crm..{bad}", "crm..a'; rm x", f"{bad}"]
    entry = AclEntry(f"User:{bad}", "*", Operation.ALL, Permission.ALLOW)
    pattern = Pattern(Type.GROUP, PatternType.LITERAL, f"crm:{bad}")
    site.catalog.snapshot = CATALOG.apply([ResourceAcls(pattern, frozenset({entry}))], 10)
    said = await leave("--names", "plain")
    assert said.status == 0
    assert said.out.isascii()
    assert all(line.isprintable() for line in said.lines)
    inside = False
    for line in said.out.split("\n"):
        inside = line != "END" and (inside or "<<'END'" in line)
        assert (
            inside
            or line[:1] in ("", "#")
            or line.startswith(("kafka-", "cat ", "connect-", "END"))
        )
    resets = [words for words in commands(said, "kafka-consumer-groups") if "--execute" in words]
    assert [words[words.index("--group") + 1] for words in resets] == ["crm.a'; rm x"]


@pytest.mark.parametrize(
    ("principal", "group"),
    [("User:eve ", "app"), ("User:eve", "crm:app "), ("User:eve", " app")],
    ids=["of another user", "on another group", "outside"],
)
async def test_no_acl_becomes_another_one(site: FakeBackend, principal: str, group: str) -> None:
    """kafka-acls strips blanks from names and principals (AclCommand: ``trim``)."""
    entry = AclEntry(principal, "*", Operation.ALL, Permission.ALLOW)
    pattern = Pattern(Type.GROUP, PatternType.LITERAL, group)
    site.catalog.snapshot = CATALOG.apply([ResourceAcls(pattern, frozenset({entry}))], 10)
    content = (await leave("--json")).json
    assert principal in {one["principal"] for one in content["acls"]}
    said = await leave()
    assert not [words for words in commands(said, "kafka-acls") if principal.strip() in words]
    assert any(repr(principal)[1:-1] in line and "by hand" in line for line in said.lines)


async def test_failures_say_what_to_do(site: FakeBackend) -> None:
    said = await command("leave", "--config", "gateway.yaml")
    assert said.status == 2
    assert "--plan" in said.err
    site.cluster.coordinator_error = 14  # COORDINATOR_LOAD_IN_PROGRESS
    said = await leave()
    assert said.status == 1
    assert "cluster 'main'" in said.err
    assert "try again" in said.err
    said = await leave("--cluster", "other")
    assert said.status == 1
    assert "main" in said.err
