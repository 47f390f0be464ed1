"""docs/high-availability.md: its example, and the node ids that it shows."""

from __future__ import annotations

from pathlib import Path

import pytest

from gateway.catalog.entities import Member
from gateway.catalog.snapshot import Snapshot
from gateway.checks import check
from gateway.commands.output import table
from gateway.config.models import Config
from gateway.config.reach import gateway_addresses
from gateway.config_file.loading import load_config
from gateway.fleet.gateway_nodes import GatewayNodes
from tests.docs import markdown

PAGE = markdown.read("docs/high-availability.md")


@pytest.fixture
def example(tmp_path: Path) -> Config:
    """The page's configuration."""
    (block,) = (block for block in markdown.blocks(PAGE) if block.language == "yaml")
    path = tmp_path / "gateway.yaml"
    path.write_text(block.text)
    return load_config(path)


def test_the_example_gives_the_table_shown(example: Config) -> None:
    texts = [block.text for block in markdown.blocks(PAGE)]
    shown = table(check.plan_rows(check.plan(example)))
    assert any(text == f"$ kafka-gateway check gateway.yaml\n{shown}" for text in texts)


def test_the_nodes_are_those_of_the_table(example: Config) -> None:
    other = {name: at.replace("gw-a", "gw-b") for name, at in gateway_addresses(example).items()}
    members = Snapshot().apply(
        [Member("gw-a", 1, gateway_addresses(example)), Member("gw-b", 2, other)], 2
    )
    (first, second), seen_by_b = (
        GatewayNodes(own_id, ["all"]).at(members, "all") for own_id in ("gw-a", "gw-b")
    )
    assert {(one.host, one.port) for one in (first, second)} == {("gw-b.example", 9196)}
    assert {(one.host, one.port) for one in seen_by_b} == {("gw-a.example", 9196)}
    for node in (first, second):
        assert f"| {node.node_id} | `gw-b.example:9196` | `gw-a.example:9196` |" in PAGE
