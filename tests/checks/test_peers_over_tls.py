"""gateway.checks.peers with running gateways: peer listeners on the loopback address."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, cast

import yaml

from devkit.certificates import Authority
from devkit.ports import free_port
from gateway.checks.peers import ask_peers
from gateway.config.errors import key_text
from gateway.config.models import Config
from gateway.config_file.loading import load_config
from gateway.connections.tasks import Tasks
from gateway.counts import Counts
from gateway.referrals.lookups import Lookups
from gateway.referrals.questions import Answer, Outcome, Question
from gateway.referrals.routing import Routes
from gateway.tree.lanes import LaneHub
from gateway.tree.peer_listener import PeerListener
from gateway.tree.referred import Referred

MOUNTS = {"root": "/", "la": "/la", "deep": "/la/deep"}
NEIGHBOURS: dict[str, list[str]] = {"root": [], "la": ["root"], "deep": ["la"]}
"""The parents of each gateway."""


class Nobody:
    """A gateway's knowledge of the others while none of them responds."""

    async def ask(
        self, question: Question, *, came_from: str | None = None, changes: bool = False
    ) -> Answer:
        assert question.hops > 0
        return Answer(Outcome.UNREACHABLE, "Gateway 'root' does not respond.")


class Tree:
    """The configurations of three gateways; ``changes`` are made to their ``tree``."""

    def __init__(self, directory: Path, **changes: dict[str, Any]) -> None:
        self.directory = directory
        self.authority = Authority(directory / "ours")
        self.ports = {name: free_port() for name in MOUNTS}
        self.configs = {name: self.config(name, **changes.get(name, {})) for name in MOUNTS}

    def config(self, name: str, certificate: str | None = None, **changes: Any) -> Config:
        """The configuration of a gateway, which may have the certificate of another name."""
        own = self.authority.peer(certificate or name)
        everything = list(MOUNTS.values())
        values = {
            "gateway_id": name,
            "clusters": [
                {
                    "name": name,
                    "bootstrap_servers": ["127.0.0.1:1"],
                    "node_ids": ["1"],
                    "mount": MOUNTS[name],
                    "number": 1 + everything.index(MOUNTS[name]),
                }
            ],
            "listeners": [
                {"name": each, "port": 9_000 + 10 * place, "volume": path, "reach": everything}
                for place, (each, path) in enumerate(MOUNTS.items())
            ],
            "tree": {
                "tls": {
                    "ca": str(self.authority.file),
                    "certificate": str(own.certificate),
                    "key": str(own.key),
                },
                "listener": {"port": self.ports[name]},
                "parents": [self._peer(each) for each in NEIGHBOURS[name]],
                "children": [
                    {**self._peer(each), "mount": MOUNTS[each]}
                    for each, parents in NEIGHBOURS.items()
                    if name in parents
                ],
                **changes,
            },
        }
        path = self.directory / f"{name}.yaml"
        path.write_text(yaml.safe_dump(values))
        return load_config(path)

    def _peer(self, name: str) -> dict[str, Any]:
        return {"name": name, "addresses": [f"127.0.0.1:{self.ports[name]}"]}

    @asynccontextmanager
    async def running(self, *names: str) -> AsyncIterator[None]:
        """Run these gateways on their ports. They have no clusters, and ask no other gateway."""
        listeners = []
        try:
            for name in names:
                config = self.configs[name]
                routes = Routes.of_config(config)
                referred = Referred(cast(LaneHub, None), config, routes, cast(Lookups, Nobody()))
                listener = PeerListener(config, referred.answer, tasks=Tasks(), counts=Counts())
                await listener.start()
                listeners.append(listener)
            yield
        finally:
            for listener in listeners:
                listener.stop()


async def test_gateways_that_agree(tmp_path: Path) -> None:
    """Although no gateway may speak for any principal."""
    tree = Tree(tmp_path)
    async with tree.running("root", "deep"):
        found = await ask_peers(tree.configs["la"])
    assert (found.problems, found.warnings) == ([], [])
    assert [(one.name, one.description and one.description.gateway) for one in found.asked] == [
        ("root", "root"),
        ("deep", "deep"),
    ]


async def test_a_parent_that_is_not_the_root_describes_itself(tmp_path: Path) -> None:
    tree = Tree(tmp_path)
    async with tree.running("la"):
        found = await ask_peers(tree.configs["deep"])
    assert found.problems == []
    assert [one.text for one in found.warnings] == [
        "what is at ':' is not known: Gateway 'root' does not respond; check from a gateway that "
        "is nearer to it"
    ]


async def test_a_gateway_with_anothers_certificate(tmp_path: Path) -> None:
    tree = Tree(tmp_path)
    tree.configs["root"] = tree.config("root", certificate="other")
    async with tree.running("root"):
        found = await ask_peers(tree.configs["la"])
    told = {key_text(one.key): one.text for one in found.problems}
    assert set(told) == {"tree.parents[0].addresses[0]", "tree.children[0].addresses[0]"}
    assert "its certificate is " in told["tree.parents[0].addresses[0]"]
    refused = told["tree.children[0].addresses[0]"]
    assert refused.startswith(f"127.0.0.1:{tree.ports['deep']}: cannot connect: ")
    assert "; see that gateway 'deep' runs, that its tree.listener is there, and that" in refused
    assert "protocol" not in refused


async def test_a_parent_that_has_another_gateway_in_this_ones_place(tmp_path: Path) -> None:
    children = [{"name": "old", "mount": "/la", "addresses": ["127.0.0.1:1"]}]
    tree = Tree(tmp_path, root={"children": children})
    async with tree.running("root", "deep"):
        found = await ask_peers(tree.configs["la"])
    (problem,) = found.problems
    assert key_text(problem.key) == "tree.parents[0].addresses[0]"
    assert problem.text.startswith(f"127.0.0.1:{tree.ports['root']}: closed the connection ")
    assert problem.text.endswith("and that it has this gateway ('CN=la') among its peers")
