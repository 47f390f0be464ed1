"""Questions that gateways of a tree ask each other, and their answers.

A question is about a path of the tree: it asks for the path's owner, or it holds a Kafka request
for the volume that holds the path. It passes from gateway to gateway until it reaches the gateway
with the mount, its owner. Pure; :mod:`gateway.referrals.envelope` has the bytes.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import IntEnum
from typing import Final

MAX_HOPS: Final = 64
"""The most gateways that a question may pass, whatever the question says itself."""

MAX_TEXT: Final = 1_000
"""Characters of a sentence in an answer; a longer sentence is cut."""


class Kind(IntEnum):
    """The subject of a question: the response to a Kafka request, the owner of a path, or the
    owner's knowledge of the tree (JSON)."""

    REQUEST = 0
    LOCATE = 1
    DESCRIBE = 2


class Outcome(IntEnum):
    """The outcome of a question.

    ``ANSWERED``: the owner answered. ``NO_SUCH_MOUNT``: no cluster is mounted at the path or above.
    ``DENIED``: a gateway does not let its peer speak for the principal. ``UNREACHABLE``: a gateway
    on the way, or the owner's cluster, does not respond in time. ``REJECTED``: the question itself
    is at fault (a loop, too many hops, no listener for the asker's volume); the text is the reason.
    """

    ANSWERED = 0
    NO_SUCH_MOUNT = 1
    DENIED = 2
    UNREACHABLE = 3
    REJECTED = 4


@dataclass(frozen=True, slots=True)
class Question:
    """A question, as one gateway sends it to the next.

    ``volume`` is the mount of the relative names of the asker's client, ``target`` the path of the
    lookup (``la:tracking``). ``path`` has the ids of the gateways that the question has passed, the
    asker's first; ``hops`` is the number of gateways that it may still pass. ``seconds`` are left
    for the answer. ``principal`` and ``host`` (an IP address, or empty) are the client's.
    ``request`` is Kafka's request without its size: header and body, in the client's names.
    """

    kind: Kind
    volume: str
    target: str
    path: tuple[str, ...]
    hops: int
    seconds: float
    principal: str
    host: str = ""
    request: bytes = b""

    def passed_on(self, gateway_id: str, seconds: float, principal: str) -> Question:
        """The question as the gateway with this id sends it to the next gateway."""
        return replace(
            self,
            path=(*self.path, gateway_id),
            hops=self.hops - 1,
            seconds=seconds,
            principal=principal,
        )


@dataclass(frozen=True, slots=True)
class Hop:
    """A gateway that a question has reached: its id, and the microseconds from the question's
    arrival to the answer's. ``cached``: the gateway knew the route, and asked only along it."""

    gateway_id: str
    micros: int
    cached: bool = False


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer to a question. ``text`` is a sentence for the client; empty without an error.

    ``mount`` and ``number`` belong to the owner's volume; ``hops`` are the gateways that the
    question has passed, the nearest first. ``response`` is Kafka's response without its size:
    header and body; for DESCRIBE a JSON text.
    """

    outcome: Outcome
    text: str = ""
    mount: str = ""
    number: int = 0
    hops: tuple[Hop, ...] = ()
    response: bytes = b""

    def by_way_of(self, hop: Hop) -> Answer:
        """The answer as a gateway on the way passes it back."""
        return replace(self, hops=(hop, *self.hops))
