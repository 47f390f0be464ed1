"""What an import would change, for people and for programs. Secrets are in neither. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from gateway.catalog.entities import Entity, Key
from gateway.catalog.schema.shapes import Field, Records
from gateway.catalog.schema.table import KINDS, kind_of
from gateway.commands.catalog.diff import Difference
from gateway.commands.told import counted


def shown(found: Sequence[Difference]) -> str:
    """The differences for people: ``+`` is added, ``~`` changed, ``-`` removed; and how many."""
    lines = []
    for one in found:
        sign = "+" if one.before is None else "-" if one.after is None else "~"
        lines.append(f"{sign} {thing(one.key)}")
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


def as_json(found: Iterable[Difference]) -> list[dict[str, object]]:
    """The same for programs: the fields before and after, null for what is not there."""
    return [
        {
            "kind": one.key[0],
            "key": one.key[1],
            "before": _shown(one.before),
            "after": _shown(one.after),
        }
        for one in found
    ]


def thing(key: Key) -> str:
    """An entity in a sentence."""
    kind, identity = key
    return KINDS[kind].thing(identity)


def _shown(entity: Entity | None) -> dict[str, object] | None:
    return None if entity is None else kind_of(entity).shown(entity)


def _texts(entity: Entity | None) -> dict[str, str]:
    """Fields a line each, configs by their keys; without notes of work under way, and without
    the key, which is in the line above."""
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
    """The records in a set that come and go."""
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
