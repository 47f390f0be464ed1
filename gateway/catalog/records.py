"""What the records of the catalog's topic hold: entities as JSON under readable keys.

A record is one entity, or a tombstone for one that is no more. Its headers say where it stands
in the life of the catalog, so that a reader notices a log that is not the one it has read so far.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from gateway.catalog.entities import (
    NO_CONFIGS,
    Alias,
    CatalogFormat,
    Change,
    Entity,
    Gateway,
    Namespace,
    Removal,
    Seeds,
    TopicEntry,
    key_of,
)
from gateway.names import LogicalName

FORMAT: Final = 1
"""The newest catalog format that this software reads and writes."""

LEVELS: Final[Mapping[str, int]] = MappingProxyType(
    {"namespace": 1, "topic": 1, "gateway": 1, "format": 1, "seeds": 1}
)
"""Kind of record -> the format that a reader needs for it."""

Headers = Sequence[tuple[str, bytes | None]]


class UnreadableCatalog(Exception):
    """The catalog holds what this software cannot read; the text says what to do."""


class Record(NamedTuple):
    """A record as the broker keeps it; ``value`` is None for a tombstone."""

    key: bytes | None
    value: bytes | None
    headers: Headers


class Place(NamedTuple):
    """Where a record stands.

    ``seq`` grows by 1 with every record over the life of the catalog and is the catalog's version
    after it. ``decision`` is a random text that all records of one decision share, ``last`` the
    ``seq`` of the last of them, ``after`` the decision before (empty: none).
    """

    seq: int
    last: int
    decision: str
    after: str


def level_of(change: Change) -> int:
    """The format that a reader of this change needs."""
    return LEVELS[key_of(change)[0]]


def encode(change: Change, place: Place) -> Record:
    """The record for a change."""
    kind, identity = key_of(change)
    key = f"{kind}/{identity}" if identity else kind
    headers = [(name, str(value).encode()) for name, value in place._asdict().items()]
    return Record(key.encode(), encode_value(change), headers)


def encode_value(change: Change) -> bytes | None:
    """The value of the record for a change: compact JSON with sorted keys, None for a removal."""
    if isinstance(change, Removal):
        return None
    return json.dumps(_fields(change), sort_keys=True, separators=(",", ":")).encode()


def decode(record: Record) -> tuple[Change, Place]:
    """The change that a record is, and where it stands. Raises UnreadableCatalog."""
    try:
        key = (record.key or b"").decode()
        place = _place(record.headers)
        kind, _, identity = key.partition("/")
        if kind not in _DECODERS:
            raise UnreadableCatalog(
                f"the catalog holds a record of a kind that this gateway does not know"
                f" ({key!r}): a newer gateway wrote it, so upgrade this one"
            )
        if record.value is None:
            return Removal((kind, identity)), place
        fields = json.loads(record.value.decode())
        entity = _DECODERS[kind](identity, fields)
        if fields:
            raise ValueError(f"unknown fields {sorted(fields)}")
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise UnreadableCatalog(
            f"the catalog's record {record.key!r} makes no sense ({error}): either a newer gateway"
            " wrote it, and this one is to be upgraded, or something else writes to the catalog's"
            " topic"
        ) from None
    if isinstance(entity, CatalogFormat) and entity.level > FORMAT:
        raise UnreadableCatalog(
            f"the catalog has format {entity.level} and this gateway reads formats up to"
            f" {FORMAT}: upgrade this gateway"
        )
    return entity, place


def _place(headers: Headers) -> Place:
    found = dict(headers)
    seq, last, decision, after = (found[name] or b"" for name in Place._fields)
    return Place(int(seq), int(last), decision.decode(), after.decode())


# -- entities to JSON: what has its default is left out ---------------------------------------


def _fields(entity: Entity) -> dict[str, Any]:
    match entity:
        case Namespace():
            deleting = {} if entity.deleting is None else {"deleting": entity.deleting}
            fields = {
                "configs": dict(entity.configs),
                "apply": list(entity.apply),
                "apply_since": entity.apply_since,
            }
            return deleting | {name: value for name, value in fields.items() if value}
        case TopicEntry():
            return _topic_fields(entity)
        case Gateway():
            return {"format": entity.format, "software": entity.software}
        case CatalogFormat():
            return {"level": entity.level}
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
    }
    always = _name_fields(entry.name, entry.topic_id)
    return always | {name: value for name, value in fields.items() if value}


def _name_fields(name: LogicalName, topic_id: bytes | None) -> dict[str, Any]:
    fields = {"namespace": name.namespace, "topic": name.topic}
    return fields if topic_id is None else {**fields, "topic_id": topic_id.hex()}


# -- JSON to entities: each takes its fields out, so that what is left is unknown -----------------


def _namespace(path: str, fields: dict[str, Any]) -> Namespace:
    configs = fields.pop("configs", None)
    deleting = fields.pop("deleting", None)
    return Namespace(
        path,
        NO_CONFIGS if configs is None else MappingProxyType(_text_map(configs)),
        None if deleting is None else _number(deleting),
        _texts(fields.pop("apply", ())),
        _number(fields.pop("apply_since", 0)),
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


def _gateway(gateway_id: str, fields: dict[str, Any]) -> Gateway:
    return Gateway(gateway_id, _number(fields.pop("format")), _text(fields.pop("software")))


def _format(identity: str, fields: dict[str, Any]) -> CatalogFormat:
    _nothing(identity)
    return CatalogFormat(_number(fields.pop("level")))


def _seeds(identity: str, fields: dict[str, Any]) -> Seeds:
    _nothing(identity)
    return Seeds(frozenset(_texts(fields.pop("namespaces"))))


_DECODERS: Final[Mapping[str, Callable[[str, dict[str, Any]], Entity]]] = {
    "namespace": _namespace,
    "topic": _topic,
    "gateway": _gateway,
    "format": _format,
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
