"""What a change of the catalog looks like to an auditor: in logical names, without secrets.

Flat names stay out because they are nobody's but the broker's, salts and keys of SCRAM because they
are as good as passwords to whoever has time. Times are milliseconds since the epoch, topic ids as
Kafka's tools write them.
"""

from __future__ import annotations

import base64
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

from gateway.acl_model import AclEntry, ResourceAcls
from gateway.catalog.actor import Actor
from gateway.catalog.committed import Committed
from gateway.catalog.entities import (
    CatalogFormat,
    Entity,
    Gateway,
    Namespace,
    PrincipalHome,
    ScramCredential,
    Seeds,
    Signing,
    TopicEntry,
)
from gateway.names import DELIMITER

MAX_LISTED: Final = 1_000
"""ACLs or seeds that one event lists; more of one change go into further events."""

Action = Literal["created", "altered", "deleted"]
State = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class CatalogChange:
    """One changed entity, or a part of a large one, ready to be told.

    ``kind`` is the catalog's (``namespace``, ``topic``, ``acl``, …), ``resource`` the entity's
    logical name. ``before`` and ``after`` are None where it did not exist.
    """

    actor: Actor
    kind: str
    resource: str
    action: Action
    before: State | None
    after: State | None
    version: int
    certain: bool


def told(change: Committed) -> Iterator[CatalogChange]:
    """A committed change as events: mostly one, more where it lists more than ``MAX_LISTED``."""
    present = change.after if change.after is not None else change.before
    assert present is not None
    action: Action = "altered"
    if change.before is None:
        action = "created"
    elif change.after is None:
        action = "deleted"
    for before, after in _states(change.before, change.after):
        yield CatalogChange(
            change.actor,
            change.key[0],
            resource_of(present),
            action,
            before,
            after,
            change.version,
            change.certain,
        )


def resource_of(entity: Entity) -> str:
    """What an entity is about, in logical names; empty where there is only one of its kind."""
    match entity:
        case Namespace():
            return entity.path + DELIMITER
        case TopicEntry():
            return str(entity.name)
        case ResourceAcls():
            return str(entity.pattern)
        case ScramCredential():
            return f"{entity.mechanism}/{entity.user}"
        case PrincipalHome():
            return entity.principal
        case Gateway():
            return entity.gateway_id
        case CatalogFormat() | Seeds() | Signing():
            return ""


def _states(
    before: Entity | None, after: Entity | None
) -> Iterator[tuple[State | None, State | None]]:
    """The states to tell. Of what only lists things, those that were removed and added."""
    if isinstance(before, ResourceAcls | None) and isinstance(after, ResourceAcls | None):
        old = frozenset() if before is None else before.entries
        new = frozenset() if after is None else after.entries
        removed, added = map(_entries, (old - new, new - old))
        yield from _parts("entries", before is None, removed, after is None, added)
    elif isinstance(before, Seeds | None) and isinstance(after, Seeds | None):
        was = frozenset() if before is None else before.namespaces
        now = frozenset() if after is None else after.namespaces
        gone, more = sorted(was - now), sorted(now - was)
        yield from _parts("namespaces", before is None, gone, after is None, more)
    else:
        yield _state(before), _state(after)


def _parts(
    name: str, none_before: bool, removed: Sequence[Any], none_after: bool, added: Sequence[Any]
) -> Iterator[tuple[State | None, State | None]]:
    """Both lists in pieces of ``MAX_LISTED``, side by side."""
    for start in range(0, max(len(removed), len(added), 1), MAX_LISTED):
        stop = start + MAX_LISTED
        before = None if none_before else {name: removed[start:stop]}
        after = None if none_after else {name: added[start:stop]}
        yield before, after


def _entries(entries: Collection[AclEntry]) -> list[dict[str, str]]:
    return [
        {
            "permission": entry.permission.name,
            "operation": entry.operation.name,
            "principal": entry.principal,
            "host": entry.host,
        }
        for entry in sorted(entries)
    ]


def _state(entity: Entity | None) -> State | None:
    """What there is to tell of a state, defaults included."""
    match entity:
        case Namespace():
            return {
                "configs": dict(entity.configs),
                "deleting": entity.deleting,
                "apply": list(entity.apply),
                "apply_since": entity.apply_since,
                "settings": dict(entity.settings),
            }
        case TopicEntry():
            aliases = [
                {"name": str(alias.name), "until": alias.until, "topic_id": _id(alias.topic_id)}
                for alias in entity.aliases
            ]
            return {
                "name": str(entity.name),
                "topic_id": _id(entity.topic_id),
                "aliases": aliases,
                "own_configs": list(entity.own_configs),
                "apply": entity.apply,
                "creating": entity.creating,
                "since": entity.since,
                "counted": entity.counted,
            }
        case ScramCredential():
            return {"iterations": entity.iterations}
        case PrincipalHome():
            return {"namespace": entity.namespace}
        case Gateway():
            return {"format": entity.format, "software": entity.software}
        case CatalogFormat():
            return {"level": entity.level}
        case Signing():
            return {"key": entity.key}
        case _:
            assert entity is None, f"{type(entity)} is told as a list"
            return None


def _id(topic_id: bytes | None) -> str | None:
    return None if topic_id is None else base64.urlsafe_b64encode(topic_id).decode().rstrip("=")
