"""Requests that name groups (or coordinator keys) in an array: some refused, the others served."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from gateway.decision import Denied
from gateway.rules.api_keys import ApiKey
from gateway.rules.item_lists import (
    ItemShape,
    ItemSplit,
    KeptItems,
    merge_items,
    refuse_all_items,
    split_items,
)

NO_NODE = -1

GROUP_SHAPES: tuple[ItemShape, ...] = (
    ItemShape(ApiKey.OFFSET_FETCH, 8, 10, "groups", ("group_id",), "groups", ("group_id",)),
    ItemShape(
        ApiKey.FIND_COORDINATOR,
        4,
        6,
        "coordinator_keys",
        (),
        "coordinators",
        ("key",),
        {"node_id": NO_NODE, "host": "", "port": NO_NODE},
    ),
    ItemShape(ApiKey.DESCRIBE_GROUPS, 0, 6, "groups", (), "groups", ("group_id",)),
    ItemShape(ApiKey.DELETE_GROUPS, 0, 2, "groups_names", (), "results", ("group_id",)),
    ItemShape(ApiKey.CONSUMER_GROUP_DESCRIBE, 0, 1, "group_ids", (), "groups", ("group_id",)),
)
"""THE table: where each API names groups; all ids are keys in the raw, UTF-8."""


@cache
def group_shape(api_key: int, version: int) -> ItemShape | None:
    """The row of an API and version; None where no array holds group ids."""
    for shape in GROUP_SHAPES:
        if shape.api_key == api_key and shape.first <= version <= shape.last:
            return shape
    return None


def split(
    api_key: int, version: int, body: bytes, denied: Mapping[bytes, Denied]
) -> ItemSplit[bytes]:
    """Take the refused groups out of a request; ``denied`` is by raw group id (or coordinator key).

    Raises ProtocolError, and LookupError for an API that names no groups in an array.
    """
    return split_items(_shape(api_key, version), version, body, denied)


def merge(kept: KeptItems[bytes], body: bytes | None) -> bytes:
    """Put the kept errors into the response; None when nothing was forwarded.

    Raises ProtocolError.
    """
    return merge_items(kept, body)


def refuse_all(api_key: int, version: int, body: bytes, why: Denied) -> bytes:
    """The response that answers every group of a request with ``why``. Raises as ``split``."""
    return refuse_all_items(_shape(api_key, version), version, body, why)


def _shape(api_key: int, version: int) -> ItemShape:
    shape = group_shape(api_key, version)
    if shape is None:
        raise LookupError(f"requests of API {api_key} version {version} list no groups")
    return shape
