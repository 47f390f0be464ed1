"""Types of an entity's fields, and the forms their values take in records, files and audit events.

Each type has all three forms: JSON in a record of the catalog (compact, read strictly), YAML in a
file that ``catalog export`` writes for people, and JSON in an event of the audit log.
"""

from __future__ import annotations

import base64
import sys
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import MISSING
from enum import IntEnum
from types import MappingProxyType
from typing import Any, Final

from gateway.acl_model import PatternType, ResourcePattern, ResourceType, pattern_of
from gateway.catalog.entities import NO_CONFIGS
from gateway.catalog.schema.yaml_values import Value, required, time_text
from gateway.names import DELIMITER, LogicalName


class FieldType:
    """A type of fields; this class holds text. A subclass overrides the forms that differ.

    ``of_record`` raises ValueError, TypeError, KeyError and AttributeError for a malformed value,
    ``of_file`` BadValue.
    """

    unordered = False
    """True for sets, whose differences list removed and added items."""

    optional = False
    """True if null in a record stands for the default."""

    def __init__(self, empty: str = "") -> None:
        """``empty``: the advice to an operator about an empty text in a file, where that is not
        allowed."""
        self._empty = empty

    def to_record(self, value: Any) -> Any:
        return value

    def of_record(self, value: Any) -> Any:
        return text(value)

    def to_file(self, value: Any) -> Any:
        return self.to_record(value)

    def of_file(self, value: Value) -> Any:
        found = value.text()
        if self._empty and not found:
            value.reject(f"is empty; {self._empty}")
        return found

    def to_audit(self, value: Any) -> Any:
        return self.to_record(value)

    def of_key(self, key: str) -> Any:
        """The value of a key's part. Raises ValueError."""
        return key

    # -- among other fields: a type may take several keys there ----------------------------------

    def put_record(self, fields: dict[str, Any], name: str, value: Any) -> None:
        fields[name] = self.to_record(value)

    def take_record(self, fields: dict[str, Any], name: str) -> Any:
        """Take the value out of ``fields``, so that the rest is unknown fields; MISSING if it is
        absent."""
        value = fields.pop(name, MISSING)
        if value is MISSING or (value is None and self.optional):
            return MISSING
        return self.of_record(value)

    def file_names(self, name: str) -> Sequence[str]:
        return (name,)

    def put_file(self, fields: dict[str, Any], name: str, value: Any) -> None:
        fields[name] = self.to_file(value)

    def take_file(self, whole: Value, fields: Mapping[str, Value], name: str, default: Any) -> Any:
        """The value in ``fields`` of ``whole``, or else ``default``; MISSING: the field is
        required."""
        if name not in fields and default is not MISSING:
            return default
        return self.of_file(required(whole, fields, name))


class _Number(FieldType):
    def of_record(self, value: Any) -> int:
        if type(value) is not int:
            raise TypeError(f"{value!r} is no whole number")
        return value

    def of_file(self, value: Value) -> int:
        return value.number()


class _Time(_Number):
    """Milliseconds since the epoch."""

    def to_file(self, value: int) -> str | int:
        return time_text(value)

    def of_file(self, value: Value) -> int:
        return value.time()


class _OptionalTime(_Time):
    optional = True


class _Flag(FieldType):
    def of_record(self, value: Any) -> bool:
        if not isinstance(value, bool):
            raise TypeError(f"{value!r} is neither true nor false")
        return value

    def of_file(self, value: Value) -> bool:
        return value.flag()


class _Texts(FieldType):
    """A tuple of texts, or an ``unordered`` frozenset of them."""

    def __init__(self, *, unordered: bool = False) -> None:
        super().__init__()
        self.unordered = unordered

    def to_record(self, value: Any) -> list[str]:
        return sorted(value) if self.unordered else list(value)

    def of_record(self, value: Any) -> Any:
        return frozenset(texts(value)) if self.unordered else texts(value)

    def of_file(self, value: Value) -> Any:
        found = (item.text() for item in value.items())
        return frozenset(found) if self.unordered else tuple(found)


class _Configs(FieldType):
    """A mapping of text to text."""

    optional = True

    def to_record(self, value: Mapping[str, str]) -> dict[str, str]:
        return dict(value)

    def of_record(self, value: Any) -> Mapping[str, str]:
        if not isinstance(value, dict):
            raise TypeError(f"{value!r} is no object")
        return MappingProxyType({sys.intern(key): text(inner) for key, inner in value.items()})

    def to_file(self, value: Mapping[str, str]) -> dict[str, str]:
        return dict(sorted(value.items()))

    def of_file(self, value: Value) -> Mapping[str, str]:
        return {key: item.text() for key, item in value.entries()} or NO_CONFIGS


class _Digits(FieldType):
    """Bytes, as hexadecimal digits."""

    def to_record(self, value: bytes) -> str:
        return value.hex()

    def of_record(self, value: Any) -> bytes:
        return bytes.fromhex(value)

    def of_file(self, value: Value) -> bytes:
        try:
            return bytes.fromhex(value.text())
        except ValueError:
            value.reject(
                "is not in hexadecimal digits; write it as kafka-gateway catalog export does"
            )


