"""DescribeConfigs, AlterConfigs, IncrementalAlterConfigs: some resources refused, others served."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

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

Resource = tuple[int, bytes]
"""A resource type (2 is a topic, 4 a broker, 32 a group; Kafka's ConfigResource) and a raw name."""

_NAMED_BY = ("resource_type", "resource_name")

RESOURCE_SHAPES: Mapping[ApiKey, ItemShape] = MappingProxyType(
    {
        shape.api_key: shape
        for shape in (
            ItemShape(ApiKey.DESCRIBE_CONFIGS, 1, 4, "resources", _NAMED_BY, "results", _NAMED_BY),
            ItemShape(ApiKey.ALTER_CONFIGS, 0, 2, "resources", _NAMED_BY, "responses", _NAMED_BY),
            ItemShape(
                ApiKey.INCREMENTAL_ALTER_CONFIGS,
                0,
                1,
                "resources",
                _NAMED_BY,
                "responses",
                _NAMED_BY,
            ),
        )
    }
)
"""THE table: where each API names resources."""


def split(
    api_key: int,
    version: int,
    body: bytes,
    denied: Mapping[Resource, Denied],
    aliases: Mapping[Resource, Resource] = MappingProxyType({}),
) -> ItemSplit[Resource]:
    """Take the refused resources out of a request.

    ``aliases`` maps a resource under its second spelling to the first. Raises ProtocolError, and
    KeyError for an API that names no resources.
    """
    return split_items(RESOURCE_SHAPES[ApiKey(api_key)], version, body, denied, aliases)


def merge(kept: KeptItems[Resource], body: bytes | None) -> bytes:
    """Put the kept errors into the response; None when nothing was forwarded.

    Raises ProtocolError.
    """
    return merge_items(kept, body)


def refuse_all(api_key: int, version: int, body: bytes, why: Denied) -> bytes:
    """The response that answers every resource of a request with ``why``. Raises as ``split``."""
    return refuse_all_items(RESOURCE_SHAPES[ApiKey(api_key)], version, body, why)
