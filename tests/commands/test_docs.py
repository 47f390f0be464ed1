"""docs/cli.md: its commands print what it says, and every flag has its row."""

from __future__ import annotations

import argparse
import re
import shlex
from pathlib import Path

import pytest

from devkit.ports import free_ports
from gateway import cli, exit_codes
from gateway.catalog.entities import Gateway, Namespace, TopicEntry
from gateway.catalog.snapshot import Snapshot
from gateway.commands import catalog_diff
from gateway.commands.catalog_file import export_text
from gateway.names import LogicalName
from tests.commands.fake_backend import FakeBackend
from tests.commands.fake_gateway import FakeGateway
from tests.commands.running import command
from tests.docs import markdown
from tests.gateway import config_samples

PAGE = markdown.read("docs/cli.md")
ADDRESS = "127.0.0.1:9192"
_STEP = re.compile(r"\$ kafka-gateway (.*?)(?:  # exit status (\d+))?\n")


def steps(*commands: str) -> list[tuple[list[str], int, str]]:
    """The commands of these kinds, top to bottom: their words, exit status, and output."""
    found = []
    for block in markdown.blocks(PAGE):
        if block.language != "console":
            continue
        _, *parts = _STEP.split(block.text + "\n")
        for words, status, output in zip(parts[::3], parts[1::3], parts[2::3], strict=True):
            split = shlex.split(words)
            if split[0] in commands:
                found.append((split, int(status or 0), output))
    return found


async def test_topics_and_configs() -> None:
    async with FakeGateway() as gateway:
        for words, status, output in steps("topics", "configs"):
            here = [gateway.address if word == ADDRESS else word for word in words]
            said = await command(*here)
            assert (said.status, said.out + said.err) == (status, output), words


async def test_catalog_and_explain(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    ports = free_ports(8)
    listeners = [
        {"name": "colon", "port": ports[0]},
        {"name": "home", "port": ports[4], "home": "team-b"},
    ]
    config_samples.write(tmp_path, namespaces=["team-b"], listeners=listeners)
    orders = TopicEntry("org.orders", LogicalName("org:apache", "orders"))
    org = Namespace("org", {"retention.ms": "60000"})
    before = Snapshot().apply(
        [org, Namespace("org:apache"), orders, Gateway("gateway-1", 1, "0.1.0")], 4
    )
    after = before.apply([Namespace("org", {"retention.ms": "86400000"}), Namespace("team-a")], 5)
    (tmp_path / "catalog.yaml").write_text(export_text(after))
    configs = {
        "retention.ms": ("86400000", 1),
        "cleanup.policy": ("compact", 1),
        "segment.ms": ("3600000", 4),
    }
    FakeBackend(before, {"org.orders": configs}).take_place(monkeypatch)
    for words, status, output in steps("catalog", "explain"):
        said = await command(*words)
        assert (said.status, said.out + said.err) == (status, output), words


def test_all_commands_are_run() -> None:
    known = steps("topics", "configs", "catalog", "explain")
    assert len(known) == sum(line.startswith("$ ") for line in PAGE.splitlines())
    assert {words[0] for words, _, _ in known} == {"topics", "configs", "catalog", "explain"}


@pytest.mark.parametrize(
    ("name", "column"), [("topics", 0), ("configs", 1), ("explain", 2)], ids=lambda value: value
)
def test_every_flag_has_its_row(name: str, column: int) -> None:
    """The tables of flags, in the page's order; actions such as --create are what they go with."""
    tables = PAGE.split("| flag |")[1:]
    rows = tables[column].partition("\n\n")[0]
    cells = [line.split("|")[1] for line in rows.splitlines()[2:]]
    documented = {flag for cell in cells for flag in re.findall(r"`(--[a-z-]+)`", cell)}
    flags = _flags(name)
    actions = {"--create", "--list", "--describe", "--delete", "--move", "--adopt", "--release"}
    if name == "configs":
        documented |= {"--bootstrap-server", "--timeout", "--json"}
    assert documented == flags - actions - {"--alter", "--help", "-h"}


def test_every_subcommand_of_catalog_has_its_row() -> None:
    rows = {markdown.code(row[0]): row[1] for row in markdown.table(PAGE, "subcommand")}
    parsers = _subparsers(_subparsers(cli._parser())["catalog"])
    assert rows.keys() == parsers.keys()
    for name, text in rows.items():
        flags = set(re.findall(r"--[a-z-]+", text))
        assert flags == _options(parsers[name]) - {"--config", "--help", "-h"}


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
    return _options(_subparsers(cli._parser())[name])


def _options(parser: argparse.ArgumentParser) -> set[str]:
    return {flag for action in parser._actions for flag in action.option_strings}


def _subparsers(parser: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            return dict(action.choices)
    raise AssertionError("it has no subcommands")
