"""docs/cli.md: its commands print the text shown there; every flag and every exported key has its
row."""

from __future__ import annotations

import argparse
import re
from pathlib import Path

import pytest
import yaml

from devkit.ports import free_ports
from gateway import cli, exit_codes
from gateway.catalog.entities import ClientMetrics, Gateway, Link, Namespace, TopicEntry
from gateway.catalog.snapshot import Snapshot
from gateway.commands.catalog import diff as catalog_diff
from gateway.commands.catalog.file import export_text
from gateway.commands.client_properties import KNOWN
from gateway.commands.init import command as init
from gateway.commands.init import ports
from gateway.commands.init.asked import Asked
from gateway.commands.parser import Parser
from gateway.config.addresses import Address
from gateway.names import LogicalName
from tests.commands import catalog_samples, fake_clusters
from tests.commands.cli_page import ADDRESS, PAGE, steps
from tests.commands.fake_backend import FakeBackend
from tests.commands.fake_clusters import FakeVolume
from tests.commands.fake_tree import FakeGateway, FakeTree
from tests.commands.running import command
from tests.config import config_samples
from tests.docs import markdown

CLIENTS = ("topics", "configs", "acls")


def test_what_asks_a_gateway_is_understood() -> None:
    """Their output is checked against a gateway (tests/live)."""
    parser = cli.parser()
    for step in steps(*CLIENTS):
        assert ADDRESS in step.words
        assert parser.parse_args(step.words).command == step.words[0]


