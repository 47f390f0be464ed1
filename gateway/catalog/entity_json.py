"""Entities of the catalog as JSON objects, and back: exact, and strict about what it reads."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Final

from gateway.acl_model import AclEntry, Operation, Permission, ResourceAcls, pattern_of
from gateway.catalog.entities import (
    NO_CONFIGS,
    Alias,
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
from gateway.names import LogicalName

# -- entities to JSON: what has its default is left out ---------------------------------------


def fields_of(entity: Entity) -> dict[str, Any]:
    """The fields of an entity, its identity left out."""
    match entity:
        case Namespace():
            deleting = {} if entity.deleting is None else {"deleting": entity.deleting}
            fields = {
                "configs": dict(entity.configs),
                "apply": list(entity.apply),
                "apply_since": entity.apply_since,
                "settings": dict(entity.settings),
            }
            return deleting | {name: value for name, value in fields.items() if value}
        case TopicEntry():
            return _topic_fields(entity)
        case ResourceAcls():
            return {"entries": [list(_entry_fields(entry)) for entry in sorted(entity.entries)]}
        case ScramCredential():
            return {
                "iterations": entity.iterations,
                "salt": entity.salt.hex(),
                "stored_key": entity.stored_key.hex(),
                "server_key": entity.server_key.hex(),
            }
        case PrincipalHome():
            return {"namespace": entity.namespace}
        case Gateway():
            return {"format": entity.format, "software": entity.software}
        case CatalogFormat():
            return {"level": entity.level}
        case Signing():
            return {"key": entity.key} | ({"whole": True} if entity.whole else {})
        case Seeds():
            return {"namespaces": sorted(entity.namespaces)}


def _topic_fields(entry: TopicEntry) -> dict[str, Any]:
    fields = {
        "aliases": [
            {**_name_fields(alias.name, alias.topic_id), "until": alias.until}
            for alias in entry.aliases
        ],
        "own_configs": list(entry.own_configs),
        "apply": entry.apply,
        "creating": entry.creating,
        "since": entry.since,
        "counted": entry.counted,
    }
    always = _name_fields(entry.name, entry.topic_id)
    return always | {name: value for name, value in fields.items() if value}


def _name_fields(name: LogicalName, topic_id: bytes | None) -> dict[str, Any]:
    fields = {"namespace": name.namespace, "topic": name.topic}
    return fields if topic_id is None else {**fields, "topic_id": topic_id.hex()}


def _entry_fields(entry: AclEntry) -> tuple[str, str, str, str]:
    return entry.permission.name, entry.operation.name, entry.principal, entry.host


# -- JSON to entities: each takes its fields out, so that what is left is unknown -----------------


def entity_of(kind: str, identity: str, fields: dict[str, Any]) -> Entity:
    """The entity with such fields. Raises ValueError, TypeError, KeyError and AttributeError for
    what makes no sense."""
    entity = _DECODERS[kind](identity, fields)
    if fields:
        raise ValueError(f"unknown fields {sorted(fields)}")
    return entity


def _namespace(path: str, fields: dict[str, Any]) -> Namespace:
    configs, settings = fields.pop("configs", None), fields.pop("settings", None)
    deleting = fields.pop("deleting", None)
    return Namespace(
        path,
        NO_CONFIGS if configs is None else MappingProxyType(_text_map(configs)),
        None if deleting is None else _number(deleting),
        _texts(fields.pop("apply", ())),
        _number(fields.pop("apply_since", 0)),
        NO_CONFIGS if settings is None else MappingProxyType(_text_map(settings)),
    )


def _topic(flat: str, fields: dict[str, Any]) -> TopicEntry:
    name, topic_id = _named(fields)
    return TopicEntry(
        flat,
        name,
        topic_id,
        tuple(map(_alias, fields.pop("aliases", ()))),
        _texts(fields.pop("own_configs", ())),
        _flag(fields.pop("apply", False)),
        _flag(fields.pop("creating", False)),
        _number(fields.pop("since", 0)),
        _number(fields.pop("counted", 0)),
    )


def _alias(fields: dict[str, Any]) -> Alias:
    name, topic_id = _named(fields)
    alias = Alias(name, _number(fields.pop("until")), topic_id)
    if fields:
        raise ValueError(f"unknown fields {sorted(fields)} of an alias")
    return alias


def _named(fields: dict[str, Any]) -> tuple[LogicalName, bytes | None]:
    # Interned: thousands of topics share one namespace.
    namespace = sys.intern(_text(fields.pop("namespace")))
    topic_id = fields.pop("topic_id", None)
    name = LogicalName(namespace, _text(fields.pop("topic")))
    return name, None if topic_id is None else bytes.fromhex(topic_id)


def _acls(identity: str, fields: dict[str, Any]) -> ResourceAcls:
    entries = frozenset(map(_entry, fields.pop("entries")))
    if not entries:
        raise ValueError("a pattern without entries is no more")
    return ResourceAcls(pattern_of(identity), entries)


def _entry(fields: object) -> AclEntry:
    permission, operation, principal, host = _texts(fields)
    entry = AclEntry(principal, host, Operation[operation], Permission[permission])
    if entry.operation <= Operation.ANY or entry.permission <= Permission.ANY:
        raise ValueError(f"{permission} {operation} stands in filters alone")
    return entry


def _scram(identity: str, fields: dict[str, Any]) -> ScramCredential:
    mechanism, slash, user = identity.partition("/")
    if not (mechanism and slash and user):
        raise ValueError("neither a mechanism nor a user")
    return ScramCredential(
        user,
        mechanism,
        _number(fields.pop("iterations")),
        *(bytes.fromhex(fields.pop(name)) for name in ("salt", "stored_key", "server_key")),
    )


def _home(principal: str, fields: dict[str, Any]) -> PrincipalHome:
    return PrincipalHome(principal, _text(fields.pop("namespace")))


def _gateway(gateway_id: str, fields: dict[str, Any]) -> Gateway:
    return Gateway(gateway_id, _number(fields.pop("format")), _text(fields.pop("software")))


def _format(identity: str, fields: dict[str, Any]) -> CatalogFormat:
    _nothing(identity)
    return CatalogFormat(_number(fields.pop("level")))


def _signing(identity: str, fields: dict[str, Any]) -> Signing:
    _nothing(identity)
    return Signing(_text(fields.pop("key")), _flag(fields.pop("whole", False)))


def _seeds(identity: str, fields: dict[str, Any]) -> Seeds:
    _nothing(identity)
    return Seeds(frozenset(_texts(fields.pop("namespaces"))))


_DECODERS: Final[Mapping[str, Callable[[str, dict[str, Any]], Entity]]] = {
    "namespace": _namespace,
    "topic": _topic,
    "acl": _acls,
    "scram": _scram,
    "home": _home,
    "gateway": _gateway,
    "format": _format,
    "signing": _signing,
    "seeds": _seeds,
}


def _nothing(identity: str) -> None:
    if identity:
        raise ValueError("there is only one such record")


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r} is no text")
    return value


def _number(value: object) -> int:
    if type(value) is not int:
        raise TypeError(f"{value!r} is no whole number")
    return value


def _flag(value: object) -> bool:
    if not isinstance(value, bool):
        raise TypeError(f"{value!r} is neither true nor false")
    return value


def _texts(values: object) -> tuple[str, ...]:
    if not isinstance(values, list | tuple):
        raise TypeError(f"{values!r} is no list")
    return tuple(sys.intern(_text(value)) for value in values)


def _text_map(values: object) -> dict[str, str]:
    if not isinstance(values, dict):
        raise TypeError(f"{values!r} is no object")
    return {sys.intern(key): _text(value) for key, value in values.items()}
