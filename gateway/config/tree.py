"""The configuration's models for a tree of several gateways: parents, children, and how they meet.

A gateway knows its own mounts, its direct parents and its children, and nothing more
(hierarchical-topics proposal, Notes).
"""

# No `from __future__ import annotations`: pydantic reads the annotations at run time.

from typing import Annotated, Literal, Self

from pydantic import Field, field_validator, model_validator

from gateway.config.security import ClientTls, ClusterSecurity, ListenerTls, Principal, StrictModel
from gateway.config.values import BootstrapServer, Directory, Host, Mount, Name, Port
from gateway.mounts import MAX_NUMBER

ALL: Literal["all"] = "all"
"""In place of a mapping of principals: all are believed, as what they are at the peer."""


class Peer(StrictModel):
    """Another gateway of the tree, or several that stand in for each other.

    ``addresses`` are those of its peer listener. ``certificate`` is the subject of its certificate,
    as Kafka writes distinguished names; None: ``CN=`` and its name. ``principals`` maps the
    principals that it may speak for to those that they are here; it may speak for no other one.
    """

    name: Name
    addresses: Annotated[tuple[BootstrapServer, ...], Field(min_length=1)]
    certificate: Annotated[str, Field(min_length=1)] | None = None
    principals: dict[Principal, Principal] | Literal["all"] = Field(default_factory=dict)

    @property
    def subject(self) -> str:
        """The subject of its certificate."""
        return f"CN={self.name}" if self.certificate is None else self.certificate


class Child(Peer):
    """A gateway below one of this one's mounts. ``mount`` is where its cluster is in the tree."""

    mount: Mount


class PeerListener(StrictModel):
    """The port where other gateways of the tree ask this one; no client may use it."""

    bind: Host = "127.0.0.1"
    port: Port


class TreeSettings(StrictModel):
    """This gateway's place among the gateways of a tree.

    ``tls`` is for both directions: its certificate names the gateway to its peers, its ``ca`` is
    that of theirs. ``listener`` is where they ask; without one nobody does. ``directory`` keeps
    what was last known of clusters behind other gateways over a restart.
    ``expiry_seconds``: how long it is remembered who has a mount, ``unknown_seconds``: how long
    that nobody has it. ``max_hops``: gateways that a question may pass. ``numbers`` are those of
    mounts of other gateways: the word of no gateway counts for them, nor for these numbers.
    """

    tls: ClientTls
    listener: PeerListener | None = None
    parents: tuple[Peer, ...] = ()
    children: tuple[Child, ...] = ()
    numbers: dict[Mount, Annotated[int, Field(ge=1, le=MAX_NUMBER)]] = Field(default_factory=dict)
    directory: Directory | None = None
    expiry_seconds: Annotated[float, Field(ge=0.1, le=3_600)] = 30.0
    unknown_seconds: Annotated[float, Field(ge=0.1, le=3_600)] = 5.0
    max_hops: Annotated[int, Field(ge=1, le=64)] = 16

    @model_validator(mode="after")
    def _both_ways(self) -> Self:
        for key in ("certificate", "key", "ca"):
            if getattr(self.tls, key) is None:
                raise ValueError(f"tls lacks {key}: peers know each other by certificates; give it")
        return self

    @field_validator("numbers")
    @classmethod
    def _each_once(cls, numbers: dict[str, int]) -> dict[str, int]:
        for number in numbers.values():
            same = [mount for mount, each in numbers.items() if each == number]
            if len(same) > 1:
                raise ValueError(
                    f"{number} is the number of {' and '.join(same)}; give each its own"
                )
        return numbers

    @property
    def peers(self) -> tuple[Peer, ...]:
        """Parents and children."""
        return (*self.parents, *self.children)

    @property
    def security(self) -> ClusterSecurity:
        """How peers are connected to."""
        return ClusterSecurity(protocol="SSL", tls=self.tls)

    @property
    def listener_tls(self) -> ListenerTls:
        """How peers are let in."""
        tls = self.tls
        assert tls.certificate is not None and tls.key is not None
        return ListenerTls(
            certificate=tls.certificate,
            key=tls.key,
            key_password=tls.key_password,
            client_auth="required",
            client_ca=tls.ca,
        )