async def test_catalog_and_explain(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    ports = free_ports(8)
    listeners = [
        {"name": "colon", "port": ports[0]},
        {"name": "home", "port": ports[4], "home": "team-b"},
    ]
    policies = {
        "everywhere": {"partitions": {"max": 12}},
        "namespaces": {
            "org": {
                "mode": "warn",
                "retention.ms": {"max": 604_800_000},
                "producer": {"acks": "require"},
            }
        },
    }
    settings = {"namespaces": ["team-b"], "listeners": listeners}
    config_samples.write(tmp_path, **settings).rename("site-b.yaml")
    config_samples.write(tmp_path, **settings, policies=policies)
    orders = TopicEntry("org.orders", LogicalName("org:apache", "orders"))
    org = Namespace("org", {"retention.ms": "60000"})
    before = Snapshot().apply(
        [org, Namespace("org:apache"), orders, Gateway("gateway-1", 4, "0.1.0")], 4
    )
    after = before.apply([Namespace("org", {"retention.ms": "86400000"}), Namespace("team-a")], 5)
    (tmp_path / "catalog.yaml").write_text(export_text(after))
    configs = {
        "retention.ms": ("86400000", 1),
        "cleanup.policy": ("compact", 1),
        "segment.ms": ("3600000", 4),
    }
    FakeBackend(before, {"org.orders": configs}).take_place(monkeypatch)
    for step in steps("catalog", "explain"):
        if not {"tree.yaml", "tracking.yaml"}.isdisjoint(step.words):
            continue  # see test_tree and test_other_gateways
        said = await command(*step.words)
        assert (said.status, said.out + said.printed) == (step.status, step.output), step


async def test_tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    config_samples.write_tree(tmp_path).rename("tree.yaml")
    search = Namespace("search")
    la = {"clicks": 1_024, "search..clicks": 2_048, "search..queries": 512}
    volumes = {
        "la": FakeVolume(Snapshot().apply([search], 12), la),
        "ny": FakeVolume(Snapshot().apply([search], 4), {"search..clicks": 1_024}),
    }
    fake_clusters.take_place(monkeypatch, volumes)
    for step in steps("tree", "explain"):
        if "tree.yaml" not in step.words:
            continue
        said = await command(*step.words)
        assert (said.status, said.out + said.printed) == (step.status, step.output), step


async def test_other_gateways(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Times differ, and so does the width of their column."""
    monkeypatch.chdir(tmp_path)
    made = config_samples.peer_values(
        tmp_path, parents=[{"name": "la", "addresses": ["127.0.0.1:9600"]}], children=[]
    )
    cluster = made["clusters"][0] | {"name": "la-tracking", "number": 3}
    listener = {"name": "of-la-tracking", "port": free_ports(6)[0], "volume": "la:tracking"}
    listener["reach"] = ["la:tracking", "la", ""]
    made |= {"gateway_id": "la-tracking", "clusters": [cluster], "listeners": [listener]}
    (tmp_path / "tracking.yaml").write_text(yaml.safe_dump(made))
    FakeTree(
        FakeGateway("root", {"": 1}, children={"la": "la"}, cluster="root"),
        FakeGateway("la", {"la": 2}, ["root"], {"la-tracking": "la:tracking"}, cluster="la"),
        FakeGateway("la-tracking", {"la:tracking": 3}, ["la"]),
        asker="la-tracking",
    ).take_place(monkeypatch)
    topics = {"search..clicks": 2_048, "search..queries": 512}
    volume = FakeVolume(Snapshot().apply([Namespace("search")], 12), topics)
    fake_clusters.take_place(monkeypatch, {"la-tracking": volume})
    found = [step for step in steps("tree", "explain") if "tracking.yaml" in step.words]
    for step in sorted(found, key=lambda step: step.words[0], reverse=True):  # tree asks first
        said = await command(*step.words)
        texts = (said.out + said.printed, step.output)
        shown, output = (re.sub(r" *\d+\.\d ms *", " 0.0 ms ", text) for text in texts)
        assert (said.status, shown) == (step.status, output), step


async def test_init(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On a machine where all ports are free."""
    brokers = {node: Address(f"kafka-{node}.example", 9092) for node in (1, 2, 3)}
    found = Asked(
        server=brokers[1],
        cluster_id="5L6g3nShT-eMCtK--X86sw",
        software="Kafka 4.3 (metadata.version 30)",
        controller_id=2,
        brokers=brokers,
        node_ids=frozenset(brokers),
        topics=214,
        sees_all_topics=True,
        namespaces={},
        has_authorizer=False,
        has_catalog=False,
        unreachable={},
    )

    async def ask_brokers(*_: object) -> Asked:
        return found

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(init, "ask_brokers", ask_brokers)
    monkeypatch.setattr(ports, "try_to_bind", lambda *_: None)
    (step,) = steps("init")
    said = await command(*step.words)
    assert (said.status, said.out + said.printed) == (step.status, step.output)


def test_all_commands_are_run() -> None:
    others = ("catalog", "explain", "trace", "tree", "fleet", "leave", "init", "version")
    known = steps(*CLIENTS, *others)
    assert len(known) == sum(line.startswith("$ ") for line in PAGE.splitlines())
    assert {step.words[0] for step in known} == {*CLIENTS, *others}


@pytest.mark.parametrize(
    ("name", "column"),
    [
        ("topics", 0),
        ("configs", 1),
        ("acls", 2),
        ("adopt", 3),
        ("explain", 4),
        ("trace", 5),
        ("tree", 6),
        ("fleet", 7),
        ("leave", 8),
        ("init", 9),
        ("version", 10),
    ],
    ids=lambda value: value,
)
def test_every_flag_has_its_row(name: str, column: int) -> None:
    """The tables of flags, in the page's order; flags go with actions such as --create."""
    tables = PAGE.split("| flag |")[1:]
    rows = tables[column].partition("\n\n")[0]
    cells = [line.split("|")[1] for line in rows.splitlines()[2:]]
    documented = {flag for cell in cells for flag in re.findall(r"`(--[a-z-]+)`", cell)}
    flags = _flags(name)
    actions = {"--create", "--list", "--describe", "--delete", "--move", "--adopt", "--release"}
    actions |= {"--link", "--unlink", "--links"}
    if name == "acls":
        actions = {"--add", "--remove", "--list"}
    if name == "adopt":
        actions = set()
    if name in ("configs", "acls", "adopt"):
        documented |= {"--bootstrap-server", "--command-config", "--timeout", "--json"}
    assert documented == flags - actions - {"--alter", "--help", "-h"}


def test_every_property_of_a_login_has_its_row() -> None:
    cells = "".join(cell for row in markdown.table(PAGE, "property") for cell in row)
    assert {name for name in re.findall(r"`([a-z.]+)`", cells) if "." in name} == KNOWN


def test_every_subcommand_of_catalog_has_its_row() -> None:
    rows = {markdown.code(row[0]): row[1] for row in markdown.table(PAGE, "subcommand")}
    parsers = _subparsers(_subparsers(cli.parser())["catalog"])
    assert rows.keys() == parsers.keys()
    for name, text in rows.items():
        flags = set(re.findall(r"--[a-z-]+", text))
        assert flags == _options(parsers[name]) - {"--config", "--cluster", "--help", "-h"}


def test_every_key_of_an_export_has_its_row() -> None:
    """The keys of an export of a catalog with everything in it, and no others."""
    rows = {markdown.code(row[0]) for row in markdown.table(PAGE, "key")}
    half_made = TopicEntry("z", LogicalName("org", "z"), apply=True, creating=True, since=1)
    link = Link(LogicalName("org", "y"), "z", bytes(16))
    metrics = ClientMetrics("org:latencies", {"metrics": "*"})
    everything = catalog_samples.sample().apply([half_made, link, metrics], 8)
    content = yaml.safe_load(export_text(everything))
    found = set(content)
    found |= {f"namespaces.{key}" for one in content["namespaces"].values() for key in one}
    found |= {f"topics.{key}" for one in content["topics"] for key in one}
    found |= {f"acls.{key}" for one in content["acls"] for key in one}
    assert rows == found


def test_exit_statuses() -> None:
    rows = {int(row[0]) for row in markdown.table(PAGE, "exit status")}
    known = {value for name, value in vars(exit_codes).items() if name.isupper()}
    assert rows == known


def test_what_an_import_takes_care_of() -> None:
    """The page says that a renamed topic gets a new id; see test_catalog_diff for the rest."""
    before = Snapshot.of(["org"], topics=[TopicEntry("t", LogicalName("org", "a"))])
    after = TopicEntry("t", LogicalName("org", "b"))
    (change,) = catalog_diff.differences(before, [after], prune=False, now=1)
    assert isinstance(change.after, TopicEntry)
    assert change.after.topic_id is not None


def _flags(name: str) -> set[str]:
    return _options(_subparsers(cli.parser())[name])


def _options(parser: argparse.ArgumentParser) -> set[str]:
    return {flag for action in parser._actions for flag in action.option_strings}


def _subparsers(parser: argparse.ArgumentParser) -> dict[str, Parser]:
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            return {name: one.filled() for name, one in action.choices.items()}
    raise AssertionError("it has no subcommands")
