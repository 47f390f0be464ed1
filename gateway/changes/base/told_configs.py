"""Waits until every broker applies the new configs of topics.

``base.inherited.own_of`` concludes from a broker's configs which keys are a topic's own. If a
broker still described a former inherited value, that value would become the topic's own for good.
So the catalog keeps a key as the topic's own, or as yet to be applied, until brokers describe the
new value.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, Final

from gateway.brokers.messages import describe_configs
from gateway.changes.base.broker import batches, dynamic_configs
from gateway.changes.base.config_values import is_same_value
from gateway.changes.base.context import Context
from gateway.changes.base.resources import DELETE, SET, Operation
from gateway.changes.base.told_everywhere import late_somewhere
from gateway.error_codes import UNKNOWN_TOPIC_OR_PARTITION
from protocol.messages import Request

log = logging.getLogger(__name__)

_MOST_LOGGED: Final = 5

Values = Mapping[str, Mapping[str, str | None]]
"""Values by flat name and key; None: the topic sets no value."""


def values_after(operations: Mapping[str, Sequence[Operation]]) -> dict[str, dict[str, str | None]]:
    """The values that operations set and delete; APPEND and SUBTRACT are left out."""
    return {
        flat: {
            one.key: one.value if one.operation == SET else None
            for one in given
            if one.operation in (SET, DELETE)
        }
        for flat, given in operations.items()
    }


async def late_configs(
    context: Context,
    values: Values,
    *,
    holds: Callable[[str], bool] = lambda _: True,
    patience: float | None = None,
    but: Callable[[str], Collection[str]] | None = None,
) -> frozenset[str]:
    """The flat names for which some broker describes other values than these after ``patience``
    seconds.

    ``holds``: whether a flat name still counts on the newest catalog. ``but``: the keys of a flat
    name that may have any value besides, while no further key may have a value; None: all further
    keys may. A topic that a broker does not describe is left out, unless the cluster lists it: then
    that broker has yet to learn of the topic.
    """

    def requests(flats: Collection[str]) -> list[Request]:
        current = [flat for flat in sorted(flats) if holds(flat)]
        return [describe_configs(batch, keys_of(batch)) for batch in batches(current)]

    def keys_of(flats: Collection[str]) -> list[str] | None:
        return None if but else sorted({key for flat in flats for key in values[flat]})

    def late(response: Any) -> list[str]:
        results = (one for one in response.results if one.resource_name in values)
        return [one.resource_name for one in results if differs(one.resource_name, one)]

    def differs(flat: str, result: Any) -> bool:
        if result.error_code:
            unknown = result.error_code == UNKNOWN_TOPIC_OR_PARTITION
            return unknown and context.cluster.index.exists(flat.encode())
        held, wanted = dynamic_configs(result.configs), values[flat]
        if but and not wanted.keys() >= held.keys() - set(but(flat)):
            return True
        return any(not is_same_value(held.get(key), value) for key, value in wanted.items())

    flats = [flat for flat, wanted in values.items() if wanted or but]
    found = await late_somewhere(context, flats, requests, late, patience)
    if found:
        shown = ", ".join(sorted(found)[:_MOST_LOGGED])
        log.warning("brokers go on telling former configs of %d topics: %s", len(found), shown)
    return found
