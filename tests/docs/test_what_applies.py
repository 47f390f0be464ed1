"""docs/policies.md, "What applies here": the output of its commands, by the example of the page."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from gateway.catalog.snapshot import Snapshot
from gateway.config_file.loading import load_config
from gateway.policies.applied import applied_rules
from gateway.policies.applied_text import rules_text
from gateway.policies.declared import violations
from gateway.policies.interface import RequestMetadata
from gateway.policies.tree import Policies
from tests.commands.fake_backend import FakeBackend
from tests.commands.fake_gateway import FakeGateway
from tests.commands.running import command
from tests.config import config_samples
from tests.docs import markdown

PAGE = markdown.read("docs/policies.md")
SECTION = PAGE.partition("\n## What applies here\n")[2].partition("\n## ")[0]
EXPLAIN, VALIDATE = (one.text for one in markdown.blocks(SECTION) if one.language == "console")
ADDRESS = "127.0.0.1:9192"


def step(block: str) -> tuple[list[str], int, str]:
    """The words of a block's command, its exit status, and its output."""
    first, _, output = block.partition("\n")
    match = re.fullmatch(r"\$ kafka-gateway (.*?)(?:  # exit status (\d+))?", first)
    assert match is not None
    return shlex.split(match[1]), int(match[2] or 0), output


@pytest.fixture
def policies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Policies:
    """The policies of the example, which ``gateway.yaml`` holds."""
    monkeypatch.chdir(tmp_path)
    (example,) = (block for block in markdown.blocks(PAGE) if block.language == "yaml")
    path = config_samples.write(tmp_path)
    path.write_text(f"{path.read_text()}{example.text}\n")
    return Policies(load_config(path).policies)


async def test_explain(policies: Policies, monkeypatch: pytest.MonkeyPatch) -> None:
    FakeBackend(Snapshot.of(["org", "org:apache"])).take_place(monkeypatch)
    words, status, output = step(EXPLAIN)
    said = await command(*words)
    assert (said.status, said.err) == (status, "")
    assert said.out.endswith(f"\n\n{output}\n"), said.out


async def test_validate_only(policies: Policies) -> None:
    words, status, output = step(VALIDATE)
    asked = RequestMetadata(
        "org:orders",
        namespace="org",
        num_partitions=64,
        replication_factor=3,
        configs={"retention.ms": "86400000"},
        effective_configs={"min.insync.replicas": "2", "retention.ms": "86400000"},
    )
    found = [one for placed in policies.of("org") for one in violations(placed, asked)]
    async with FakeGateway("org") as gateway:
        gateway.policies["org"] = rules_text(applied_rules(policies, "org"))
        gateway.rejections["CreateTopics"].append((44, " ".join(one.message for one in found)))
        said = await command(*(gateway.address if one == ADDRESS else one for one in words))
    assert said.status == status
    assert said.out + said.printed == f"{output}\n"


def test_the_virtual_config(policies: Policies) -> None:
    (shown,) = (one.text for one in markdown.blocks(SECTION) if "gateway.policies=" in one.text)
    assert shown == f"gateway.policies={rules_text(applied_rules(policies, 'org'))}"
