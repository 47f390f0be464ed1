"""The findings of ``kafka-gateway check --peers``, as tables and as JSON."""

from __future__ import annotations

from dataclasses import dataclass, field

from gateway.config.addresses import Address
from gateway.config.errors import Key, Problem
from gateway.config.tree import Child, Peer
from gateway.names import DELIMITER
from gateway.referrals.description import GatewayDescription


@dataclass(frozen=True, slots=True)
class AskedPeer:
    """One address of a peer."""

    entries: tuple[tuple[Key, Peer], ...]
    """The peer's entries in the file, with their keys."""
    address: Address
    key: Key
    """The address's configuration key."""
    seconds: float | None = None
    """How long its response took; None: it did not respond."""
    description: GatewayDescription | None = None

    @property
    def name(self) -> str:
        """The peer's name in the file."""
        return self.entries[0][1].name

    @property
    def role(self) -> str:
        """``parent`` or ``child``."""
        return "child" if isinstance(self.entries[0][1], Child) else "parent"


@dataclass(frozen=True, slots=True)
class FoundMount:
    """A mount of another gateway that is no peer."""

    mount: str
    way: tuple[str, ...]
    """The ids of the gateways that the query has passed, the owner's last."""
    description: GatewayDescription
    """The owner's."""


@dataclass(slots=True)
class PeerFindings:
    """The responses of the peers, and the problems in them."""

    problems: list[Problem] = field(default_factory=list)
    warnings: list[Problem] = field(default_factory=list)
    asked: list[AskedPeer] = field(default_factory=list)
    elsewhere: list[FoundMount] = field(default_factory=list)

    def as_json(self) -> dict[str, object]:
        """The findings for programs, without problems and warnings."""
        return {
            "peers": [
                {
                    "name": one.name,
                    "role": one.role,
                    "address": str(one.address),
                    "responds": one.seconds is not None,
                    "seconds": one.seconds and round(one.seconds, 6),
                    "gateway_id": one.description and one.description.gateway,
                    "mounts": one.description and one.description.numbers,
                }
                for one in self.asked
            ],
            "elsewhere": [
                {
                    "mount": one.mount,
                    "gateway_id": one.description.gateway,
                    "way": list(one.way),
                }
                for one in self.elsewhere
            ],
        }

    def tables(self) -> list[list[tuple[str, ...]]]:
        """The findings for people, each table with its head first."""
        rows: list[tuple[str, ...]] = [("gateway", "role", "address", "gateway id", "ms", "mounts")]
        for one in self.asked:
            seconds = "" if one.seconds is None else f"{one.seconds * 1e3:.1f}"
            mounts = {} if one.description is None else one.description.numbers
            name = "" if one.description is None else one.description.gateway
            paths = " ".join(f"{DELIMITER}{path}" for path in mounts)
            rows.append((one.name, one.role, str(one.address), name, seconds, paths))
        if not self.elsewhere:
            return [rows]
        further = [(f"{DELIMITER}{one.mount}", " > ".join(one.way)) for one in self.elsewhere]
        return [rows, [("mount", "found by way of"), *further]]