class _TopicId(_Digits):
    """16 bytes: hexadecimal digits in records, a UUID in files, Kafka's base64 in the audit log."""

    optional = True

    def to_file(self, value: bytes) -> str:
        return str(uuid.UUID(bytes=value))

    def of_file(self, value: Value) -> bytes:
        try:
            return uuid.UUID(value.text()).bytes
        except ValueError:
            value.reject("is no topic id; write it as kafka-gateway catalog export does")

    def to_audit(self, value: bytes) -> str:
        return base64.urlsafe_b64encode(value).decode().rstrip("=")


class OneOf(FieldType):
    """A text out of a list of known texts."""

    def __init__(self, *known: str) -> None:
        super().__init__()
        self._known = known

    def of_file(self, value: Value) -> str:
        if value.text() not in self._known:
            value.reject(f"is none of {', '.join(self._known)}; write one of them")
        return value.text()


class Code(FieldType):
    """A code of Kafka's by its name; the codes up to ``above`` are valid in filters only."""

    def __init__(self, above: IntEnum) -> None:
        super().__init__()
        self._above = above
        self._codes = type(above)

    def to_record(self, value: IntEnum) -> str:
        return value.name

    def of_record(self, value: Any) -> IntEnum:
        code = self._codes[value]
        if code <= self._above:
            raise ValueError(f"{value} stands in filters alone")
        return code

    def of_file(self, value: Value) -> IntEnum:
        known = {code.name: code for code in self._codes if code > self._above}
        found = known.get(value.text())
        if found is None:
            value.reject(f"is none of {', '.join(known)}; write one of them")
        return found


class _Principal(FieldType):
    def of_file(self, value: Value) -> str:
        # As CreateAcls: Kafka takes "User:" too (SecurityUtils.parseKafkaPrincipal).
        if DELIMITER not in value.text():
            value.reject("is no principal; write it like User:alice")
        return value.text()


class _Name(FieldType):
    """A logical name; a record holds its namespace and its topic in two fields."""

    def of_key(self, key: str) -> LogicalName:
        namespace, _, topic = key.rpartition(DELIMITER)
        if not topic:
            raise ValueError("it names no topic")
        return LogicalName(sys.intern(namespace), topic)

    def to_record(self, value: LogicalName) -> str:
        return str(value)

    def of_file(self, value: Value) -> LogicalName:
        namespace, _, topic = value.text().rpartition(DELIMITER)
        return LogicalName(namespace, topic)

    def put_record(self, fields: dict[str, Any], name: str, value: LogicalName) -> None:
        fields["namespace"], fields["topic"] = value

    def take_record(self, fields: dict[str, Any], name: str) -> LogicalName:
        # Interned, because thousands of topics share a namespace.
        namespace = sys.intern(text(fields.pop("namespace")))
        return LogicalName(namespace, text(fields.pop("topic")))


class _Pattern(FieldType):
    """The resource pattern of ACLs: three keys in a file."""

    def of_key(self, key: str) -> ResourcePattern:
        return pattern_of(key)

    def file_names(self, name: str) -> Sequence[str]:
        return tuple(_PATTERN_PARTS)

    def put_file(self, fields: dict[str, Any], name: str, value: ResourcePattern) -> None:
        parts = (value.type, value.pattern_type, value.name)
        for (part, kind), each in zip(_PATTERN_PARTS.items(), parts, strict=True):
            fields[part] = kind.to_file(each)

    def take_file(self, whole: Value, fields: Mapping[str, Value], name: str, default: Any) -> Any:
        return ResourcePattern(
            *(kind.of_file(required(whole, fields, part)) for part, kind in _PATTERN_PARTS.items())
        )


_PATTERN_PARTS: Final[Mapping[str, FieldType]] = {
    "type": Code(above=ResourceType.ANY),
    "pattern": Code(above=PatternType.MATCH),
    "name": FieldType(empty="write a name, or '*' for all"),
}

TEXT: Final = FieldType()
NAMESPACE: Final = FieldType()
"""The path of a namespace, which has to exist where the field is imported."""
NUMBER: Final = _Number()
TIME: Final = _Time()
OPTIONAL_TIME: Final = _OptionalTime()
FLAG: Final = _Flag()
TEXTS: Final = _Texts()
TEXT_SET: Final = _Texts(unordered=True)
CONFIGS: Final = _Configs()
TOPIC_ID: Final = _TopicId()
DIGITS: Final = _Digits()
PRINCIPAL: Final = _Principal()
NAME: Final = _Name()
PATTERN: Final = _Pattern()


def text(value: object) -> str:
    """A text of a record. Raises TypeError."""
    if not isinstance(value, str):
        raise TypeError(f"{value!r} is no text")
    return value


def texts(values: object) -> tuple[str, ...]:
    """A list of texts of a record. Raises TypeError."""
    if not isinstance(values, list | tuple):
        raise TypeError(f"{values!r} is no list")
    return tuple(sys.intern(text(value)) for value in values)
