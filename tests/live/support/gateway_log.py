"""What a gateway has complained of in its log."""

from __future__ import annotations

import re
from typing import Final

from devkit.gateway_process import GatewayProcess

_COMPLAINT: Final = re.compile(" WARNING | ERROR ")
_RESET: Final = tuple(f"client connection failed: [Errno {number}]" for number in (32, 104))
"""librdkafka resets a connection that it closes before it has read all of it."""


def complaints(gateway: GatewayProcess, *known: str) -> list[str]:
    """The warnings and errors of a gateway, but for those that have a text in them that is known,
    and for clients that reset their connections when they end: which of them do is chance."""
    left_out = (*_RESET, *known)
    return [
        line
        for line in gateway.log().splitlines()
        if _COMPLAINT.search(line) and not any(text in line for text in left_out)
    ]
