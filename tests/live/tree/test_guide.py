"""The commands of docs/tree.md, top to bottom, on two real clusters."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pytest
import yaml

from devkit.broker import KafkaCluster
from devkit.gateway_config import Listener, MountedCluster
from devkit.gateway_process import GatewayProcess
from devkit.java import TOOL_SCRIPTS
from tests.docs import guide, markdown
from tests.live.support import java_tools

PAGE = "docs/tree.md"


def configuration() -> Mapping[str, Any]:
    """The page's YAML."""
    blocks = markdown.blocks(markdown.read(PAGE))
    (block,) = (block for block in blocks if block.language == "yaml")
    values: Mapping[str, Any] = yaml.safe_load(block.text)
    return values


@pytest.fixture(scope="module")
def addresses(la: KafkaCluster, ny: KafkaCluster) -> Iterator[Mapping[str, str]]:
    """The real address of each listener by the address in the page.

    The gateway has the page's configuration on free ports.
    """
    values = configuration()
    clusters = [
        MountedCluster(
            one["mount"],
            one["number"],
            kafka.bootstrap_servers,
            {key: one[key] for key in ("name", "namespaces")},
        )
        for one, kafka in zip(values["clusters"], (la, ny), strict=True)
    ]
    listeners = [
        Listener(
            one["name"],
            "as on the page",
            one["spelling"],
            security={key: one[key] for key in ("volume", "list_tree") if key in one},
        )
        for one in values["listeners"]
    ]
    with GatewayProcess(clusters, listeners, []) as gateway:
        yield {
            f"127.0.0.1:{one['port']}": gateway.bootstrap_servers(one["name"])
            for one in values["listeners"]
        }


def test_the_guide(addresses: Mapping[str, str]) -> None:
    for step in guide.steps(PAGE):
        words = [addresses.get(word, word) for word in step.words]
        typed = ""
        if words[0] == "echo":
            typed, words = f"{words[1]}\n", words[3:]
        ended = java_tools.server().run(TOOL_SCRIPTS[words[0]], words[1:], stdin=typed)
        printed = ended.stdout + ended.stderr
        assert ended.returncode == step.status, f"{step}\n{printed}"
        _expect(str(step), step.shown, printed)


def _expect(command: str, shown: Sequence[str], printed: str) -> None:
    """Check that these lines are printed, in order, ignoring the width of columns."""
    lines = [" ".join(line.split()) for line in printed.splitlines()]
    at = 0
    for wanted in (" ".join(line.split()) for line in shown):
        assert wanted in lines[at:], f"{command}\nshould print {wanted!r}, and prints\n{printed}"
        at = lines.index(wanted, at) + 1
