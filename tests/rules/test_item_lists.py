"""What holds for every list of items, whatever it is that they name."""

from __future__ import annotations

import pytest

from gateway.decision import Denied
from gateway.rules.configs import RESOURCE_SHAPES
from gateway.rules.group_lists import GROUP_SHAPES
from gateway.rules.item_lists import AskedItem, ItemShape, KeptItems, merge_items, split_items
from gateway.rules.nested import element_class, has_field, make
from protocol import messages
from protocol.errors import ProtocolError
from protocol.schema import request_name, response_name

DENIED = Denied(30, "", "access")
SHAPES = [*GROUP_SHAPES, *RESOURCE_SHAPES.values()]
DELETE_GROUPS = next(shape for shape in SHAPES if shape.asked == "groups_names")


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.api_key.name)
def test_the_fields_of_a_row_exist(shape: ItemShape) -> None:
    for version in range(shape.first, shape.last + 1):
        request = messages.message_class(request_name(shape.api_key), version)
        response = messages.message_class(response_name(shape.api_key), version)
        item = element_class(request, shape.asked)
        assert all(has_field(item, name) for name in shape.asked_by)
        assert shape.asked_by or issubclass(item, str)
        answer = element_class(response, shape.answered)
        assert all(has_field(answer, name) for name in (*shape.answered_by, "error_code"))
        assert all(has_field(answer, name) for name in shape.error_values)


def test_what_nobody_asked_for_comes_last_and_what_is_missing_stays_out() -> None:
    cls = messages.message_class("DeleteGroupsResponse", 2)
    item = element_class(cls, "results")
    results = tuple(make(item, {"group_id": group}) for group in ("extra", "b"))
    kept = KeptItems(
        DELETE_GROUPS,
        2,
        (
            AskedItem(b"a", b"a", DENIED),
            AskedItem(b"gone", b"gone", None),
            AskedItem(b"b", b"b", None),
        ),
    )
    merged = merge_items(kept, messages.write(make(cls, {"results": results})))
    shown = messages.parse("DeleteGroupsResponse", 2, merged).results
    assert [(r.group_id, int(r.error_code)) for r in shown] == [("a", 30), ("b", 0), ("extra", 0)]


def test_garbage_is_a_protocol_error() -> None:
    with pytest.raises(ProtocolError):
        split_items(DELETE_GROUPS, 2, b"\xff", {})
    with pytest.raises(ProtocolError):
        merge_items(KeptItems(DELETE_GROUPS, 2, ()), b"\xff")
