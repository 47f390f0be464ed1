"""Lists of groups: the refused ones are answered here, the others by the broker."""

from __future__ import annotations

from typing import Any

import pytest

from gateway.decision import Denied
from gateway.rules import group_lists
from gateway.rules.api_keys import ApiKey
from gateway.rules.item_lists import ItemShape
from gateway.rules.nested import element_class, make
from protocol import messages
from protocol.schema import request_name, response_name

DENIED = Denied(30, "not your group", "access")
CASES = [
    pytest.param(shape, version, id=f"{shape.api_key.name}-{version}")
    for shape in group_lists.GROUP_SHAPES
    for version in range(shape.first, shape.last + 1)
]


def ask(shape: ItemShape, version: int, *groups: str) -> bytes:
    cls = messages.message_class(request_name(shape.api_key), version)
    items: tuple[Any, ...] = groups
    if shape.asked_by:
        item_class = element_class(cls, shape.asked)
        items = tuple(make(item_class, {shape.asked_by[0]: group}) for group in groups)
    return messages.write(make(cls, {shape.asked: items}))


def asked(shape: ItemShape, version: int, body: bytes) -> list[str]:
    request = messages.parse(request_name(shape.api_key), version, body)
    items = getattr(request, shape.asked)
    return [getattr(item, shape.asked_by[0]) for item in items] if shape.asked_by else list(items)


def serve(shape: ItemShape, version: int, body: bytes) -> bytes:
    cls = messages.message_class(response_name(shape.api_key), version)
    item_class = element_class(cls, shape.answered)
    groups = reversed(asked(shape, version, body))
    items = tuple(make(item_class, {shape.answered_by[0]: group}) for group in groups)
    return messages.write(make(cls, {shape.answered: items}))


def codes(shape: ItemShape, version: int, body: bytes) -> list[tuple[str, int]]:
    response = messages.parse(response_name(shape.api_key), version, body)
    items = getattr(response, shape.answered)
    return [(getattr(item, shape.answered_by[0]), int(item.error_code)) for item in items]


@pytest.mark.parametrize(("shape", "version"), CASES)
def test_two_of_three_refused(shape: ItemShape, version: int) -> None:
    body = ask(shape, version, "a", "b", "c")
    parts = group_lists.split(shape.api_key, version, body, {b"a": DENIED, b"c": DENIED})
    assert parts.body is not None
    assert asked(shape, version, parts.body) == ["b"]
    response = group_lists.merge(parts.kept, serve(shape, version, parts.body))
    assert codes(shape, version, response) == [("a", 30), ("b", 0), ("c", 30)]


@pytest.mark.parametrize(("shape", "version"), CASES)
def test_all_refused(shape: ItemShape, version: int) -> None:
    body = ask(shape, version, "a", "b")
    parts = group_lists.split(shape.api_key, version, body, {b"a": DENIED, b"b": DENIED})
    assert parts.body is None
    response = group_lists.merge(parts.kept, None)
    assert codes(shape, version, response) == [("a", 30), ("b", 30)]
    assert response == group_lists.refuse_all(shape.api_key, version, body, DENIED)


@pytest.mark.parametrize(("shape", "version"), CASES)
def test_none_refused(shape: ItemShape, version: int) -> None:
    body = ask(shape, version, "b", "a", "b")
    parts = group_lists.split(shape.api_key, version, body, {b"c": DENIED})
    assert parts.body == body
    response = group_lists.merge(parts.kept, serve(shape, version, body))
    assert codes(shape, version, response) == [("b", 0), ("a", 0), ("b", 0)]


def test_the_message_is_kept() -> None:
    shape = group_lists.group_shape(ApiKey.DESCRIBE_GROUPS, 6)
    assert shape is not None
    parts = group_lists.split(15, 6, ask(shape, 6, "a"), {b"a": DENIED})
    response = messages.parse("DescribeGroupsResponse", 6, group_lists.merge(parts.kept, None))
    assert response.groups[0].error_message == DENIED.message


def test_a_coordinator_key_has_no_coordinator() -> None:
    shape = group_lists.group_shape(ApiKey.FIND_COORDINATOR, 6)
    assert shape is not None
    parts = group_lists.split(10, 6, ask(shape, 6, "a"), {b"a": DENIED})
    (found,) = messages.parse(
        "FindCoordinatorResponse", 6, group_lists.merge(parts.kept, None)
    ).coordinators
    assert (found.node_id, found.host, found.port) == (-1, "", -1)


def test_an_api_without_a_list_is_a_lookup_error() -> None:
    assert group_lists.group_shape(ApiKey.FIND_COORDINATOR, 3) is None
    with pytest.raises(LookupError):
        group_lists.split(ApiKey.FIND_COORDINATOR, 3, b"", {})
