"""Entities of the catalog as fields of a YAML file, and back: exact, and without defaults.

Every kind of entity is written to the main file, or to the secrets' file, or to none. A new kind
gets its row in one of the three.
"""

from __future__ import annotations

import datetime
import uuid
from collections.abc import Mapping
from typing import Any, Final

from gateway.catalog.entities import NO_CONFIGS, Alias, Namespace, TopicEntry
from gateway.commands.yaml_values import Value, required
from gateway.names import DELIMITER, LogicalName

MAIN_KINDS: Final = frozenset({"namespace", "topic", "acl", "home", "seeds", "format"})
SECRET_KINDS: Final = frozenset({"scram"})
"""Kinds that hold secrets, which never stand in the main file."""

RUNTIME_KINDS: Final = frozenset({"gateway", "signing"})
"""What is true of running gateways, and of one topic, only: not written at all."""

_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
_MILLISECOND = datetime.timedelta(milliseconds=1)


def namespace_fields(entity: Namespace) -> dict[str, Any]:
    """Its fields, the path left out."""
    fields = {
        "configs": dict(sorted(entity.configs.items())),
        "settings": dict(sorted(entity.settings.items())),
        "deleting": None if entity.deleting is None else time_text(entity.deleting),
        "apply": list(entity.apply),
        "apply_since": time_text(entity.apply_since) if entity.apply_since else None,
    }
    return {name: value for name, value in fields.items() if value not in ({}, [], None)}


def read_namespace(path: str, value: Value) -> Namespace:
    """The reverse. Raises BadValue."""
    fields = value.fields("configs", "settings", "deleting", "apply", "apply_since")
    configs, settings = (
        _configs(fields[name]) if name in fields else NO_CONFIGS for name in ("configs", "settings")
    )
    deleting = fields.get("deleting")
    return Namespace(
        path,
        configs,
        None if deleting is None else read_time(deleting),
        _texts(fields.get("apply")),
        read_time(fields["apply_since"]) if "apply_since" in fields else 0,
        settings,
    )


def topic_fields(entry: TopicEntry) -> dict[str, Any]:
    """Its fields, the name people know first."""
    fields = {
        "name": str(entry.name),
        "flat": entry.flat,
        "topic_id": _id_text(entry.topic_id),
        "own_configs": list(entry.own_configs),
        "aliases": [_alias_fields(alias) for alias in entry.aliases],
        "apply": entry.apply or None,
        "creating": entry.creating or None,
        "since": time_text(entry.since) if entry.since else None,
        "counted": entry.counted or None,
    }
    return {name: value for name, value in fields.items() if value not in ([], None)}


def read_topic(value: Value) -> TopicEntry:
    """The reverse. Raises BadValue."""
    notes = ("apply", "creating", "since", "counted")
    fields = value.fields("name", "flat", "topic_id", "own_configs", "aliases", *notes)
    aliases = fields.get("aliases")
    return TopicEntry(
        required(value, fields, "flat").text(),
        _name(required(value, fields, "name")),
        _topic_id(fields.get("topic_id")),
        () if aliases is None else tuple(map(_alias, aliases.items())),
        _texts(fields.get("own_configs")),
        "apply" in fields and fields["apply"].flag(),
        "creating" in fields and fields["creating"].flag(),
        read_time(fields["since"]) if "since" in fields else 0,
        fields["counted"].number() if "counted" in fields else 0,
    )


def time_text(milliseconds: int) -> str | int:
    """Milliseconds since the epoch as ISO 8601, UTC; as they are where no calendar has them."""
    try:
        time = _EPOCH + milliseconds * _MILLISECOND
    except OverflowError:
        return milliseconds
    return time.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def read_time(value: Value) -> int:
    """Milliseconds since the epoch, of ISO 8601 (UTC, if it says nothing) or of such a number.

    Raises BadValue.
    """
    text = value.plain()
    if text.lstrip("-").isdigit():
        return int(text)
    try:
        time = datetime.datetime.fromisoformat(text)
    except ValueError:
        value.refuse("is no time; write it like 2026-12-01T10:00:00Z")
    if time.tzinfo is None:
        time = time.replace(tzinfo=datetime.UTC)
    return (time - _EPOCH) // _MILLISECOND


def _alias_fields(alias: Alias) -> dict[str, Any]:
    fields = {
        "name": str(alias.name),
        "until": time_text(alias.until),
        "topic_id": _id_text(alias.topic_id),
    }
    return {name: value for name, value in fields.items() if value is not None}


def _alias(value: Value) -> Alias:
    fields = value.fields("name", "until", "topic_id")
    return Alias(
        _name(required(value, fields, "name")),
        read_time(required(value, fields, "until")),
        _topic_id(fields.get("topic_id")),
    )


def _configs(value: Value) -> Mapping[str, str]:
    return {key: item.text() for key, item in value.entries()} or NO_CONFIGS


def _texts(value: Value | None) -> tuple[str, ...]:
    return () if value is None else tuple(item.text() for item in value.items())


def _name(value: Value) -> LogicalName:
    namespace, _, topic = value.text().rpartition(DELIMITER)
    return LogicalName(namespace, topic)


def _id_text(topic_id: bytes | None) -> str | None:
    return None if topic_id is None else str(uuid.UUID(bytes=topic_id))


def _topic_id(value: Value | None) -> bytes | None:
    if value is None:
        return None
    try:
        return uuid.UUID(value.text()).bytes
    except ValueError:
        value.refuse("is no topic id; write it as kafka-gateway catalog export does")
