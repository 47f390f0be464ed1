"""A tree of gateways in one process, which look names up as the gateway does.

A question passes from one node to the next as a call. Connections, TLS and the owners' answers are
left out.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import takewhile
from typing import Final, cast

from gateway.names import DELIMITER
from gateway.referrals.locations import Locations
from gateway.referrals.lookups import Lookups
from gateway.referrals.numbers import Numbers
from gateway.referrals.peer_link import PeerLink
from gateway.referrals.questions import Answer, Hop, Kind, Outcome, Question
from gateway.referrals.routing import Here, Routes

LEVELS: Final = (1, 6, 30, 150, 720, 2_700, 6_393)
"""Mounts by depth, from the topmost one at depth 0 to depth 6: 10,000 in all."""

TOP: Final = "top"
"""The topmost mount. The root has none, so that there are names which nobody has."""

SECONDS: Final = 600.0
"""For a question: more than the simulation takes."""

MAX_HOPS: Final = 16
"""The configuration's default."""

MESSAGES: Final = 2
"""A question and its answer."""


@dataclass(slots=True)
class Traffic:
    """Messages between the gateways of a tree, questions and answers."""

    messages: int = 0


@dataclass(slots=True)
class Link:
    """The way from one gateway to another; ``asker`` is the peer that the other sees."""

    name: str
    asker: str
    node: Node
    traffic: Traffic
    up: bool = True

    async def ask(self, question: Question) -> Answer:
        """The other gateway's answer."""
        self.traffic.messages += MESSAGES
        return await self.node.answer(question, self.asker)


@dataclass(slots=True)
class Node:
    """One gateway with one mount."""

    gateway_id: str
    mount: str
    number: int
    links: dict[str, Link] = field(default_factory=dict)
    parents: list[str] = field(default_factory=list)
    children: list[tuple[str, str]] = field(default_factory=list)
    routes: Routes = field(init=False)
    locations: Locations = field(init=False)
    lookups: Lookups = field(init=False)

    def begin(self) -> None:
        """Read the peers that it has been given."""
        self.routes = Routes([self.mount], self.children, self.parents)
        self.locations = Locations(expiry_seconds=SECONDS, unknown_seconds=SECONDS)
        self.lookups = Lookups(
            self.gateway_id,
            self.routes,
            cast(dict[str, PeerLink], self.links),
            locations=self.locations,
            numbers=Numbers({self.mount: self.number}),
            max_hops=MAX_HOPS,
        )

    async def answer(self, question: Question, came_from: str | None = None) -> Answer:
        """The answer to a peer's question, or to a client's."""
        way = self.routes.of(question.target, came_from)
        if not isinstance(way, Here):
            return await self.lookups.ask(question, came_from=came_from)
        hops = (Hop(self.gateway_id, 0),)
        return Answer(Outcome.ANSWERED, mount=way.mount, number=self.number, hops=hops)

    async def locate(self, path: str) -> Answer:
        """Whose a path is, as a client of this gateway asks."""
        question = Question(Kind.LOCATE, self.mount, path, (), MAX_HOPS, SECONDS, "User:bench")
        return await self.answer(question)


class Tree:
    """Gateways for the mounts of a tree, whose shape is drawn with ``seed``.

    ``each`` gateways have every mount: each of them knows those of the mount above and of the
    mounts below it as peers of their own.
    """

    def __init__(self, levels: Sequence[int] = LEVELS, *, each: int = 1, seed: int = 1) -> None:
        self.traffic = Traffic()
        self._draw = random.Random(seed)
        self._by_mount: dict[str, list[Node]] = {}
        self._add(TOP, each)
        level = [TOP]
        for count in levels[1:]:
            above, level = level, []
            for index in range(count):
                parent = self._draw.choice(above)
                level.append(f"{parent}:t{index}")
                self._add(level[-1], each)
                self._join(parent, level[-1])
        self.mounts = list(self._by_mount)
        for node in self.nodes:
            node.begin()

    @property
    def nodes(self) -> list[Node]:
        """All gateways."""
        return [node for nodes in self._by_mount.values() for node in nodes]

    def draw(self) -> tuple[Node, str]:
        """A gateway, and a mount that is not its own."""
        mount, other = self._draw.sample(self.mounts, 2)
        return self._draw.choice(self._by_mount[mount]), other

    def _add(self, mount: str, each: int) -> None:
        number = len(self._by_mount) + 1
        self._by_mount[mount] = [Node(f"{mount}/{one}", mount, number) for one in range(each)]

    def _join(self, parent: str, child: str) -> None:
        for above in self._by_mount[parent]:
            for below in self._by_mount[child]:
                self._link(above, below)
                self._link(below, above)
                above.children.append((below.gateway_id, child))
                below.parents.append(above.gateway_id)

    def _link(self, asker: Node, asked: Node) -> None:
        name = asked.gateway_id
        asker.links[name] = Link(name, asker.gateway_id, asked, self.traffic)


def distance(mount: str, other: str) -> int:
    """Mounts on the way up from one to what both are below, and down to the other."""
    mine, theirs = mount.split(DELIMITER), other.split(DELIMITER)
    shared = sum(
        1 for _ in takewhile(lambda both: both[0] == both[1], zip(mine, theirs, strict=False))
    )
    return len(mine) + len(theirs) - 2 * shared
