"""Messages of exactly the fields that are given: a misspelt name is an error, not a default."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from protocol.messages import element_class, has_field, make


def exactly(cls: type, values: Mapping[str, object]) -> Any:
    """An entity of ``cls`` as ``protocol.messages.make`` builds it. Raises TypeError for a field
    that this version, or a part of it, does not have."""
    _check(cls, values)
    return make(cls, values)


def _check(cls: type, values: Mapping[str, object]) -> None:
    for name, value in values.items():
        if not has_field(cls, name):
            raise TypeError(f"{cls.__name__} has no field {name!r}")
        parts = value if isinstance(value, list | tuple) else [value]
        for part in parts:
            if isinstance(part, Mapping):
                _check(element_class(cls, name), part)
