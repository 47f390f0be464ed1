"""Random messages of any API and version, built from kio's dataclasses alone."""

from __future__ import annotations

import datetime
import os
import uuid
from dataclasses import MISSING, Field, fields, is_dataclass
from functools import cache
from typing import Any, Final, get_type_hints

from hypothesis import settings
from hypothesis import strategies as st
from kio.static.primitive import Records, TZAware, i32Timedelta, i64Timedelta

from protocol.schema import (
    OPEN_TIMES,
    field_type,
    message_class,
    message_names,
    message_versions,
)

PROFILE: Final = settings.get_profile(os.environ.get("HYPOTHESIS_PROFILE", "quick"))

Case = tuple[str, int]
"""A message and its version."""

CASES: Final[tuple[Case, ...]] = tuple(
    (name, version) for name in message_names() for version in message_versions(name)
)

_STRINGS = ("", "a", "orders", "org.apache.kafka..orders", "ü€😀", "x" * 126, "x" * 127, "y" * 300)
# Compact lengths of one, two and three bytes, and sizes next to where they change.
_SIZES = (0, 1, 61, 126, 127, 128, 16382, 16383, 16384)


def _milliseconds(low: int, high: int) -> st.SearchStrategy[datetime.timedelta]:
    return st.integers(low, high).map(lambda value: datetime.timedelta(milliseconds=value))


def _instants() -> st.SearchStrategy[TZAware]:
    return st.integers(0, 2**32).map(
        lambda value: TZAware.parse(datetime.datetime.fromtimestamp(value, datetime.UTC))
    )


_SCALARS: Final[dict[str, st.SearchStrategy[Any]]] = {
    "bool": st.booleans(),
    "bytes": st.sampled_from([bytes([index % 251]) * size for index, size in enumerate(_SIZES)]),
    "datetime_i64": _instants(),
    "float64": st.sampled_from([0.0, -1.5, 1e300]),
    "int8": st.integers(-(2**7), 2**7 - 1),
    "int16": st.integers(-(2**15), 2**15 - 1),
    "int32": st.integers(-(2**31), 2**31 - 1),
    "int64": st.integers(-(2**63), 2**63 - 1),
    "records": st.sampled_from([Records(b"\xff" * size) for size in _SIZES]),
    "string": st.sampled_from(_STRINGS),
    "timedelta_i32": _milliseconds(-(2**31), 2**31 - 1).map(i32Timedelta.parse),
    "timedelta_i64": _milliseconds(-(2**40), 2**40).map(i64Timedelta.parse),
    "uint16": st.integers(0, 2**16 - 1),
    "uuid": st.sampled_from([None, uuid.UUID(int=1), uuid.UUID(int=2**128 - 1)]),
}


@cache
def messages_of(case: Case) -> st.SearchStrategy[Any]:
    """Entities of a message at a version."""
    return entities(message_class(*case))


@cache
def entities(cls: Any) -> st.SearchStrategy[Any]:
    """Entities of a class of kio."""
    hints = get_type_hints(cls)
    return st.builds(
        cls, **{field.name: _values(field, hints[field.name]) for field in fields(cls)}
    )


def _values(field: Field[Any], annotation: object) -> st.SearchStrategy[Any]:
    inner, nullable, array = field_type(annotation)
    of_structs = is_dataclass(inner)
    scalar: st.SearchStrategy[Any]
    scalar = entities(inner) if of_structs else _SCALARS[field.metadata["kafka_type"]]
    values = _arrays(scalar, of_structs) if array else scalar
    # kio cannot write null in a tagged field; it leaves the field out if null is its default.
    if nullable and (field.metadata.get("tag") is None or field.default is None):
        values = st.none() | values
    if field.default is not MISSING:
        values = st.just(OPEN_TIMES.get(field.name, field.default)) | values
    return values


def _arrays(
    elements: st.SearchStrategy[Any], of_structs: bool
) -> st.SearchStrategy[tuple[Any, ...]]:
    """Short arrays, and some whose compact count takes two bytes."""
    short = st.lists(elements, max_size=3).map(tuple)
    many = st.lists(elements, min_size=1, max_size=1).map(lambda one: tuple(one) * 130)
    return short if of_structs else short | many
