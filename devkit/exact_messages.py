"""Makes messages from exactly the given fields: a misspelt name raises an error, not a default."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from protocol.messages import element_class, has_field, make


def exactly(cls: type, values: Mapping[str, object]) -> Any:
    """An entity of ``cls``, built by ``protocol.messages.make``. Raises TypeError if this version,
    or a part of it, lacks a field."""
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
