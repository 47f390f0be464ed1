"""Time limits for the parts of a client's request in other volumes of a tree."""

from __future__ import annotations

from typing import Final

from gateway.rules.declaration import Effect

LOOKUP_SECONDS: Final = 0.5
"""Seconds that a lookup may take in another cluster than the node's, or beside one in another."""

DESCRIBE_SECONDS: Final = 10.0
"""Seconds that a lookup in the node's own cluster may take, and a description for an operator
anywhere: only who requests it waits for it, and its time-out is an error that an operator sees."""

CHANGE_SECONDS: Final = 25.0
"""Seconds that anything else may take: less than the 30 s that admin clients wait by default, so
that they see what the other volumes have answered."""


def seconds_for(effect: Effect, *, near: bool) -> float:
    """The seconds that one part of a request may take. ``near``: it is all of the request, and of
    the node's own cluster."""
    if effect is Effect.LOOKUP:
        return DESCRIBE_SECONDS if near else LOOKUP_SECONDS
    return DESCRIBE_SECONDS if effect is Effect.DESCRIPTION else CHANGE_SECONDS
