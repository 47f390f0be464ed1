"""Changes of the catalog as audit events show them: in logical names, without secrets.

Flat names stay out because they are nobody's but the broker's, salts and keys of SCRAM because they
are as good as passwords to whoever has time. Times are milliseconds since the epoch, topic ids as
Kafka's tools write them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

from gateway.catalog.entities import Entity
from gateway.catalog.schema.kinds import Kind
from gateway.catalog.schema.shapes import Field
from gateway.catalog.schema.table import KINDS
from gateway.catalog.source import Actor, Committed
from gateway.places import NO_PLACE, Place

MAX_LISTED: Final = 1_000
"""ACLs or seeds that one event lists; more of one change go into further events."""

_HAVE_PATHS: Final = frozenset({"namespace", "topic"})

Action = Literal["created", "altered", "deleted"]
State = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class CatalogChange:
    """One changed entity, or a part of a large one, ready to be written.

    ``kind`` is the catalog's (``namespace``, ``topic``, ``acl``, …), ``resource`` the entity's
    logical name. ``before`` and ``after`` are None if it did not exist. ``place`` is the cluster
    that the catalog is of.
    """

    actor: Actor
    kind: str
    resource: str
    action: Action
    before: State | None
    after: State | None
    version: int
    certain: bool
    place: Place = NO_PLACE

    @property
    def path(self) -> str | None:
        """The absolute path of a topic or namespace; None elsewhere."""
        return self.place.path_of(self.resource) if self.kind in _HAVE_PATHS else None


def changes_of(change: Committed, place: Place = NO_PLACE) -> Iterator[CatalogChange]:
    """A committed change as events: mostly one, more where it lists more than ``MAX_LISTED``;
    none of a kind that is not audited."""
    kind = KINDS[change.key[0]]
    if not kind.audited:
        return
    present = change.after if change.after is not None else change.before
    assert present is not None
    action: Action = "altered"
    if change.before is None:
        action = "created"
    elif change.after is None:
        action = "deleted"
    for before, after in _states(kind, change.before, change.after):
        yield CatalogChange(
            change.actor,
            kind.name,
            kind.resource_of(present),
            action,
            before,
            after,
            change.version,
            change.certain,
            place,
        )


def _states(
    kind: Kind, before: Entity | None, after: Entity | None
) -> Iterator[tuple[State | None, State | None]]:
    """The states to write. Of what only lists things, those that were removed and added."""
    if kind.listed is not None:
        yield from _parts(kind.listed, before, after)
    else:
        yield (
            None if before is None else kind.to_audit(before),
            None if after is None else kind.to_audit(after),
        )


def _parts(
    field: Field, before: Entity | None, after: Entity | None
) -> Iterator[tuple[State | None, State | None]]:
    """Both lists in pieces of ``MAX_LISTED``, side by side."""
    was, now = (
        frozenset() if entity is None else getattr(entity, field.name) for entity in (before, after)
    )
    removed, added = field.type.to_audit(was - now), field.type.to_audit(now - was)
    for start in range(0, max(len(removed), len(added), 1), MAX_LISTED):
        stop = start + MAX_LISTED
        yield (
            None if before is None else {field.name: removed[start:stop]},
            None if after is None else {field.name: added[start:stop]},
        )
