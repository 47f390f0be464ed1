"""What is decided about a ConsumerGroupHeartbeat (KIP-848), and what is kept until its response."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Final

from gateway.rules.group_members import Member, MemberKey


@dataclass(frozen=True, slots=True)
class KnownNames:
    """A listing that stays as it is."""

    names: Sequence[str] = ()
    version: int = 0


NO_NAMES: Final = KnownNames()


@dataclass(frozen=True, slots=True)
class Sent:
    """The subscription in a forwarded heartbeat, until the broker has accepted it.

    ``names`` is None if the gateway put no names in. ``new`` is a member that joins, or was not
    known here: a client can invent those, so one is kept only once the broker has accepted it.
    """

    member: MemberKey
    names: tuple[str, ...] | None
    names_version: int
    new: Member | None = None
    reached: Mapping[bytes, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Forward:
    """Send ``body``; hand ``sent``, if there is one, to ``on_response`` with the response.
    ``subscribes``: the member that ``body`` subscribes to its names."""

    body: bytes
    sent: Sent | None
    subscribes: Member | None = None


@dataclass(frozen=True, slots=True)
class Unheard:
    """This connection has not heard of the member: say what its broker has of it, by ``recalled``,
    and then decide again."""

    member: MemberKey


class Unknown(Enum):
    """What is done with a member that could not be recalled: its broker says what is wrong with a
    heartbeat that subscribes to nothing new, or the member joins again."""

    FORWARD = "forward"
    FENCE = "fence"
