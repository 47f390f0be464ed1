"""Lists of groups and other items: the gateway answers the rejected items, the broker the others.

test_config_resources.py has config resources, which are more complex.
"""

from __future__ import annotations

from typing import Any

import pytest

from gateway.apis.table import APIS
from gateway.decision import Denied
from gateway.exchanges.api import Api
from gateway.rules.item_lists import (
    KeptItems,
    RequestedItem,
    merge_items,
    reject_all_items,
    split_items,
)
from protocol import messages
from protocol.errors import ProtocolError
from protocol.messages import element_class, make
from tests.rules.apis import api_named, items_of

DENIED = Denied(30, "not your group", "access")
CASES = [
    pytest.param(api, version, id=f"{api.name}-{version}")
    for api in APIS.values()
    for shape in api.items
    for version in api.versions_of(shape)
    if "resource_name" not in shape.asked_by
]
DELETE_GROUPS = api_named("DeleteGroups")


def ask(api: Api, version: int, *groups: str) -> bytes:
    shape = items_of(api, version)
    cls = messages.message_class(f"{api.name}Request", version)
    items: tuple[Any, ...] = groups
    if shape.asked_by:
        item_class = element_class(cls, shape.asked)
        items = tuple(make(item_class, {shape.asked_by[0]: group}) for group in groups)
    return messages.write(make(cls, {shape.asked: items}))


def asked(api: Api, version: int, body: bytes) -> list[str]:
    shape = items_of(api, version)
    request = messages.parse(f"{api.name}Request", version, body)
    items = getattr(request, shape.asked)
    return [getattr(item, shape.asked_by[0]) for item in items] if shape.asked_by else list(items)


def serve(api: Api, version: int, body: bytes) -> bytes:
    shape = items_of(api, version)
    cls = messages.message_class(f"{api.name}Response", version)
    item_class = element_class(cls, shape.answered)
    groups = reversed(asked(api, version, body))
    items = tuple(make(item_class, {shape.answered_by[0]: group}) for group in groups)
    return messages.write(make(cls, {shape.answered: items}))


def codes(api: Api, version: int, body: bytes) -> list[tuple[str, int]]:
    shape = items_of(api, version)
    response = messages.parse(f"{api.name}Response", version, body)
    items = getattr(response, shape.answered)
    return [(getattr(item, shape.answered_by[0]), int(item.error_code)) for item in items]


@pytest.mark.parametrize(("api", "version"), CASES)
def test_two_of_three_rejected(api: Api, version: int) -> None:
    body = ask(api, version, "a", "b", "c")
    parts = split_items(api, version, body, {b"a": DENIED, b"c": DENIED})
    assert parts.body is not None
    assert asked(api, version, parts.body) == ["b"]
    response = merge_items(parts.kept, serve(api, version, parts.body))
    assert codes(api, version, response) == [("a", 30), ("b", 0), ("c", 30)]


@pytest.mark.parametrize(("api", "version"), CASES)
def test_all_rejected(api: Api, version: int) -> None:
    body = ask(api, version, "a", "b")
    parts = split_items(api, version, body, {b"a": DENIED, b"b": DENIED})
    assert parts.body is None
    response = merge_items(parts.kept, None)
    assert codes(api, version, response) == [("a", 30), ("b", 30)]
    assert response == reject_all_items(api, version, body, DENIED)


@pytest.mark.parametrize(("api", "version"), CASES)
def test_none_rejected(api: Api, version: int) -> None:
    body = ask(api, version, "b", "a", "b")
    parts = split_items(api, version, body, {b"c": DENIED})
    assert parts.body == body
    response = merge_items(parts.kept, serve(api, version, body))
    assert codes(api, version, response) == [("b", 0), ("a", 0), ("b", 0)]


def test_the_message_is_kept() -> None:
    api = api_named("DescribeGroups")
    parts = split_items(api, 6, ask(api, 6, "a"), {b"a": DENIED})
    response = messages.parse("DescribeGroupsResponse", 6, merge_items(parts.kept, None))
    assert response.groups[0].error_message == DENIED.message


def test_a_coordinator_key_has_no_coordinator() -> None:
    api = api_named("FindCoordinator")
    parts = split_items(api, 6, ask(api, 6, "a"), {b"a": DENIED})
    (found,) = messages.parse(
        "FindCoordinatorResponse", 6, merge_items(parts.kept, None)
    ).coordinators
    assert (found.node_id, found.host, found.port) == (-1, "", -1)


def test_an_api_without_a_list_is_a_lookup_error() -> None:
    api = api_named("FindCoordinator")
    assert api.item_shape(3) is None
    with pytest.raises(LookupError):
        split_items(api, 3, b"", {})
    with pytest.raises(LookupError):
        reject_all_items(api, 3, b"", DENIED)


def test_what_nobody_asked_for_comes_last_and_what_is_missing_stays_out() -> None:
    cls = messages.message_class("DeleteGroupsResponse", 2)
    item = element_class(cls, "results")
    results = tuple(make(item, {"group_id": group}) for group in ("extra", "b"))
    kept = KeptItems(
        DELETE_GROUPS,
        items_of(DELETE_GROUPS, 2),
        2,
        (
            RequestedItem(b"a", b"a", DENIED),
            RequestedItem(b"gone", b"gone", None),
            RequestedItem(b"b", b"b", None),
        ),
    )
    merged = merge_items(kept, messages.write(make(cls, {"results": results})))
    shown = messages.parse("DeleteGroupsResponse", 2, merged).results
    assert [(r.group_id, int(r.error_code)) for r in shown] == [("a", 30), ("b", 0), ("extra", 0)]


def test_garbage_is_a_protocol_error() -> None:
    with pytest.raises(ProtocolError):
        split_items(DELETE_GROUPS, 2, b"\xff", {})
    with pytest.raises(ProtocolError):
        merge_items(KeptItems(DELETE_GROUPS, items_of(DELETE_GROUPS, 2), 2, ()), b"\xff")
