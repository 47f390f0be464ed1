"""The fields of a dataclass, and its whole in the forms that its fields take (``field_types``)."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Sequence
from dataclasses import MISSING
from typing import Any, NamedTuple

from gateway.catalog.schema.field_types import FieldType, texts
from gateway.catalog.schema.yaml_values import Value
from protocol.pausing import paced


class Field(NamedTuple):
    """A field of a dataclass. Records and files leave it out if it equals its ``default`` (MISSING:
    the dataclass's default)."""

    name: str
    type: FieldType
    default: Any = MISSING
    note: bool = False
    """True for a note of work in progress, which comparisons of two states ignore."""
    secret: bool = False
    """True for a field of the secrets' file, which is shown nowhere."""
    of_decision: bool = False
    """True for a field that describes the decision that wrote it, not the state."""
    warning: str = ""
    """The consequence of setting the field, shown to an operator who imports it."""


class Shape:
    """The fields of a dataclass, in the order in which people read them."""

    def __init__(self, made: type[Any], fields: Sequence[Field]) -> None:
        self.made = made
        self.fields = tuple(_with_default(made, field) for field in fields)
        self._takes = [(one.name, one.type.take_record, one.default) for one in self.fields]
        self._as_made = sorted(self.fields, key=lambda one: place_in(made, one.name))

    def to_record(self, value: Any) -> dict[str, Any]:
        """The fields as JSON, without fields that have their default."""
        found: dict[str, Any] = {}
        for field in self.fields:
            held = getattr(value, field.name)
            if held != field.default:
                field.type.put_record(found, field.name, held)
        return found

    def of_record(self, fields: dict[str, Any], what: str = "", **known: Any) -> Any:
        """The instance whose fields a record holds; ``known`` is not in the record. Raises
        ValueError, TypeError, KeyError and AttributeError for malformed fields."""
        for name, take, default in self._takes:
            value = take(fields, name)
            if value is not MISSING:
                known[name] = value
            elif default is MISSING:
                raise KeyError(name)
        if fields:
            raise ValueError(f"unknown fields {sorted(fields)}{what}")
        return self.made(**known)

    def to_file(self, value: Any) -> dict[str, Any]:
        """The fields as YAML, without fields that have their default."""
        found: dict[str, Any] = {}
        for field in self.fields:
            held = getattr(value, field.name)
            if held != field.default:
                field.type.put_file(found, field.name, held)
        return found

    def of_file(self, value: Value, **known: Any) -> Any:
        """The instance whose fields a file holds; ``known`` is not in ``value``. Raises
        BadValue."""
        names = (name for field in self.fields for name in field.type.file_names(field.name))
        found = value.fields(*names)
        for name, kind, default, *_ in self._as_made:
            known[name] = kind.take_file(value, found, name, default)
        return self.made(**known)

    def to_audit(self, value: Any) -> dict[str, Any]:
        """The fields as audit events have them, defaults included."""
        return {
            field.name: None
            if (held := getattr(value, field.name)) is None
            else field.type.to_audit(held)
            for field in self.fields
        }


class Records(FieldType):
    """Several instances of a dataclass: in a tuple, or in a frozenset if they can be sorted.

    - ``what``: names an instance in error messages.
    - ``compact``: records hold the values of each instance without their names.
    - ``line``: formats an instance for people.
    - ``most``: a set has 1 to so many instances; 0: any number.
    - ``of``: names the owner of the set in error messages.
    """

    def __init__(
        self,
        shape: Shape,
        what: str,
        *,
        unordered: bool = False,
        compact: bool = False,
        line: Callable[[Any], str] = str,
        most: int = 0,
        of: str = "",
    ) -> None:
        super().__init__()
        self.unordered = unordered
        self.line = line
        self._shape = shape
        self._what = f" of {what}"
        self._compact = compact
        self._most, self._of = most, of
        self._collect: Callable[[Iterable[Any]], Any] = frozenset if unordered else tuple

    def to_record(self, value: Any) -> list[Any]:
        if self._compact:
            items = paced(self._in_order(value))
            return [list(self._shape.to_audit(one).values()) for one in items]
        return [self._shape.to_record(one) for one in paced(value)]

    def of_record(self, value: Any) -> Any:
        found = self._collect(map(self._item, paced(value)))
        if self._most and not found:
            raise ValueError(f"{self._of} without entries is no more")
        return found

    def to_file(self, value: Any) -> list[Any]:
        return [self._shape.to_file(one) for one in self._in_order(value)]

    def of_file(self, value: Value) -> Any:
        found = [self._shape.of_file(item) for item in value.items()]
        if self._most and not 0 < len(found) <= self._most:
            value.reject(f"are {len(found):,}; {self._of} has 1 to {self._most:,}")
        return self._collect(found)

    def to_audit(self, value: Any) -> list[Any]:
        return [self._shape.to_audit(one) for one in self._in_order(value)]

    def _in_order(self, value: Any) -> Iterable[Any]:
        return sorted(value) if self.unordered else value

    def _item(self, value: Any) -> Any:
        if not self._compact:
            return self._shape.of_record(value, self._what)
        fields = self._shape.fields
        found = zip(fields, texts(value), strict=True)
        return self._shape.made(**{field.name: field.type.of_record(one) for field, one in found})


def _with_default(made: type[Any], field: Field) -> Field:
    """The field, with the default that the dataclass has for it."""
    if field.default is not MISSING:
        return field
    own = dataclasses.fields(made)[place_in(made, field.name)]
    factory: Any = own.default_factory
    return field._replace(default=own.default if factory is MISSING else factory())


def place_in(made: type[Any], name: str) -> int:
    """The index of a field in a dataclass."""
    return [field.name for field in dataclasses.fields(made)].index(name)
