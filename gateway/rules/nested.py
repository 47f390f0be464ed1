"""Building parts of a message: one set of values for all versions of a message class."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace
from enum import IntEnum
from functools import cache
from typing import Any, get_type_hints

from protocol import messages
from protocol.pausing import pause_point
from protocol.schema import field_type


def has_field(cls: type, attribute: str) -> bool:
    """Whether this version of a message (or of a part of it) has the field."""
    return attribute in _field_names(cls)


def element_class(cls: type, attribute: str) -> type:
    """The class of the elements of an array field (nullable or not), or of a nested entity."""
    return _field_type(cls, attribute)[0]


def make(cls: type, values: Mapping[str, object]) -> Any:
    """An entity of ``cls``, whose version may lack some of the fields that have ``values``.

    A field this version does not have is left out, null becomes the zero of a field that is not
    nullable, and a plain number becomes an error code where the field holds one. Fields without
    a value get their default or the zero of their type.
    """
    pause_point()  # one for each item of what may be a large request
    return messages.build(cls, **_fitting(cls, values))


def changed(entity: Any, values: Mapping[str, object]) -> Any:
    """``entity`` with other ``values``, fitted to its version as ``make`` does."""
    pause_point()
    return replace(entity, **_fitting(type(entity), values))


def _fitting(cls: type, values: Mapping[str, object]) -> dict[str, Any]:
    chosen: dict[str, Any] = {}
    for attribute, value in values.items():
        if not has_field(cls, attribute):
            continue
        kind, nullable = _field_type(cls, attribute)
        if value is None and not nullable:
            continue
        if issubclass(kind, IntEnum) and type(value) is int:
            value = kind(value)
        chosen[attribute] = value
    return chosen


@cache
def _field_names(cls: type) -> frozenset[str]:
    return frozenset(field.name for field in fields(cls))


@cache
def _field_type(cls: type, attribute: str) -> tuple[type, bool]:
    """The type of a field's value, or of its elements, and whether the field is nullable."""
    kind, nullable, _ = field_type(get_type_hints(cls)[attribute])
    return kind, nullable
