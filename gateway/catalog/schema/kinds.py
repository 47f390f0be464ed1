"""The schema of a kind of entity: its records, files and audit events follow from it.

A :class:`Kind` lists the fields of an entity with their types. The form of its records, the YAML
that an export writes and an import reads, the lines of a difference and the fields of audit events
are derived from that. The table of kinds is :data:`gateway.catalog.schema.table.KINDS`.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final, Literal, NamedTuple

from gateway.catalog.entities import Entity, key_of
from gateway.catalog.schema.field_types import FieldType
from gateway.catalog.schema.shapes import Field, Shape, place_in
from gateway.catalog.schema.yaml_values import Value


class Section(NamedTuple):
    """The section of a kind in a file. ``form``: the only field of the only entity; fields by key;
    the only field by key; or a list of fields, the key among them."""

    name: str
    form: Literal["value", "fields by key", "value by key", "list"]
    always: bool = False
    """True for a section that is written even if it is empty."""
    order: Callable[[Any], Any] | None = None
    """The sort key of a list; None: the entity's key."""


_EARLY: Final = 2
_LATE: Final = 5


@dataclass(frozen=True, eq=False)
class Kind:
    """A kind of entity.

    ``entity`` is its dataclass, which says its name and key; ``fields`` are in the order in which
    files and people have them.
    """

    entity: type[Entity]
    fields: Sequence[Field]
    level: int = 1
    """The catalog format that a reader of this kind needs."""
    section: Section | None = None
    """None for kinds that describe running gateways or the catalog's topic, and are not
    exported."""
    title: str = ""
    """A phrase for an entity in messages: ``{0}`` and so on are the parts of its key."""
    resource: Callable[[Any], str] | None = None
    """Returns the resource of an entity, in logical names; None: the key is the resource."""
    check: Callable[[Any], object] | None = None
    """Raises InvalidName for an entity that must not be imported."""
    nothing: Any = None
    """The entity that is equal to the absence of an entity; snapshots do not keep it."""
    counted: bool = True
    """False for kinds that describe the catalog itself, which its size leaves out."""
    audited: bool = True
    """False for kinds that a change needs while it is made, and that hold nothing lasting."""
    nested: bool = False
    """True if keys are paths: entities are listed outermost first."""
    added: int = _EARLY
    """The order in which an import adds kinds, lowest first: dependencies before their
    dependents."""
    removed: int = _LATE
    """The order in which an import removes kinds, likewise."""

    @property
    def name(self) -> str:
        """The kind's name, with which the keys of its records begin."""
        return self.entity.KIND

    # -- the key ----------------------------------------------------------------------------------

    def place_of(self, entity: Any) -> Hashable:
        """The key of an entity in snapshots: the value of its key field, or a tuple of several."""
        values = tuple(getattr(entity, name) for name in self.entity.KEY)
        return values[0] if len(values) == 1 else values

    def place(self, identity: str) -> Hashable:
        """The key in snapshots for a record's key. Raises ValueError."""
        values = tuple(
            kind.of_key(part)
            for (_, kind), part in zip(self._key, self.parts(identity), strict=True)
        )
        return values[0] if len(values) == 1 else values

    def parts(self, identity: str) -> list[str]:
        """The parts of a key, as many as the kind's key has; a missing part is empty."""
        missing = len(self.entity.KEY) - 1
        parts = identity.split("/", missing) if missing > 0 else [identity] * (missing + 1)
        return parts + [""] * (missing + 1 - len(parts))

    # -- records ----------------------------------------------------------------------------------

    def to_record(self, entity: Any) -> dict[str, Any]:
        """The fields of an entity as JSON, its key left out."""
        return self._state.to_record(entity)

    def of_record(self, identity: str, fields: dict[str, Any]) -> Any:
        """The entity with these fields. Raises ValueError, TypeError, KeyError and AttributeError
        for malformed fields."""
        return self._state.of_record(fields, **self._arguments(identity))

    def _arguments(self, identity: str) -> dict[str, Any]:
        if len(self._key) == 1:
            name, kind = self._key[0]
            return {name: kind.of_key(identity)}
        parts = self.parts(identity)
        if not parts and identity:
            raise ValueError("there is only one such record")
        if not all(parts):
            raise ValueError(f"neither a {' nor a '.join(self.entity.KEY)}")
        return dict(zip(self.entity.KEY, parts, strict=True))

    def lasting(self, entity: Any) -> Any:
        """The entity without the fields that describe only the decision that wrote it."""
        return self._without(self._of_decision, entity)

    # -- files ------------------------------------------------------------------------------------

    @property
    def is_secret(self) -> bool:
        """True for a kind whose entities are in the secrets' file."""
        return any(field.secret for field in self.fields)

    def to_section(self, entities: Iterable[Any]) -> Any:
        """The content of the kind's section in a file."""
        assert self.section is not None
        order = self.section.order or identity_of
        found = sorted(entities, key=order)
        match self.section.form:
            case "list":
                return [self._whole.to_file(one) for one in found]
            case "fields by key":
                return {identity_of(one): self._state.to_file(one) for one in found}
            case "value by key":
                return {identity_of(one): self._only_value(one) for one in found}
            case "value":
                return self._only_value(found[0])

    def items(self, section: Value) -> Iterable[tuple[str, Value]]:
        """The key and value of each entity in a section; the key is empty in a section whose values
        hold it, or of a single entity. Raises BadValue."""
        assert self.section is not None
        match self.section.form:
            case "list":
                return (("", value) for value in section.items())
            case "value":
                return [("", section)]
            case _:
                return section.entries()

    def of_file(self, identity: str, value: Value) -> Any:
        """The entity of an item of :meth:`items`. Raises BadValue."""
        assert self.section is not None
        if self.section.form == "list":
            return self._whole.of_file(value)
        key = self._arguments(identity)
        if self.section.form == "fields by key":
            return self._state.of_file(value, **key)
        (field,) = self._state.fields
        return self.entity(**key, **{field.name: field.type.of_file(value)})

    def _only_value(self, entity: Any) -> Any:
        (field,) = self._state.fields
        return field.type.to_file(getattr(entity, field.name))

    # -- what is shown ----------------------------------------------------------------------------

    def thing(self, identity: str) -> str:
        """A phrase for an entity in messages."""
        return (self.title or f"{self.name} {{0}}").format(*(self.parts(identity) or [identity]))

    def shown(self, entity: Any) -> dict[str, Any]:
        """The fields of an entity in the form of a file, without secrets."""
        listed = self.section is not None and self.section.form == "list"
        if self.is_secret or not listed:
            return self._public.to_file(entity)
        return self._whole.to_file(entity)

    def settled(self, entity: Any) -> Any:
        """The entity without its notes of work in progress."""
        return self._without(self._notes, entity)

    @cached_property
    def state_fields(self) -> tuple[Field, ...]:
        """The fields that are neither secret nor in the key."""
        return self._public.fields

    @cached_property
    def listed(self) -> Field | None:
        """The field of a kind whose only field is a set, such as a list of namespaces."""
        fields = self._public.fields
        return fields[0] if len(fields) == 1 and fields[0].type.unordered else None

    def resource_of(self, entity: Any) -> str:
        """The resource of an entity, in logical names; empty for a kind with a single entity."""
        return identity_of(entity) if self.resource is None else self.resource(entity)

    def to_audit(self, entity: Any) -> dict[str, Any]:
        """The fields of an audit event, defaults included."""
        return self._audited.to_audit(entity)

    # -- derived ----------------------------------------------------------------------------------

    @cached_property
    def _whole(self) -> Shape:
        return Shape(self.entity, self.fields)

    @cached_property
    def _state(self) -> Shape:
        return Shape(self.entity, [one for one in self.fields if one.name not in self.entity.KEY])

    @cached_property
    def _public(self) -> Shape:
        return Shape(self.entity, [one for one in self._state.fields if not one.secret])

    @cached_property
    def _audited(self) -> Shape:
        # Audit events have the fields in the order in which the dataclass has them.
        told = [one for one in self._public.fields if not one.of_decision]
        return Shape(self.entity, sorted(told, key=lambda one: place_in(self.entity, one.name)))

    @cached_property
    def _key(self) -> tuple[tuple[str, FieldType], ...]:
        types = {field.name: field.type for field in self.fields}
        return tuple((name, types[name]) for name in self.entity.KEY)

    @cached_property
    def _notes(self) -> Mapping[str, Any]:
        return {one.name: one.default for one in self._state.fields if one.note}

    @cached_property
    def _of_decision(self) -> Mapping[str, Any]:
        return {one.name: one.default for one in self._state.fields if one.of_decision}

    @staticmethod
    def _without(defaults: Mapping[str, Any], entity: Any) -> Any:
        return dataclasses.replace(entity, **defaults) if defaults else entity


def identity_of(entity: Entity) -> str:
    """The key of an entity, without its kind."""
    return key_of(entity)[1]
