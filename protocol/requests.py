"""Requests of the gateway's own, from plain values: one description for all versions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from functools import cache
from typing import Any, NamedTuple, get_type_hints

from protocol import messages
from protocol.pausing import pause_point
from protocol.schema import field_type


class Request(NamedTuple):
    """A request of the gateway's own.

    ``name`` is Kafka's (``MetadataRequest``), ``at_most`` the newest version whose meaning the
    caller knows. ``values`` are fields by kio's names, or what gives them for a version: structs
    are mappings, arrays are sequences of them. A field that the version in use does not have is
    left out, null is the zero of a field that is not nullable, and a field without a value gets its
    default, else a zero.
    """

    name: str
    at_most: int
    values: Mapping[str, object] | Callable[[int], Mapping[str, object]]

    def entity(self, version: int) -> Any:
        """The request in one version. Raises ProtocolError if Kafka has no such version."""
        values = self.values(version) if callable(self.values) else self.values
        return _entity(messages.message_class(self.name, version), values)


def _entity(cls: Any, values: Mapping[str, object]) -> Any:
    pause_point()  # one for each item of what may be a large request
    types = _types(cls)
    known = {}
    for name, value in values.items():
        if name in types and (value is not None or types[name].nullable):
            known[name] = _value(types[name].cls, value)
    return messages.build(cls, **known)


def _value(cls: Any, value: object) -> object:
    if isinstance(value, Mapping):
        return _entity(cls, value)
    if isinstance(value, Sequence) and not isinstance(value, str | bytes):
        return tuple(_value(cls, element) for element in value)
    return value


class _Type(NamedTuple):
    """Of a field's value, or of its elements."""

    cls: Any
    nullable: bool


@cache
def _types(cls: Any) -> Mapping[str, _Type]:
    hints = get_type_hints(cls)
    return {field.name: _Type(*field_type(hints[field.name])[:2]) for field in fields(cls)}
