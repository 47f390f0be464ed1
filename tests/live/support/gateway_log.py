"""The warnings and errors in a gateway's log."""

from __future__ import annotations

import re
from typing import Final

from devkit.gateway_process import GatewayProcess

_COMPLAINT: Final = re.compile(" WARNING | ERROR ")
_RESET: Final = tuple(f"client connection failed: [Errno {number}]" for number in (32, 104))
"""librdkafka resets a connection if it closes it before it has read all of it."""


def complaints(gateway: GatewayProcess, *known: str) -> list[str]:
    """The warnings and errors of a gateway, except the expected lines.

    Lines that contain a ``known`` text, and lines about clients that reset their connections when
    they end, because these depend on chance.
    """
    left_out = (*_RESET, *known)
    return [
        line
        for line in gateway.log().splitlines()
        if _COMPLAINT.search(line) and not any(text in line for text in left_out)
    ]
