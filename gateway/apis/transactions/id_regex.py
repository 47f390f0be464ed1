"""Regular expressions over transactional ids (KIP-1152), which the gateway evaluates over the
client's own ids: a broker would evaluate them over the flat ids of every tenant.

An id may be 130 times as long as a topic's name, and a listing has every id: the bounds of a match,
and of all matches of a request, are those of all expressions (``gateway.name_regex``).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from time import thread_time

from gateway.name_regex import NameRegex


def matching_ids(
    regex: NameRegex, ids: Mapping[bytes, bytes], clock: Callable[[], float] = thread_time
) -> set[bytes]:
    """The keys of ``ids`` whose values the whole expression matches. Raises CostsTooMuch.

    ``ids`` maps each broker's id to the client's; ``clock`` returns CPU seconds since any fixed
    point.
    """
    # RE2 matches no byte that is not UTF-8, but a client sees a replacement for it.
    texts = ((key, shown.decode(errors="replace").encode()) for key, shown in ids.items())
    return set(regex.keys_of(texts, clock))
