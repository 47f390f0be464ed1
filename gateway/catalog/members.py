"""Decisions about the catalog itself: the gateways that take part, its format, its signatures."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from gateway.catalog.entities import (
    CatalogFormat,
    Change,
    Gateway,
    Namespace,
    Removal,
    Seeds,
    Signing,
    Volume,
    Worker,
    key_of,
)
from gateway.catalog.log.records import FORMAT
from gateway.catalog.snapshot import Snapshot
from gateway.catalog.source import Decide
from gateway.names import check_namespace, parents


class FormatRejected(Exception):
    """The catalog cannot be kept in that format; the text says why."""


class NumberRejected(FormatRejected):
    """The cluster has another number in the tree; the text gives the number and the next step."""


def register(gateway_id: str, software: str, reads: int = FORMAT) -> Decide:
    """Let this gateway take part, as a reader of formats up to ``reads``; repeated, it writes
    nothing.

    Raises FormatRejected if the catalog is kept in a newer format.
    """
    gateway = Gateway(gateway_id, reads, software)

    def decide(snapshot: Snapshot) -> Sequence[Change]:
        if snapshot.format > reads:
            raise FormatRejected(
                f"the catalog has format {snapshot.format} and this gateway reads formats up to"
                f" {reads}: upgrade this gateway"
            )
        return [] if snapshot.gateways.get(gateway_id) == gateway else [gateway]

    return decide


def forget(gateway_id: str) -> Decide:
    """Remove a gateway, its workers and its membership of the fleet, so that no change has to wait
    for its upgrade or its workers."""

    def decide(snapshot: Snapshot) -> Sequence[Change]:
        known = {"gateway": snapshot.gateways, "member": snapshot.members}
        workers = snapshot.of_kind(Worker.KIND).values()
        return [
            *(Removal((kind, gateway_id)) for kind, ids in known.items() if gateway_id in ids),
            *(Removal(key_of(one)) for one in workers if one.gateway_id == gateway_id),
        ]

    return decide


def raise_format(level: int) -> Decide:
    """Keep the catalog in format ``level`` from now on; writes nothing if it is already.

    Raises FormatRejected, naming the gateways that cannot read it. There is no way back.
    """

    def decide(snapshot: Snapshot) -> Sequence[Change]:
        if level > FORMAT:
            raise FormatRejected(f"this gateway reads formats up to {FORMAT}, not {level}")
        if level < snapshot.format:
            raise FormatRejected(f"the catalog has format {snapshot.format}, which stays")
        older = sorted(
            f"'{gateway.gateway_id}' ({gateway.software}, format {gateway.format})"
            for gateway in who_cannot_read(snapshot, level)
        )
        if older:
            raise FormatRejected(
                f"the catalog cannot have format {level} while there are gateways that cannot"
                f" read it: {', '.join(older)}; upgrade them, or forget those that are gone"
            )
        return [] if level == snapshot.format else [CatalogFormat(level)]

    return decide


def who_cannot_read(snapshot: Snapshot, level: int) -> list[Gateway]:
    """The registered gateways that cannot read a catalog of this format."""
    return [gateway for gateway in snapshot.gateways.values() if gateway.format < level]


def raise_to(level: int) -> Decide:
    """Carry out an operator's :func:`raise_format`; writes nothing if the catalog has a newer
    format."""

    def decide(snapshot: Snapshot) -> Sequence[Change]:
        return [] if snapshot.format > level else raise_format(level)(snapshot)

    return decide


def at_least(level: int) -> Decide:
    """Keep the catalog in format ``level`` or a newer format; writes nothing if it is. Raises
    FormatRejected, naming the gateways that cannot read it."""

    def decide(snapshot: Snapshot) -> Sequence[Change]:
        return [] if snapshot.format >= level else raise_format(level)(snapshot)

    return decide


def seed(namespaces: Iterable[str]) -> Decide:
    """Create the namespaces of a configuration file that were never created before.

    All tiers of each are created (KIP-37: Create), in a single change. A namespace that was created
    once is not created again, so that a deleted namespace stays deleted. If a tier above it is
    being deleted, the namespace is left for later. Raises :class:`gateway.names.InvalidName`, at
    once, for a malformed path.
    """
    wanted = frozenset(namespaces)
    for namespace in wanted:
        check_namespace(namespace)

    def decide(snapshot: Snapshot) -> Sequence[Change]:
        new = {
            namespace
            for namespace in wanted - snapshot.seeded
            if snapshot.deleting_tier(namespace) is None
        }
        if not new:
            return []
        tiers = {tier for namespace in new for tier in parents(namespace)}
        missing = sorted(tiers - snapshot.namespaces.keys())
        return [*map(Namespace, missing), Seeds(snapshot.seeded | new)]

    return decide


VOLUME_FORMAT: Final = 3
"""The format that the catalog of a mounted cluster needs."""


def mount_decisions(number: int) -> tuple[Decide, Decide]:
    """Keep the cluster's number in the tree: two decisions, in order.

    The first raises the format to the level that the number needs; it raises FormatRejected, naming
    the gateways that cannot read it. The second keeps the number of the gateway that mounts the
    cluster first, and raises NumberRejected for any other number. From then on both write nothing.
    """

    def reads_numbers(snapshot: Snapshot) -> Sequence[Change]:
        _check_number(snapshot, number)
        return at_least(VOLUME_FORMAT)(snapshot)

    def keeps(snapshot: Snapshot) -> Sequence[Change]:
        _check_number(snapshot, number)
        return [] if snapshot.number else [Volume(number)]

    return reads_numbers, keeps


def takes_its_place(number: int) -> Decide:
    """Reject a gateway whose file gives the cluster another place in the tree than its catalog;
    decided before all that the gateway writes. ``number`` is 0 if the file has no ``mount``. Writes
    nothing; raises NumberRejected."""

    def decide(snapshot: Snapshot) -> Sequence[Change]:
        _check_number(snapshot, number)
        return []

    return decide


def _check_number(snapshot: Snapshot, number: int) -> None:
    if snapshot.number and not number:
        raise NumberRejected(
            f"the cluster has number {snapshot.number} in a tree, as its catalog says, and this"
            " configuration gives it no mount, so that its brokers would have other node ids here"
            f" than at its other gateways: write its mount, and number: {snapshot.number}. If the"
            " cluster has left the tree, stop every gateway of the cluster and run kafka-gateway"
            " catalog renumber with this configuration"
        )
    if snapshot.number not in (0, number):
        raise NumberRejected(
            f"the cluster has number {snapshot.number} in the tree, as its catalog says, and this"
            f" configuration gives it number {number}: write number: {snapshot.number}. If"
            f" {snapshot.number} was a mistake, stop every gateway of the cluster and run"
            f" kafka-gateway catalog renumber with number: {number} in the configuration"
        )


def renumber(number: int) -> Decide:
    """Give the cluster another number in the tree, whichever it had; repeated, it writes nothing.
    0: the cluster is in no tree any more.

    No gateway of the cluster may run meanwhile, because clients know brokers by the number.
    """

    def decide(snapshot: Snapshot) -> Sequence[Change]:
        return [] if snapshot.number == number else [Volume(number)]

    return decide


SIGNING_FORMAT: Final = 2
"""The format that a catalog needs before it can be signed."""


def signed(snapshot: Snapshot, key_id: str) -> list[Change]:
    """Every entity of the catalog, written once more and signed with this key.

    The key is announced first, so that a gateway that lacks it stops there. The record that voids
    all earlier records comes last: if part of the decision is lost, nothing has changed.
    """
    entities = [one for one in snapshot.entities() if not isinstance(one, Signing)]
    return [Signing(key_id), *entities, Signing(key_id, whole=True)]


def sign_all(key_id: str) -> Decide:
    """Sign the whole catalog with this key, and from now on require that every record is signed."""

    def decide(snapshot: Snapshot) -> Sequence[Change]:
        return signed(snapshot, key_id)

    return decide


def sign_nothing(snapshot: Snapshot) -> Sequence[Change]:
    """From now on records need not be signed; writes nothing if they need not be already."""
    return [Signing("")] if snapshot.signing else []
