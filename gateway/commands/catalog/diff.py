"""What an import would change in a catalog: computed and judged. Pure.

Notes of work under way (``Field.note``) make no difference between two states of one entity, since
a job of the gateway changes them at any time.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Container, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from gateway.catalog.entities import (
    Change,
    Entity,
    Key,
    Namespace,
    Removal,
    Seeds,
    TopicEntry,
    key_of,
)
from gateway.catalog.schema.field_types import NAMESPACE
from gateway.catalog.schema.kinds import Kind
from gateway.catalog.schema.table import KINDS, kind_of
from gateway.catalog.snapshot import Snapshot
from gateway.changes.namespaces.namespace_settings import wrong_setting
from gateway.commands.catalog.file import Imported, exported, main_kinds
from gateway.config.errors import Problem
from gateway.names import DELIMITER, LogicalName, parents

_SEEDS: Final[Key] = ("seeds", "")
_FORMAT: Final[Key] = ("format", "")


@dataclass(frozen=True, slots=True)
class Difference:
    """One entity that an import adds (``before`` None), changes, or removes (``after`` None)."""

    key: Key
    before: Entity | None
    after: Entity | None

    @property
    def change(self) -> Change:
        """What is committed."""
        return Removal(self.key) if self.after is None else self.after


def differences(
    snapshot: Snapshot,
    wanted: Iterable[Entity],
    *,
    prune: bool,
    now: int,
    kinds: Container[Kind] | None = None,
    new_id: Callable[[], bytes] = lambda: uuid.uuid4().bytes,
) -> list[Difference]:
    """What leads from a snapshot to the wanted entities, in an order in which it can be applied.

    What is not wanted is removed with ``prune`` only, and only if it is of one of the ``kinds``
    that were asked for (None: those of the main file). ``now`` is in milliseconds since the epoch;
    ``new_id`` makes topic ids that were never used.
    """
    kinds = main_kinds().values() if kinds is None else kinds
    present = exported(snapshot.entities(), kinds)
    target = exported(wanted, kinds)
    seeds = target.get(_SEEDS)
    if isinstance(seeds, Seeds) and not prune:
        target[_SEEDS] = Seeds(seeds.namespaces | snapshot.seeded)
    found = []
    for key, after in target.items():
        before = present.get(key)
        if before is None or settled(before) != settled(after):
            found.append(Difference(key, before, _to_commit(before, after, now, new_id)))
    gone = [key for key in present if key not in target] if prune else []
    found += [Difference(key, present[key], None) for key in gone]
    return sorted(found, key=_turn)


def problems(snapshot: Snapshot, imported: Imported, found: Sequence[Difference]) -> list[Problem]:
    """Why a catalog cannot be led to that state; none: it can."""
    told = []
    if imported.catalog_format > snapshot.format:
        told.append(
            imported.problem(
                _FORMAT,
                f"is {imported.catalog_format}, and this catalog has {snapshot.format}; raise it "
                f"first: kafka-gateway catalog upgrade --format {imported.catalog_format}",
            )
        )
    result = snapshot.apply([one.change for one in found], snapshot.version + 1)
    holders: dict[LogicalName, list[str]] = {}
    for entry in result.topics.values():
        holders.setdefault(entry.name, []).append(entry.flat)
    for one in found:
        match one.after:
            case Namespace() as namespace:
                told += _namespace_problems(snapshot, result, namespace, imported)
            case TopicEntry() as entry:
                told += _topic_problems(result, entry, holders[entry.name], imported)
            case None:
                told += _removal_problems(result, one, imported)
            case entity:
                told += _named_problems(result, entity, imported)
    return told


def stale(snapshot: Snapshot, found: Iterable[Difference]) -> list[Key]:
    """Of the entities that are to change, those that are not any more what they were."""
    present = exported(snapshot.entities())
    return [one.key for one in found if settled(present.get(one.key)) != settled(one.before)]


def settled(entity: Entity | None) -> Entity | None:
    """An entity without its notes of work under way."""
    return None if entity is None else kind_of(entity).settled(entity)


def _to_commit(
    before: Entity | None, after: Entity, now: int, new_id: Callable[[], bytes]
) -> Entity:
    """An entity that replaces one, with what has to be done about it noted, so that a gateway
    does it; a new one stands for a state that was reached before, and is taken as it is."""
    if isinstance(before, Namespace) and isinstance(after, Namespace):
        keys = before.configs.keys() | after.configs.keys()
        changed = {key for key in keys if before.configs.get(key) != after.configs.get(key)}
        pending = tuple(sorted({*changed, *before.apply}))
        return replace(after, apply=pending, apply_since=now)
    if isinstance(before, TopicEntry) and isinstance(after, TopicEntry):
        moved = before.name != after.name
        # Clients must not meet one topic id under two names.
        same_id = moved and before.topic_id == after.topic_id
        topic_id = new_id() if same_id else after.topic_id
        return replace(after, topic_id=topic_id, apply=True, since=now)
    return after


def _namespace_problems(
    snapshot: Snapshot, result: Snapshot, namespace: Namespace, imported: Imported
) -> list[Problem]:
    key = key_of(namespace)
    told = []
    for tier in parents(namespace.path)[:-1]:
        if tier not in result.namespaces:
            told.append(imported.problem(key, f"has no namespace '{tier}' above it; add that too"))
            break
    deleting = snapshot.deleting_tier(namespace.path)
    if deleting is not None and namespace.deleting is None:
        text = f"namespace '{deleting}' is being deleted; wait until it is gone"
        told.append(imported.problem(key, text))
    wrong = (wrong_setting(*setting) for setting in namespace.settings.items())
    told += [
        imported.problem(key, f"has settings that make no sense: {text}") for text in wrong if text
    ]
    return told


def _topic_problems(
    result: Snapshot, entry: TopicEntry, holders: Sequence[str], imported: Imported
) -> list[Problem]:
    key = key_of(entry)
    told = []
    for tier in parents(entry.name.namespace):
        if tier not in result.namespaces:
            text = f"namespace '{tier}' of '{entry.name}' does not exist; add it"
            told.append(imported.problem(key, text))
            break
    others = [flat for flat in holders if flat != entry.flat]
    if others:
        text = f"'{entry.name}' is the name of the topic stored as '{others[0]}'; choose another"
        told.append(imported.problem(key, text))
    return told


def _named_problems(result: Snapshot, entity: Entity, imported: Imported) -> list[Problem]:
    """Of namespaces that any other entity names."""
    fields = (one for one in kind_of(entity).fields if one.type is NAMESPACE)
    named = (getattr(entity, field.name) for field in fields)
    return [
        imported.problem(key_of(entity), f"namespace '{path}' does not exist; add it")
        for path in named
        if path not in result.namespaces
    ]


def _removal_problems(result: Snapshot, one: Difference, imported: Imported) -> list[Problem]:
    kind, path = one.key
    if kind != "namespace":
        return []
    held = [entry for entry in result.topics.values() if entry.name.namespace == path]
    if held:
        text = (
            f"namespace '{path}' would be removed, but '{held[0].name}' is in it; keep it in the "
            "file, or take the topic out of it first"
        )
        return [imported.problem(one.key, text)]
    return []


def _turn(one: Difference) -> tuple[int, int, str]:
    """Namespaces before what is in them, outermost first; what is removed the other way round.

    ACLs come first and go last, users the other way round: nothing is there without its ACLs.
    """
    name, identity = one.key
    kind = KINDS[name]
    depth = identity.count(DELIMITER) if kind.nested else 0
    if one.after is None:
        return kind.removed, -depth, identity
    return kind.added, depth, identity
