"""Changes of the catalog as audit events show them: in logical names, without secrets.

Flat names are left out because only the broker uses them. Salts and keys of SCRAM are left out, as
an attacker with time can turn them into passwords. Times are milliseconds since the epoch, topic
ids as Kafka's tools write them.
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
"""ACLs or seeds that an event lists; further events list the rest of a change."""

_HAVE_PATHS: Final = frozenset({"namespace", "topic", "client_metrics"})

Action = Literal["created", "altered", "deleted"]
State = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class CatalogChange:
    """A changed entity, or a part of a large entity, ready to be written.

    - ``kind``: the catalog's (``namespace``, ``topic``, ``acl``, …).
    - ``resource``: the entity's logical name.
    - ``before``, ``after``: its states; None where it did not exist.
    - ``place``: the cluster whose catalog it is in.
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
        """The absolute path of a topic, a namespace or client metrics, if it is in a tree."""
        return self.place.path_of(self.resource) if self.kind in _HAVE_PATHS else None


def changes_of(change: Committed, place: Place = NO_PLACE) -> Iterator[CatalogChange]:
    """The events of a committed change: mostly a single event, several for a list longer than
    ``MAX_LISTED``, and no event if its kind is not audited."""
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
    """The states to write; for a kind that only lists things, the removed and the added things."""
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
