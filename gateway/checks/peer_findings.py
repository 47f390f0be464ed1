"""What ``kafka-gateway check --peers`` has found out: as tables, and as JSON."""

from __future__ import annotations

from dataclasses import dataclass, field

from gateway.config.addresses import Address
from gateway.config.errors import Key, Problem
from gateway.config.tree import Child, Peer
from gateway.names import DELIMITER
from gateway.referrals.description import GatewayDescription


@dataclass(frozen=True, slots=True)
class AskedPeer:
    """One address of a peer. ``entries`` are those of the peer in the file, with their keys;
    ``seconds`` is how long its answer took, or None if there was none. ``key`` is the address's."""

    entries: tuple[tuple[Key, Peer], ...]
    address: Address
    key: Key
    seconds: float | None = None
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
    """A mount of another gateway that no peer has itself: who has it, and the ids of the gateways
    that the question has passed, the owner's last."""

    mount: str
    way: tuple[str, ...]
    description: GatewayDescription


@dataclass(slots=True)
class PeerFindings:
    """What the peers said, and what is wrong with it."""

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
