"""Decisions about a fleet: the gateways of one cluster that list each other among the brokers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from gateway.catalog.entities import NO_CONFIGS, Change, Member, Removal
from gateway.catalog.members import FormatRejected, at_least, who_cannot_read
from gateway.catalog.schema.table import MEMBER_FORMAT
from gateway.catalog.snapshot import Snapshot
from gateway.catalog.source import Decide
from gateway.config.models import Cluster, Config
from gateway.config.reach import broker_addresses, gateway_addresses
from gateway.node_ids import MAX_GATEWAYS


class FleetFull(FormatRejected):
    """The fleet has as many members as it can have; the text says how to make room."""


@dataclass(frozen=True, slots=True)
class Membership:
    """How a gateway is listed: at ``addresses`` (``host:port`` by listener), or not at all without
    addresses. ``brokers`` and ``node_ids`` as in :class:`gateway.catalog.entities.Member`."""

    gateway_id: str
    addresses: Mapping[str, str]
    brokers: Mapping[str, str] = field(default_factory=lambda: NO_CONFIGS)
    node_ids: tuple[str, ...] = ()

    def holds(self, snapshot: Snapshot) -> bool:
        """Whether the catalog lists the gateway this way already."""
        member = snapshot.members.get(self.gateway_id)
        if member is None or not self.addresses:
            return member is None and not self.addresses
        return member == self._member(member.number)

    def is_possible(self, snapshot: Snapshot) -> bool:
        """Whether every registered gateway can read a catalog with members."""
        return snapshot.format >= MEMBER_FORMAT or not who_cannot_read(snapshot, MEMBER_FORMAT)

    @property
    def decisions(self) -> tuple[Decide, ...]:
        """The decisions that list the gateway this way, in order; repeated, they write nothing.

        The first raises the catalog's format to the level that members need; it raises
        FormatRejected, naming the gateways that cannot read it. The second gives the gateway, for
        good, a number that no member has; it raises FleetFull.
        """
        return (at_least(MEMBER_FORMAT), self._join) if self.addresses else (self._leave,)

    def _join(self, snapshot: Snapshot) -> Sequence[Change]:
        if self.holds(snapshot):
            return []
        known = snapshot.members.get(self.gateway_id)
        number = _next_number(snapshot) if known is None else known.number
        return [self._member(number)]

    def _member(self, number: int) -> Member:
        addresses, brokers = dict(self.addresses), dict(self.brokers)
        return Member(self.gateway_id, number, addresses, brokers, self.node_ids)

    def _leave(self, snapshot: Snapshot) -> Sequence[Change]:
        return [] if self.holds(snapshot) else [Removal(("member", self.gateway_id))]


def membership_of(config: Config, cluster: Cluster) -> Membership:
    """The membership of a configuration's gateway in the catalog of one of its clusters."""
    return Membership(
        config.gateway_id,
        gateway_addresses(config),
        broker_addresses(config, cluster),
        cluster.node_ids,
    )


def peers_of(snapshot: Snapshot, gateway_id: str) -> list[Member]:
    """The other members to which clients of a gateway can go on, beginning with the next higher
    number, so that gateways which end one after the other do not all lead to the same member."""
    own = snapshot.members.get(gateway_id)
    if own is None:
        return []
    others = [one for one in snapshot.members.values() if one is not own and one.brokers]
    return sorted(others, key=lambda one: (one.number < own.number, one.number))


def _next_number(snapshot: Snapshot) -> int:
    """A number that no member has: above all others as long as such numbers are left, because
    clients remember a node id for some minutes after it is gone."""
    taken = {member.number for member in snapshot.members.values()}
    highest = max(taken, default=0)
    if highest < MAX_GATEWAYS:
        return highest + 1
    free = next((one for one in range(1, MAX_GATEWAYS + 1) if one not in taken), None)
    if free is None:
        raise FleetFull(
            f"the fleet has {MAX_GATEWAYS:,} members, which is the most; forget those that are"
            " gone: kafka-gateway catalog forget --gateway ID"
        )
    return free
