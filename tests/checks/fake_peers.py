"""Peers of a gateway `la`, between a root and a child at la:deep, that respond as a test wants."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, cast

import yaml

from gateway.checks.peer_findings import PeerFindings
from gateway.checks.peers import ask_peers
from gateway.config.addresses import Address
from gateway.config.errors import Problem, key_text
from gateway.config.models import Config
from gateway.config.tree import Peer, TreeSettings
from gateway.config_file.loading import load_config
from gateway.referrals.description import (
    DescribedListener,
    DescribedMount,
    DescribedPeer,
    GatewayDescription,
)
from gateway.referrals.peer_link import PeerLink, PeerUnreachable
from gateway.referrals.questions import Answer, Hop, Kind, Outcome, Question
from tests.config import config_samples

ROOT, LA, DEEP = "", "la", "la:deep"
ALL = (ROOT, LA, DEEP)
ADDRESSES = {"root": "127.0.0.1:9500", "deep": "127.0.0.1:9501"}


def listeners(*volumes: str) -> tuple[DescribedListener, ...]:
    return tuple(
        DescribedListener(f"of-{volume}", volume, ALL, "slash", "PLAINTEXT") for volume in volumes
    )


DESCRIPTIONS = {
    "root": GatewayDescription(
        "root",
        (DescribedMount(ROOT, 1),),
        children=(DescribedPeer("la", "CN=gw", LA),),
        listeners=listeners(*ALL),
    ),
    "deep": GatewayDescription(
        "deep",
        (DescribedMount(DEEP, 3),),
        parents=(DescribedPeer("la", "CN=gw"),),
        listeners=listeners(*ALL),
    ),
}
"""Descriptions of the peers of :func:`config`, in agreement with it."""


def values(directory: Path, **tree: Any) -> dict[str, Any]:
    """The configuration of the gateway of `la`, between a root and a child at la:deep."""
    made = config_samples.peer_values(
        directory,
        **{
            "parents": [{"name": "root", "addresses": [ADDRESSES["root"]]}],
            "children": [{"name": "deep", "mount": DEEP, "addresses": [ADDRESSES["deep"]]}],
            **tree,
        },
    )
    cluster = made["clusters"][0] | {"mount": LA, "number": 2}
    made |= {"clusters": [cluster], "gateway_id": "la", "listeners": []}
    for place, volume in enumerate(ALL):
        one = {"name": f"of-{place}", "port": 9_200 + 10 * place}
        made["listeners"].append(one | {"spelling": "slash", "volume": volume, "reach": [*ALL]})
    return made


def written(directory: Path, made: dict[str, Any]) -> Path:
    path = directory / "gateway.yaml"
    path.write_text(yaml.safe_dump(made))
    return path


def config(directory: Path, **tree: Any) -> Config:
    return load_config(written(directory, values(directory, **tree)))


Says = GatewayDescription | Answer | PeerUnreachable


@dataclass
class Fakes:
    """Links to gateways by their names. They have the gateways' descriptions of themselves, and the
    gateways of the mounts that are looked up; other mounts are at no gateway."""

    says: dict[str, Says] = field(default_factory=lambda: dict(DESCRIPTIONS))
    found: dict[str, Answer] = field(default_factory=dict)
    asked: list[tuple[str, tuple[Address, ...], Question]] = field(default_factory=list)
    open: int = 0

    def link(self, peer: Peer, _: TreeSettings) -> PeerLink:
        self.open += 1
        return cast(PeerLink, FakeLink(self, peer))


@dataclass
class FakeLink:
    fakes: Fakes
    peer: Peer
    up: bool = True

    @property
    def name(self) -> str:
        return self.peer.name

    async def ask(self, question: Question) -> Answer:
        assert question.kind is Kind.DESCRIBE
        self.fakes.asked.append((self.name, self.peer.addresses, question))
        says = self.fakes.says[self.name]
        if isinstance(says, PeerUnreachable):
            raise says
        if question.hops:
            nowhere = Answer(Outcome.NO_SUCH_MOUNT, "No cluster is mounted there.")
            return self.fakes.found.get(question.target, nowhere)
        return says if isinstance(says, Answer) else described(says)

    def close(self) -> None:
        self.fakes.open -= 1


def described(description: GatewayDescription, mount: str = "", number: int = 1) -> Answer:
    data = description.to_json()
    hop = Hop(description.gateway, 10)
    return Answer(Outcome.ANSWERED, mount=mount, number=number, hops=(hop,), response=data)


def shown(problems: Iterable[Problem]) -> list[str]:
    return [f"{key_text(problem.key)}: {problem.text}" for problem in problems]


async def found(made: Config, **says: Says) -> PeerFindings:
    fakes = Fakes(says={**DESCRIPTIONS, **says})
    result = await ask_peers(made, fakes.link)
    assert fakes.open == 0
    return result


def root(**changes: Any) -> GatewayDescription:
    return replace(DESCRIPTIONS["root"], **changes)


def deep(**changes: Any) -> GatewayDescription:
    return replace(DESCRIPTIONS["deep"], **changes)
