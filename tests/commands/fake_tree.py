"""Gateways of a tree in memory, for the operators' tools: routes and lookups are the real ones."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import cast

import pytest

from gateway.commands import asking
from gateway.config.tree import Peer, TreeSettings
from gateway.referrals.description import (
    DescribedListener,
    DescribedMount,
    DescribedPeer,
    GatewayDescription,
)
from gateway.referrals.locations import Locations
from gateway.referrals.lookups import Lookups
from gateway.referrals.numbers import Numbers
from gateway.referrals.peer_link import PeerLink, PeerUnreachable
from gateway.referrals.questions import Answer, Hop, Kind, Outcome, Question
from gateway.referrals.routing import Here, Routes


@dataclass
class FakeGateway:
    """A gateway: its mounts with their numbers, its neighbours, and the mounts that its listener
    reaches. If a test says so, it is down, or hangs, or describes itself otherwise."""

    gateway_id: str
    mounts: Mapping[str, int]
    parents: Sequence[str] = ()
    children: Mapping[str, str] = field(default_factory=dict)
    reach: tuple[str, ...] = ()
    cluster: str = ""
    down: bool = False
    hangs: bool = False
    says: bytes | None = None
    asked: list[Question] = field(default_factory=list)
    lookups: Lookups | None = None

    @property
    def routes(self) -> Routes:
        """The routes that a configuration of this gateway would have."""
        return Routes(self.mounts, self.children.items(), self.parents)

    def description(self) -> bytes:
        """Its description of itself."""
        if self.says is not None:
            return self.says
        first = next(iter(self.mounts))
        return GatewayDescription(
            self.gateway_id,
            tuple(
                DescribedMount(path, number, self.cluster or f"c{number}")
                for path, number in self.mounts.items()
            ),
            tuple(DescribedPeer(name, f"CN={name}") for name in self.parents),
            tuple(DescribedPeer(name, f"CN={name}", path) for name, path in self.children.items()),
            (DescribedListener("all", first, (first, *self.reach), "colon", "PLAINTEXT"),),
        ).to_json()

    async def answer(self, question: Question, came_from: str) -> Answer:
        """The answer to a question of a gateway, as a running gateway answers it."""
        self.asked.append(question)
        if self.hangs:
            await asyncio.Event().wait()
        way = self.routes.of(question.target, came_from)
        mount = way.mount if isinstance(way, Here) else next(iter(self.mounts))
        describes_itself = question.kind is Kind.DESCRIBE and not question.hops
        if not isinstance(way, Here) and not describes_itself:
            assert self.lookups is not None
            return await self.lookups.ask(question, came_from=came_from)
        response = self.description() if question.kind is Kind.DESCRIBE else b""
        answer = Answer(Outcome.ANSWERED, "", mount, self.mounts[mount], response=response)
        return answer.by_way_of(Hop(self.gateway_id, 5))


@dataclass
class FakeLink:
    """The link from one gateway to another."""

    name: str
    asker: str
    gateway: FakeGateway
    closed: bool = False

    @property
    def link(self) -> PeerLink:
        """This, for those that ask over it."""
        return cast(PeerLink, self)

    @property
    def up(self) -> bool:
        return not self.gateway.down

    async def ask(self, question: Question) -> Answer:
        if self.gateway.down:
            text = f"Gateway '{self.name}' does not respond; try again later."
            raise PeerUnreachable(text, reason="127.0.0.1:9: refused")
        return await self.gateway.answer(question, self.asker)

    def close(self) -> None:
        self.closed = True


class FakeTree:
    """Gateways by their ids, which are also the names of peers. ``asker`` is the gateway of the
    command's configuration."""

    def __init__(self, *gateways: FakeGateway, asker: str = "gw") -> None:
        self._asker = asker
        self.gateways = {each.gateway_id: each for each in gateways}
        self.links: list[FakeLink] = []
        for each in gateways:
            names = [*each.parents, *each.children]
            each.lookups = Lookups(
                each.gateway_id,
                each.routes,
                {
                    name: FakeLink(name, each.gateway_id, self.gateways[name]).link
                    for name in names
                    if name in self.gateways
                },
                locations=Locations(expiry_seconds=30, unknown_seconds=5),
                numbers=Numbers(each.mounts),
                max_hops=16,
            )

    def __getitem__(self, name: str) -> FakeGateway:
        return self.gateways[name]

    def link(self, peer: Peer, _: TreeSettings) -> PeerLink:
        """A link of the gateway whose command asks."""
        self.links.append(FakeLink(peer.name, self._asker, self.gateways[peer.name]))
        return self.links[-1].link

    def take_place(self, monkeypatch: pytest.MonkeyPatch) -> FakeTree:
        """Stand in for the gateways that a command asks."""
        monkeypatch.setattr(asking, "peer_link", self.link)
        return self

    @property
    def targets(self) -> list[tuple[str, str]]:
        """The questions that the command has asked: to whom, and for which path."""
        return [
            (name, question.target)
            for name, gateway in self.gateways.items()
            for question in gateway.asked
            if question.path in ((), (self._asker,))
        ]


def around() -> FakeTree:
    """The gateways around the gateway ``gw`` of ``config_samples.peer_values``: its parent ``root``
    has ny, whose own parent ``top`` has the root of the tree, where ``sf`` is as well; its child
    ``deep`` has a child, too."""
    return FakeTree(
        FakeGateway("top", {"": 3}, children={"root": "ny", "gw": "la:tracking", "sf": "sf"}),
        FakeGateway("root", {"ny": 4}, ["top"], {"gw": "ny:tracking"}),
        FakeGateway("sf", {"sf": 5, "sf:b": 6}, ["top"]),
        FakeGateway("deep", {"la:tracking:deep": 7}, ["gw"], {"er": "la:tracking:deep:er"}),
        FakeGateway("er", {"la:tracking:deep:er": 8}, ["deep"]),
        FakeGateway("gw", {"la:tracking": 1, "ny:tracking": 2}, ["root"]),
    )
