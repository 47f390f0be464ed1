"""Regular expressions over transactional ids (KIP-1152), which the gateway evaluates over the
client's own ids: a broker would evaluate them over the flat ids of every tenant.

An id may be 130 times as long as a topic's name, and a listing has every id. So each match, and all
matches of a request together, have a budget of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from time import monotonic
from typing import Final

from gateway.name_regex import NameRegex
from protocol.pausing import paced

MAX_STEPS: Final = 1_000_000
"""Bytes of an id times instructions of an expression. A match cannot be interrupted, and RE2 takes
up to 35 ns a step (measured), so the longest takes as long as that of a topic's name."""

LEAST_INSTRUCTIONS: Final = 100
"""A smaller expression counts as so many instructions: 20 of them took 94 ns a step."""

MAX_SECONDS: Final = 1.0
"""Seconds that all matches of one request may take, pauses between them excluded."""


class CostsTooMuch(Exception):
    """Evaluating the expression over the client's ids would take too long."""


def matching_ids(
    regex: NameRegex, ids: Mapping[bytes, bytes], clock: Callable[[], float] = monotonic
) -> set[bytes]:
    """The keys of ``ids`` whose values the whole expression matches. Raises CostsTooMuch.

    ``ids`` maps each broker's id to the client's; ``clock`` returns seconds since any fixed point.
    """
    instructions = max(regex.instructions, LEAST_INSTRUCTIONS)
    left, found = MAX_SECONDS, set()
    for broker_id, shown in paced(ids.items(), every=1):
        if left < 0 or len(shown) * instructions > MAX_STEPS:
            raise CostsTooMuch
        began = clock()
        if regex.matches(shown.decode(errors="replace")):
            found.add(broker_id)
        left -= clock() - began
    return found
