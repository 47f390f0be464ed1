"""Error codes, types, states and sources that kio and the gateway do not know are numbers like
others.

Every 8-bit and 16-bit integer of a message counts, because Kafka has no other fields for them.
"""

from __future__ import annotations

from dataclasses import replace
from enum import Enum
from typing import Any, Final

import pytest

from protocol import long_messages, messages, pausing
from protocol.schema import FieldSpec, StructSpec, message_spec, struct_spec
from tests.protocol.strategies import CASES, Case

UNKNOWN: Final = {"error_code": 12345, "int16": 12345, "int8": 113}
"""The values of fields, by their wire type."""


def is_open(spec: StructSpec) -> bool:
    """Whether a struct, or a struct in it, has such a field."""
    return any(
        field.type in UNKNOWN or (field.struct is not None and is_open(field.struct))
        for field in spec.fields + spec.tagged
    )


def with_unknown_codes(entity: Any) -> Any:
    """The entity with an unknown value in every such field; each array has a single element."""
    cls: Any = type(entity)
    spec = struct_spec(cls)
    changes = {field.name: _unknown(cls, field) for field in spec.fields + spec.tagged}
    return replace(entity, **{name: value for name, value in changes.items() if value is not None})


def _unknown(cls: Any, field: FieldSpec) -> Any:
    """The value of a field, or None to leave it."""
    if field.struct is not None:
        element = messages.element_class(cls, field.name)
        value = with_unknown_codes(messages.build(element))
    elif field.type in UNKNOWN:
        value = UNKNOWN[field.type]
    else:
        return None
    return (value,) if field.array else value


def codes(entity: Any) -> list[int]:
    """The values of all such fields."""
    cls: Any = type(entity)
    spec = struct_spec(cls)
    found: list[int] = []
    for field in spec.fields + spec.tagged:
        value = getattr(entity, field.name)
        for each in value or () if field.array else (value,):
            if field.type in UNKNOWN:
                found.append(each)
            elif field.struct is not None and each is not None:
                found += codes(each)
    return found


OPEN: Final = [case for case in CASES if is_open(message_spec(*case).body)]


@pytest.mark.parametrize("case", OPEN, ids=lambda case: f"{case[0]}-{case[1]}")
def test_they_are_read_and_written_as_they_are(case: Case) -> None:
    entity = with_unknown_codes(messages.build(messages.message_class(*case)))
    body = messages.write(entity)
    for read in (messages.parse, long_messages.read):
        found = read(*case, body)
        assert found == entity
        assert codes(found)
        assert set(codes(found)) <= set(UNKNOWN.values())
        assert not any(isinstance(code, Enum) for code in codes(found))
        assert messages.write(found) == body


def test_in_a_long_message(monkeypatch: pytest.MonkeyPatch) -> None:
    """A message that is read and written in pieces."""
    monkeypatch.setattr(long_messages, "SHORT", 40)
    monkeypatch.setattr(messages, "LONG", 10)
    topics = [{"name": f"topic-{number}", "error_code": 12345} for number in range(100)]
    body = messages.made("MetadataResponse", 12, {"topics": topics})
    pausing.on_pause(lambda: None)
    try:
        response = messages.parse("MetadataResponse", 12, body)
        assert {topic.error_code for topic in response.topics} == {12345}
        assert messages.write(response) == body
    finally:
        pausing.on_pause(None)
