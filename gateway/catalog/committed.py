"""What a writer has committed, entity by entity, for whoever keeps account of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from gateway.acl_model import pattern_of
from gateway.catalog.actor import Actor
from gateway.catalog.entities import (
    CatalogFormat,
    Change,
    Entity,
    Key,
    PrincipalHome,
    Removal,
    Seeds,
    Signing,
    key_of,
)
from gateway.catalog.snapshot import Snapshot
from protocol.pausing import paced


@dataclass(frozen=True, slots=True)
class Committed:
    """One entity that a decision of this process has changed, made or removed.

    ``before`` and ``after`` are its states, None where it did not exist. ``version`` is the
    catalog's after it. ``certain``: it is known to be written; False: the cluster was lost before
    it said so, and nobody was there to wait until it could be asked.
    """

    actor: Actor
    key: Key
    before: Entity | None
    after: Entity | None
    version: int
    certain: bool = True


Observer: TypeAlias = Callable[[Sequence[Committed]], None]
"""Told of each transaction once. Belongs to the writer's event loop, and must not wait."""


def committed(actor: Actor, state: Snapshot, changes: Sequence[Change]) -> Iterator[Committed]:
    """What a decision on ``state`` changes; what it writes as it was before is left out."""
    seen: dict[Key, Entity | None] = {}
    for version, change in paced(enumerate(changes, state.version + 1)):
        key = key_of(change)
        before = seen[key] if key in seen else entity_of(state, key)
        after = seen[key] = None if isinstance(change, Removal) else _lasting(change)
        if before != after:
            yield Committed(actor, key, before, after, version)


def _lasting(entity: Entity) -> Entity:
    """An entity without what it only says of the decision that it is in."""
    return replace(entity, whole=False) if isinstance(entity, Signing) else entity


def entity_of(snapshot: Snapshot, key: Key) -> Entity | None:
    """What a snapshot holds under a key."""
    kind, identity = key
    match kind:
        case "namespace":
            return snapshot.namespaces.get(identity)
        case "topic":
            return snapshot.topics.get(identity)
        case "acl":
            return snapshot.acls.get(pattern_of(identity))
        case "scram":
            mechanism, _, user = identity.partition("/")
            return snapshot.scram.get((mechanism, user))
        case "home":
            home = snapshot.homes.get(identity)
            return None if home is None else PrincipalHome(identity, home)
        case "gateway":
            return snapshot.gateways.get(identity)
        case "seeds":
            return Seeds(snapshot.seeded) if snapshot.seeded else None
        case "format":
            return CatalogFormat(snapshot.format)
        case "signing":
            return Signing(snapshot.signing) if snapshot.signing else None
        case _:
            raise ValueError(f"the catalog holds nothing of kind {kind!r}")
