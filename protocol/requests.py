"""Requests of the gateway's own, from plain values: one description for all versions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from functools import cache
from typing import Any, NamedTuple, get_type_hints

from protocol import messages
from protocol.schema import field_type


class Request(NamedTuple):
    """A request of the gateway's own.

    ``name`` is Kafka's (``MetadataRequest``), ``at_most`` the newest version whose meaning the
    caller knows. ``values`` are fields by kio's names: structs are mappings, arrays are sequences
    of them. A field that the version in use does not have is left out; one without a value gets
    its default, else a zero.
    """

    name: str
    at_most: int
    values: Mapping[str, object]

    def entity(self, version: int) -> Any:
        """The request in one version. Raises LookupError if Kafka has no such version."""
        return _entity(messages.message_class(self.name, version), self.values)


def _entity(cls: Any, values: Mapping[str, object]) -> Any:
    classes = _classes(cls)
    known = {name: value for name, value in values.items() if name in classes}
    return messages.build(cls, **{n: _value(classes[n], value) for n, value in known.items()})


def _value(cls: Any, value: object) -> object:
    if isinstance(value, Mapping):
        return _entity(cls, value)
    if isinstance(value, Sequence) and not isinstance(value, str | bytes):
        return tuple(_value(cls, element) for element in value)
    return value


@cache
def _classes(cls: Any) -> Mapping[str, Any]:
    """The type of each field's value, or of its elements."""
    hints = get_type_hints(cls)
    return {field.name: field_type(hints[field.name])[0] for field in fields(cls)}
