"""Time limits for the parts of a client's request in other volumes of a tree."""

from __future__ import annotations

from typing import Final

from gateway.rules.declaration import Effect

LOOKUP_SECONDS: Final = 0.5
"""Seconds that a lookup may take in a cluster other than the node's, or together with such a
lookup."""

DESCRIBE_SECONDS: Final = 10.0
"""Seconds that a lookup in the node's own cluster may take, and a description for an operator in
any cluster: only the client that requests it waits, and an operator sees its time-out as an
error."""

CHANGE_SECONDS: Final = 25.0
"""Seconds that any other request may take: less than the 30 s that admin clients wait by default,
so that they get the other volumes' responses."""


def seconds_for(effect: Effect, *, near: bool) -> float:
    """The seconds that a part of a request may take. ``near``: the part is the whole request, and
    is for the node's own cluster."""
    if effect is Effect.LOOKUP:
        return DESCRIBE_SECONDS if near else LOOKUP_SECONDS
    return DESCRIBE_SECONDS if effect is Effect.DESCRIPTION else CHANGE_SECONDS
