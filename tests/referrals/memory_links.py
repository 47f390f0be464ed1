"""Peers in this process for tests of lookups: they answer, hang, are dead or lie, as told."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from typing import cast

from gateway.counts import Counts
from gateway.referrals.locations import Locations
from gateway.referrals.lookups import Lookups
from gateway.referrals.numbers import Numbers
from gateway.referrals.peer_link import PeerLink, PeerUnreachable
from gateway.referrals.questions import Answer, Hop, Kind, Outcome, Question
from gateway.referrals.routing import Routes
from protocol import messages
from protocol.headers import response_header

MOUNT = "la:tracking"
NUMBER = 7
METADATA = 3
VERSION = 12

OWN = "ny"
CHILD = "ny:shop"
PARENTS = ("left", "right")
EXPIRY = 30.0
UNKNOWN = 5.0

Behaviour = Callable[[Question], Answer]


def request(correlation_id: int = 1, api_key: int = METADATA) -> bytes:
    """A Kafka request, of which only the head is read here."""
    head = (api_key << 48 | VERSION << 32 | correlation_id).to_bytes(8, "big")
    return head + b"\x00\x01c\x00" + b"body"


def metadata(correlation_id: int = 1, number: int = NUMBER) -> bytes:
    """A Metadata response with a broker."""
    values = {"brokers": [{"node_id": number << 16 | 1, "host": "h", "port": 1}]}
    body = messages.made("MetadataResponse", VERSION, {**values, "controller_id": -1})
    return response_header(correlation_id, 1) + body


def question(
    target: str = MOUNT, kind: Kind = Kind.LOCATE, *, correlation_id: int = 1, seconds: float = 1.0
) -> Question:
    """A question of a client of this gateway."""
    payload = request(correlation_id) if kind is Kind.REQUEST else b""
    return Question(
        kind, OWN, target, (), 16, seconds, "User:alice", host="192.0.2.7", request=payload
    )


def answer_to(
    asked: Question, *, mount: str = "", number: int = NUMBER, response: bytes | None = None
) -> Answer:
    """The owner's answer."""
    if response is None:
        correlation_id = int.from_bytes(asked.request[4:8], "big")
        response = metadata(correlation_id) if asked.kind is Kind.REQUEST else b""
    hops = (Hop("owner", 5),)
    mount = mount or asked.target
    return Answer(Outcome.ANSWERED, mount=mount, number=number, hops=hops, response=response)


def fails(outcome: Outcome, text: str = "") -> Behaviour:
    """Answers with another outcome than ANSWERED."""
    return lambda _: Answer(outcome, text)


def dead(asked: Question) -> Answer:
    """Cannot be connected to."""
    raise PeerUnreachable("It does not respond.")


def lost(asked: Question) -> Answer:
    """Loses the connection with the question."""
    raise PeerUnreachable("It does not respond.", sent=True)


class MemoryLink:
    """A link whose peer behaves by ``behaviour``, or hangs if it is None. If ``holds`` is set, it
    answers after ``release``."""

    def __init__(self, name: str, behaviour: Behaviour | None = answer_to) -> None:
        self.name = name
        self.up = True
        self.behaviour = behaviour
        self.holds = False
        self.release = asyncio.Event()
        self.asked: list[Question] = []
        self.cancelled = 0

    async def ask(self, question: Question) -> Answer:
        self.asked.append(question)
        try:
            if self.behaviour is None:
                await asyncio.Event().wait()
            elif self.holds:
                await self.release.wait()
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        assert self.behaviour is not None
        return self.behaviour(question)


class Gateway:
    """The lookups of a gateway with an own mount, a child below it, and two parents, whose clock is
    the event loop's."""

    def __init__(self, parents: Iterable[str] = PARENTS, gateway_id: str = "me") -> None:
        self.left, self.right = MemoryLink("left"), MemoryLink("right")
        self.child = MemoryLink("child")
        links = {link.name: cast(PeerLink, link) for link in (self.left, self.right, self.child)}
        self.routes = Routes([OWN], [("child", CHILD)], parents)
        self.counts = Counts()
        self.numbers = Numbers({OWN: 1})
        self.locations = Locations(
            expiry_seconds=EXPIRY,
            unknown_seconds=UNKNOWN,
            clock=lambda: asyncio.get_running_loop().time(),
            limit=100,
        )
        self.lookups = Lookups(
            gateway_id,
            self.routes,
            links,
            locations=self.locations,
            numbers=self.numbers,
            max_hops=16,
            counts=self.counts,
        )

    @property
    def asked(self) -> tuple[int, int]:
        """How often the parents were asked."""
        return len(self.left.asked), len(self.right.asked)

    def counted(self) -> dict[tuple[str | int, ...], int | list[int]]:
        """The counts since the last call, by (peer, outcome)."""
        rows = list(self.counts.take())
        assert {family for family, *_ in rows} <= {"tree_lookups"}
        return {labels: count for _, labels, count in rows}
