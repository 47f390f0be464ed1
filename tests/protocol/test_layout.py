from __future__ import annotations

from struct import calcsize

import pytest

from protocol import messages
from protocol.layout import (
    FORMATS,
    SIZES,
    element_size,
    fields_size,
    least_element_size,
    least_struct_size,
)
from protocol.schema import FieldSpec, StructSpec, message_spec
from tests.protocol.strategies import CASES, Case


def inside(message: str, version: int, *names: str) -> tuple[FieldSpec, StructSpec]:
    """The field at the end of a path of names, and the struct that holds it."""
    struct = message_spec(message, version).body
    for name in names:
        field = next(field for field in struct.fields + struct.tagged if field.name == name)
        holder = struct
        struct = field.struct or struct
    return field, holder


def test_sizes_are_those_of_the_formats() -> None:
    assert {name: calcsize(f">{fmt}") for name, fmt in FORMATS.items()} == SIZES


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case[0]}-{case[1]}")
def test_no_message_is_smaller_than_its_least_size(case: Case) -> None:
    """If its strings and arrays are empty, and it has no tagged fields, it has just that size."""
    body = messages.write(messages.build(messages.message_class(*case)))
    assert least_struct_size(message_spec(*case).body) <= len(body)


def test_the_sizes_of_elements() -> None:
    partitions, _ = inside("FetchRequest", 12, "topics", "partitions")
    assert element_size(partitions) is None  # its tagged fields vary
    assert partitions.struct is not None
    assert fields_size(partitions.struct) == 32
    assert least_element_size(partitions, flexible=True) == 33
    partitions, _ = inside("FetchRequest", 11, "topics", "partitions")
    assert element_size(partitions) == least_element_size(partitions, flexible=False) == 28
    nodes, _ = inside("MetadataResponse", 12, "topics", "partitions", "isr_nodes")
    assert element_size(nodes) == least_element_size(nodes, flexible=True) == 4
    topics, _ = inside("DeleteTopicsRequest", 1, "topic_names")
    assert element_size(topics) is None
    assert least_element_size(topics, flexible=False) == 2


def test_a_struct_with_a_string_or_an_array_varies() -> None:
    for message, names in (
        ("MetadataResponse", ("brokers",)),
        ("MetadataResponse", ("topics", "partitions")),
    ):
        field, _ = inside(message, 0, *names)
        assert field.struct is not None
        assert fields_size(field.struct) is None
        assert element_size(field) is None


def test_a_struct_that_may_be_null_takes_a_byte() -> None:
    cursor, holder = inside("DescribeTopicPartitionsRequest", 0, "cursor")
    assert element_size(cursor) is None
    without = StructSpec(True, tuple(f for f in holder.fields if f is not cursor), ())
    assert least_struct_size(holder) == least_struct_size(without) + 1
