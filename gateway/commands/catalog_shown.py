"""What an import would change, for people and for programs. Secrets are in neither. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from gateway.acl_model import ResourceAcls
from gateway.catalog.entities import (
    Key,
    Namespace,
    PrincipalHome,
    ScramCredential,
    Seeds,
    TopicEntry,
)
from gateway.commands.catalog_access_fields import acl_fields, public_fields
from gateway.commands.catalog_diff import Difference, settled
from gateway.commands.catalog_fields import namespace_fields, topic_fields
from gateway.commands.catalog_file import Exported
from gateway.commands.told import counted


def shown(found: Sequence[Difference]) -> str:
    """The differences for people: ``+`` is added, ``~`` changed, ``-`` removed; and how many."""
    lines = []
    for one in found:
        sign = "+" if one.before is None else "-" if one.after is None else "~"
        lines.append(f"{sign} {thing(one.key)}")
        if one.key[0] == "acl":
            lines += _acl_lines(one)
            continue
        before, after = _flat_fields(one.before), _flat_fields(one.after)
        for name in sorted(before.keys() | after.keys()):
            lines += _field_line(name, before.get(name), after.get(name), new=one.before is None)
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
            "before": None if one.before is None else _fields(one.before),
            "after": None if one.after is None else _fields(one.after),
        }
        for one in found
    ]


def thing(key: Key) -> str:
    """An entity in a sentence."""
    kind, identity = key
    match kind:
        case "seeds":
            return "list of namespaces that configuration files have made"
        case "topic":
            return f"topic stored as {identity}"
        case "acl":
            return f"ACLs on {identity}"
        case "home":
            return f"home of {identity}"
        case "scram":
            mechanism, _, user = identity.partition("/")
            return f"{mechanism} credential of {user}"
    return f"{kind} {identity}"


def _fields(entity: Exported) -> dict[str, Any]:
    match entity:
        case Namespace():
            return namespace_fields(entity)
        case TopicEntry():
            return topic_fields(entity)
        case Seeds():
            return {"namespaces": sorted(entity.namespaces)}
        case ResourceAcls():
            return acl_fields(entity)
        case PrincipalHome():
            return {"namespace": entity.namespace}
        case ScramCredential():
            return public_fields(entity)


def _flat_fields(entity: Exported | None) -> dict[str, str]:
    """Fields a line each, a namespace's configs by key; without notes of work under way."""
    known = settled(entity)
    found: dict[str, str] = {}
    for name, value in ({} if known is None else _fields(known)).items():
        if name == "flat":
            continue  # it is in the line above
        if isinstance(value, dict):
            found |= {f"{name}.{key}": str(inner) for key, inner in value.items()}
        elif isinstance(value, list):
            found[name] = ", ".join(map(_item_text, value))
        else:
            found[name] = str(value)
    return found


def _acl_lines(one: Difference) -> list[str]:
    """The entries that come and go."""
    before, after = (
        set(map(str, acls.entries)) if isinstance(acls, ResourceAcls) else set()
        for acls in (one.before, one.after)
    )
    lines = [("-", text) for text in before - after] + [("+", text) for text in after - before]
    return [f"    {sign} {text}" for sign, text in sorted(lines, key=lambda line: line[::-1])]


def _item_text(item: object) -> str:
    if not isinstance(item, dict):
        return str(item)
    return f"{item['name']} until {item['until']}"


def _field_line(name: str, before: str | None, after: str | None, *, new: bool) -> list[str]:
    if before == after:
        return []
    note = "  # its topics will be deleted" if name == "deleting" and after else ""
    if new:
        return [f"    {name}: {after}{note}"]
    return [f"    {name}: {before or '(none)'} -> {after or '(none)'}{note}"]
