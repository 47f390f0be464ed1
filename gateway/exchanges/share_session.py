"""The share sessions of a connection (KIP-932)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, TypeAlias

from gateway.decision import Denied

SHARE_SESSIONS_PER_CONNECTION: Final = 16
"""Java's consumer has one share session per broker connection; a client that opens more loses the
oldest."""

ShareSessionKey: TypeAlias = tuple[bytes, str]
"""The broker's group id and the member id, by which brokers tell share sessions apart."""


@dataclass(slots=True)
class ShareSession:
    """A share session that a broker keeps for a member of a share group and this connection.

    A broker remembers the partitions of a session, and answers a partition that the member may not
    read with an error in every response. Here it is given only the partitions that the member may
    read, and the gateway adds the errors of the others, until the member may read them.
    """

    partitions: dict[bytes, set[int]] = field(default_factory=dict)
    """Every topic of the session, by the client's topic id -> its partitions."""

    forwarded: dict[bytes, bytes] = field(default_factory=dict)
    """The topics that the broker has in the session: the client's topic id -> the broker's."""

    clients: dict[bytes, bytes] = field(default_factory=dict)
    """The same, by the broker's topic id."""

    denied: dict[bytes, Denied] = field(default_factory=dict)
    """The other topics, by the client's topic id."""

    stale: bool = False
    """Whether the catalog has changed since the topics were decided."""

    @property
    def size(self) -> int:
        """The number of its partitions."""
        return sum(map(len, self.partitions.values()))
