"""Kafka messages written as plain YAML: to entities and back, for any version.

A field that a version does not have is left out, so that one scenario serves many versions.
Topic ids are numbers (the topics of a scenario are numbered from 1), times are milliseconds,
error codes are numbers; the bytes of the consumer protocol are written as
``{subscription: [topic, ...]}`` or ``{assignment: {topic: [partition, ...]}}``.
"""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints
from uuid import UUID

from protocol import messages

CONSUMER = -1
_CONSUMER_PROTOCOL_VERSION = 3


def entity(cls: type, values: Mapping[str, Any]) -> Any:
    """An entity of ``cls`` with the values for which its version has fields."""
    hints = get_type_hints(cls)
    names = {field.name for field in fields(cls)}
    # By default a client's request is a consumer's, because kio's zero would be broker 0.
    values = {"replica_id": CONSUMER, **values}
    chosen = {name: _value(hints[name], value) for name, value in values.items() if name in names}
    return messages.build(cls, **chosen)


def _value(hint: Any, value: Any) -> Any:
    if get_origin(hint) in (Union, UnionType):
        if value is None:
            return None
        (hint,) = (option for option in get_args(hint) if option is not NoneType)
    if get_origin(hint) is tuple:
        return None if value is None else tuple(_value(get_args(hint)[0], item) for item in value)
    if is_dataclass(hint):
        assert isinstance(hint, type)
        return entity(hint, value)
    if not isinstance(hint, type):
        return value
    if issubclass(hint, UUID):
        return UUID(int=value) if value else None
    if issubclass(hint, datetime.timedelta):
        return datetime.timedelta(milliseconds=value)
    if issubclass(hint, bytes):
        return _bytes(value)
    return value


def _bytes(value: Any) -> bytes:
    if isinstance(value, bytes):
        return value
    if isinstance(value, str):
        return value.encode()
    if "subscription" in value:
        body = {"topics": value["subscription"], "owned_partitions": value.get("owned", [])}
        return consumer_protocol("ConsumerProtocolSubscription", body)
    assigned = [{"topic": t, "partitions": p} for t, p in value["assignment"].items()]
    return consumer_protocol("ConsumerProtocolAssignment", {"assigned_partitions": assigned})


def consumer_protocol(name: str, values: Mapping[str, Any]) -> bytes:
    """The embedded bytes of a group member: their version and their content."""
    version = _CONSUMER_PROTOCOL_VERSION
    body = messages.write(entity(messages.message_class(name, version), values))
    return version.to_bytes(2, "big") + body


def difference(expected: Any, found: Any, where: str = "") -> str | None:
    """The first place where ``found`` differs from ``expected``, or None if it does not.

    Of an entity only the fields that are named, and that its version has, are compared; arrays are
    compared whole, in order.
    """
    if is_dataclass(found) and not isinstance(found, type):
        return _entity_difference(expected, found, where)
    if isinstance(found, tuple):
        if expected is None or len(expected) != len(found):
            return f"{where}: expected {expected}, found {found}"
        items = enumerate(zip(expected, found, strict=True))
        return next(filter(None, (difference(e, f, f"{where}[{n}]") for n, (e, f) in items)), None)
    if isinstance(found, UUID):
        found = found.int
    elif isinstance(found, datetime.timedelta):
        found = int(found / datetime.timedelta(milliseconds=1))
    elif isinstance(found, bytes):
        expected = _bytes(expected)
    elif isinstance(expected, str) and expected.startswith("~") and isinstance(found, str):
        return None if expected[1:].strip() in found else f"{where}: no {expected!r} in {found!r}"
    return None if expected == found else f"{where}: expected {expected!r}, found {found!r}"


def _entity_difference(expected: Mapping[str, Any], found: Any, where: str) -> str | None:
    for name, value in expected.items():
        if hasattr(found, name):
            wrong = difference(value, getattr(found, name), f"{where}.{name}")
            if wrong:
                return wrong
    return None
