"""The changes that an import would make to a catalog: computed, judged and shown. Pure.

Two states of an entity that differ only in notes of work under way (``Field.note``) count as equal,
because a job of the gateway changes such notes at any time.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from gateway.catalog.entities import (
    Change,
    ClientMetrics,
    Entity,
    Key,
    Link,
    Namespace,
    Removal,
    Seeds,
    TopicEntry,
)
from gateway.catalog.schema.field_types import NAMESPACE
from gateway.catalog.schema.kinds import Kind
from gateway.catalog.schema.shapes import Field, Records
from gateway.catalog.schema.table import KINDS, LINK_FORMAT, METRICS_FORMAT, kind_of
from gateway.catalog.snapshot import Snapshot
from gateway.changes.base.subscription_limits import SUBSCRIPTIONS, number_limits
from gateway.changes.namespaces.namespace_settings import wrong_setting
from gateway.commands.catalog.as_requested import Held, not_requestable
from gateway.commands.catalog.file import Imported, exported, main_kinds
from gateway.commands.output import counted
from gateway.config.errors import Problem
from gateway.names import DELIMITER, parents

_SEEDS: Final[Key] = ("seeds", "")
_FORMAT: Final[Key] = ("format", "")


@dataclass(frozen=True, slots=True)
class Difference:
    """An entity that an import adds (``before`` None), changes, or removes (``after`` None)."""

    key: Key
    before: Entity | None
    after: Entity | None

    @property
    def change(self) -> Change:
        """The change to commit."""
        return Removal(self.key) if self.after is None else self.after


def differences(
    snapshot: Snapshot,
    wanted: Iterable[Entity],
    *,
    prune: bool,
    now: int,
    kinds: Container[Kind] | None = None,
    within: Callable[[Entity], bool] = lambda _: True,
    new_id: Callable[[], bytes] = lambda: uuid.uuid4().bytes,
) -> list[Difference]:
    """The changes from a snapshot to the wanted entities, in an order in which they can be applied.

    Only with ``prune`` are other entities removed, and of these only entities ``within`` and of the
    ``kinds`` given (by default the kinds of the main file). ``now`` is in milliseconds since the
    epoch; ``new_id`` makes topic ids that were never used.
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
    gone = [key for key, one in present.items() if key not in target and within(one)]
    found += [Difference(key, present[key], None) for key in gone if prune]
    return sorted(found, key=_order)


def problems(
    snapshot: Snapshot, imported: Imported, found: Sequence[Difference], now: int
) -> list[Problem]:
    """The reasons why a catalog cannot be brought to that state; empty if it can. ``now`` is in
    milliseconds since the epoch."""
    level, problems = imported.catalog_format, []
    if level > snapshot.format:
        text = f"is {level}, and this catalog has {snapshot.format}; raise it first: "
        text += f"kafka-gateway catalog upgrade --format {level}"
        problems.append(imported.problem(_FORMAT, text))
    result = snapshot.apply([one.change for one in found], snapshot.version + 1)
    held = Held(result, now)
    for one in found:
        if one.after is not None:
            reasons = not_requestable(one.after, held)
            problems += [imported.problem(one.key, text, config) for text, config in reasons]
        match one.after:
            case Namespace() as namespace:
                texts = _namespace_problems(snapshot, result, namespace)
            case TopicEntry() as entry:
                texts = _topic_problems(result, entry)
            case Link() as link:
                texts = _link_problems(snapshot, result, link)
            case ClientMetrics() as metrics:
                texts = _client_metrics_problems(snapshot, result, metrics)
            case None:
                texts = _removal_problems(result, *one.key)
            case entity:
                texts = _missing_namespaces(result, entity)
        problems += [imported.problem(one.key, text) for text in texts]
    return problems


def stale(snapshot: Snapshot, found: Iterable[Difference]) -> list[Key]:
    """The keys of entities to change that have changed since the differences were computed."""
    present = exported(snapshot.entities())
    return [one.key for one in found if settled(present.get(one.key)) != settled(one.before)]


def settled(entity: Entity | None) -> Entity | None:
    """An entity without its notes of work under way."""
    return None if entity is None else kind_of(entity).settled(entity)


