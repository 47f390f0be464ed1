"""The decisions about a ConsumerGroupHeartbeat (KIP-848), and the state kept until its response."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

from gateway.rules.group_members import Member, MemberKey


@dataclass(frozen=True, slots=True)
class Sent:
    """The subscription in a forwarded heartbeat, until the broker has accepted it."""

    member: MemberKey

    names: tuple[str, ...] | None
    """The names that the gateway put into the heartbeat; None: the client's own."""

    names_version: int

    new: Member | None = None
    """A member that joins or was not known here. It is kept only after the broker has accepted it,
    because a client can invent members."""

    reached: Mapping[bytes, str] = field(default_factory=dict)

    reached_bytes: int | None = None
    """The bytes of ``reached``; None: not known yet."""


@dataclass(frozen=True, slots=True)
class Forward:
    """Forward the heartbeat."""

    body: bytes
    """The body to forward."""

    sent: Sent | None
    """The subscription to give to ``on_response`` with the response, if there is one."""

    subscribes: Member | None = None
    """The member that ``body`` subscribes to its names."""


@dataclass(frozen=True, slots=True)
class Unheard:
    """This connection has not heard of the member: the caller looks the member up at its broker,
    passes the result to ``recalled`` and decides the heartbeat again. A static member that joins
    has another member id than before, so it is looked up by its ``instance_id``, too."""

    member: MemberKey
    instance_id: str | None = None


class Unknown(Enum):
    """The decision for a member that could not be recalled: forward a heartbeat that subscribes to
    nothing new, so that the broker returns the error, or fence the member, so that it rejoins."""

    FORWARD = "forward"
    FENCE = "fence"
