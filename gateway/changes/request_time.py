"""How long the broker is given for a change that a client waits for."""

from __future__ import annotations

from datetime import timedelta
from typing import Final

SHORTEST: Final = timedelta(seconds=5)
"""A broker that is given less answers before it knows; what was made would not get its entry."""

LONGEST: Final = timedelta(seconds=30)
"""Less than BrokerAdmin waits for an answer."""


def broker_time(asked: timedelta) -> timedelta:
    """The ``timeout_ms`` of the gateway's own request, for the client's."""
    return min(max(asked, SHORTEST), LONGEST)