def _to_commit(
    before: Entity | None, after: Entity, now: int, new_id: Callable[[], bytes]
) -> Entity:
    """The entity to commit in place of ``before``, with a note of the work that a gateway has to
    do. A new entity has no note, because its state was reached before the export."""
    if isinstance(before, Namespace) and isinstance(after, Namespace):
        keys = before.configs.keys() | after.configs.keys()
        changed = {key for key in keys if before.configs.get(key) != after.configs.get(key)}
        pending = tuple(sorted({*changed, *before.apply}))
        return replace(after, apply=pending, apply_since=now)
    if isinstance(before, TopicEntry) and isinstance(after, TopicEntry):
        moved = before.name != after.name
        # A client must not see the same topic id under two names.
        same_id = moved and before.topic_id == after.topic_id
        topic_id = new_id() if same_id else after.topic_id
        return replace(after, topic_id=topic_id, apply=True, since=now)
    if isinstance(before, Link) and isinstance(after, Link) and before.flat != after.flat:
        # Nor may a client see two topics under the same id.
        same_id = before.topic_id == after.topic_id
        return replace(after, topic_id=new_id() if same_id else after.topic_id)
    return after


def _namespace_problems(
    snapshot: Snapshot, result: Snapshot, namespace: Namespace
) -> Iterator[str]:
    missing = [tier for tier in parents(namespace.path)[:-1] if tier not in result.namespaces]
    if missing:
        yield f"has no namespace '{missing[0]}' above it; add that too"
    deleting = snapshot.deleting_tier(namespace.path)
    if deleting is not None and namespace.deleting is None:
        yield f"namespace '{deleting}' is being deleted; wait until it is gone"
    for key, value in namespace.settings.items():
        reason = wrong_setting(key, value)
        if reason:
            yield f"has settings that make no sense: {reason}"


def _topic_problems(result: Snapshot, entry: TopicEntry) -> Iterator[str]:
    tiers = parents(entry.name.namespace)
    missing = [tier for tier in tiers if tier not in result.namespaces]
    if missing:
        yield f"namespace '{missing[0]}' of '{entry.name}' does not exist; add it"


def _missing_namespaces(result: Snapshot, entity: Entity) -> Iterator[str]:
    for field in kind_of(entity).fields:
        if field.type is NAMESPACE and getattr(entity, field.name) not in result.namespaces:
            yield f"namespace '{getattr(entity, field.name)}' does not exist; add it"


def _link_problems(snapshot: Snapshot, result: Snapshot, link: Link) -> Iterator[str]:
    if snapshot.format < LINK_FORMAT:
        yield (
            f"links need catalog format {LINK_FORMAT}, and this catalog has {snapshot.format};"
            f" raise it first: kafka-gateway catalog upgrade --format {LINK_FORMAT}"
        )
    missing = [tier for tier in parents(link.name.namespace) if tier not in result.namespaces]
    if missing:
        yield f"namespace '{missing[0]}' of '{link.name}' does not exist; add it"
    if not link.gone and link.flat not in result.topics:
        yield f"'{link.name}' leads to '{link.flat}', which is not among the topics; add it"


def _client_metrics_problems(
    snapshot: Snapshot, result: Snapshot, one: ClientMetrics
) -> Iterator[str]:
    if snapshot.format < METRICS_FORMAT:
        yield (
            f"client metrics need catalog format {METRICS_FORMAT}, and this catalog has"
            f" {snapshot.format}; raise it first: kafka-gateway catalog upgrade --format"
            f" {METRICS_FORMAT}"
        )
    missing = [tier for tier in parents(one.namespace) if tier not in result.namespaces]
    if missing:
        yield f"namespace '{missing[0]}' of '{one.name}' does not exist; add it"
    for tier, most in number_limits(one.namespace):
        found = result.tally(SUBSCRIPTIONS, tier)
        if found > most:
            where = "the catalog" if tier is None else f"namespace '{tier}' with all below it"
            yield f"{where} would hold {found:,} client metrics, and {most:,} are the most"


