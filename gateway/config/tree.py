"""The configuration's models for a tree of several gateways: parents, children, connections.

A gateway knows its own mounts, its direct parents and its children, and no other gateways
(hierarchical-topics proposal, Notes).
"""

# No `from __future__ import annotations`: pydantic reads the annotations at run time.

from typing import Annotated, Literal, Self

from pydantic import Field, field_validator, model_validator

from gateway.config.security import ClientTls, ClusterSecurity, ListenerTls, Principal, StrictModel
from gateway.config.values import BootstrapServer, Directory, Host, Mount, Name, Port
from gateway.mounts import MAX_NUMBER

ALL: Literal["all"] = "all"
"""In place of a mapping of principals: the peer may speak for all principals, under their own
names."""


class Peer(StrictModel):
    """Another gateway of the tree, or several that stand in for each other."""

    name: Name
    # Of the peer's own peer listener.
    addresses: Annotated[tuple[BootstrapServer, ...], Field(min_length=1)]
    # The subject of its certificate, as Kafka writes distinguished names. If unset, ``CN=`` and its
    # name.
    certificate: Annotated[str, Field(min_length=1)] | None = None
    # Maps the principals that it may speak for to principals here; it may not speak for others.
    principals: dict[Principal, Principal] | Literal["all"] = Field(default_factory=dict)

    @property
    def subject(self) -> str:
        """The subject of the peer's certificate."""
        return f"CN={self.name}" if self.certificate is None else self.certificate


class Child(Peer):
    """A gateway below a mount of this gateway. ``mount`` is the path of its cluster in the tree."""

    mount: Mount


class PeerListener(StrictModel):
    """The port to which other gateways of the tree send questions; no client may use it."""

    bind: Host = "127.0.0.1"
    port: Port


class TreeSettings(StrictModel):
    """This gateway's place among the gateways of a tree."""

    # For both directions: the certificate names this gateway to its peers, and ``ca`` signs theirs.
    tls: ClientTls
    # Where peers send questions. If unset, peers cannot.
    listener: PeerListener | None = None
    parents: tuple[Peer, ...] = ()
    children: tuple[Child, ...] = ()
    # The numbers of other gateways' mounts. Answers of gateways do not count for these mounts, nor
    # for these numbers.
    numbers: dict[Mount, Annotated[int, Field(ge=1, le=MAX_NUMBER)]] = Field(default_factory=dict)
    # Keeps the last known state of clusters behind other gateways over a restart.
    directory: Directory | None = None
    # Seconds for which the owner of a mount is remembered.
    expiry_seconds: Annotated[float, Field(ge=0.1, le=3_600)] = 30.0
    # Seconds for which it is remembered that a mount has no owner.
    unknown_seconds: Annotated[float, Field(ge=0.1, le=3_600)] = 5.0
    # Gateways that a question may pass.
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
        """The security of connections to peers."""
        return ClusterSecurity(protocol="SSL", tls=self.tls)

    @property
    def listener_tls(self) -> ListenerTls:
        """The TLS with which peers are accepted."""
        tls = self.tls
        assert tls.certificate is not None and tls.key is not None
        return ListenerTls(
            certificate=tls.certificate,
            key=tls.key,
            key_password=tls.key_password,
            client_auth="required",
            client_ca=tls.ca,
        )