def _removal_problems(result: Snapshot, kind: str, path: str) -> Iterator[str]:
    linked = result.links_of(path) if kind == TopicEntry.KIND else ()
    if linked:
        yield f"'{path}' would be removed, but '{linked[0]}' links to it; remove that too"
    names = [*(one.name for one in result.topics.values()), *result.links]
    held = [name for name in names if name.namespace == path]
    if kind == "namespace" and held:
        yield (
            f"namespace '{path}' would be removed, but '{held[0]}' is in it; keep it in the "
            "file, or take the topic out of it first"
        )
    metrics = [one.name for one in result.client_metrics.values() if one.namespace == path]
    if kind == "namespace" and metrics:
        yield (
            f"namespace '{path}' would be removed, but client metrics '{metrics[0]}' are in it;"
            " keep it in the file, or take them out of it first"
        )


def _order(one: Difference) -> tuple[int, int, str]:
    """Namespaces are added before their contents, outermost first, and removed after them.

    ACLs are added first and removed last, users the other way round, because nothing may
    exist without its ACLs.
    """
    name, identity = one.key
    kind = KINDS[name]
    depth = identity.count(DELIMITER) if kind.nested else 0
    if one.after is None:
        return kind.removed, -depth, identity
    return kind.added, depth, identity


def differences_text(found: Sequence[Difference]) -> str:
    """The differences as lines to print: ``+`` is added, ``~`` changed, ``-``
    removed. No secrets."""
    lines = []
    for one in found:
        sign = "+" if one.before is None else "-" if one.after is None else "~"
        lines.append(f"{sign} {entity_text(one.key)}")
        for field in KINDS[one.key[0]].state_fields:
            if isinstance(field.type, Records) and field.type.unordered:
                lines += _items_that_differ(one, field)
        before, after = _texts(one.before), _texts(one.after)
        for name in sorted(before.keys() | after.keys()):
            lines += _field_line(one, name, before.get(name), after.get(name))
    added = sum(one.before is None for one in found)
    removed = sum(one.after is None for one in found)
    changed = len(found) - added - removed
    lines.append(f"{counted(added, 'added', 'added')}, {changed:,} changed, {removed:,} removed.")
    return "\n".join(lines)


def differences_json(found: Iterable[Difference]) -> list[dict[str, object]]:
    """The differences as JSON: the fields before and after, null if the entity does not exist."""
    return [
        {
            "kind": one.key[0],
            "key": one.key[1],
            "before": None if one.before is None else kind_of(one.before).shown(one.before),
            "after": None if one.after is None else kind_of(one.after).shown(one.after),
        }
        for one in found
    ]


def entity_text(key: Key) -> str:
    """The name of an entity in a sentence."""
    kind, identity = key
    return KINDS[kind].thing(identity)


def _texts(entity: Entity | None) -> dict[str, str]:
    """An entity's fields as text by name, configs by their keys; without notes of work under way,
    and without the key, because the line above has it."""
    found: dict[str, str] = {}
    for field in () if entity is None else kind_of(entity).state_fields:
        value = getattr(entity, field.name)
        if field.note or value == field.default:
            continue
        shown = field.type.to_file(value)
        if isinstance(field.type, Records):
            if not field.type.unordered:
                found[field.name] = ", ".join(map(field.type.line, value))
        elif isinstance(shown, dict):
            found |= {f"{field.name}.{key}": str(inner) for key, inner in shown.items()}
        elif isinstance(shown, list):
            found[field.name] = ", ".join(shown)
        else:
            found[field.name] = str(shown)
    return found


def _items_that_differ(one: Difference, field: Field) -> list[str]:
    """The records of a set that are added or removed."""
    assert isinstance(field.type, Records)
    before, after = (
        set() if entity is None else set(map(field.type.line, getattr(entity, field.name)))
        for entity in (one.before, one.after)
    )
    lines = [("-", text) for text in before - after] + [("+", text) for text in after - before]
    return [f"    {sign} {text}" for sign, text in sorted(lines, key=lambda line: line[::-1])]


def _field_line(one: Difference, name: str, before: str | None, after: str | None) -> list[str]:
    if before == after:
        return []
    warnings = {field.name: field.warning for field in KINDS[one.key[0]].state_fields}
    warning = warnings.get(name, "")
    note = f"  # {warning}" if warning and after else ""
    if one.before is None:
        return [f"    {name}: {after}{note}"]
    return [f"    {name}: {before or '(none)'} -> {after or '(none)'}{note}"]
