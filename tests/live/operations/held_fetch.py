"""A Fetch that is held until a record comes.

While it drains, a gateway runs on for that request alone, and its counts can be queried meanwhile.
"""

from __future__ import annotations

from collections import Counter
from datetime import timedelta
from typing import Final

from devkit.traffic_sums import Counts
from protocol import messages
from tests.live.support.wire import Wire, entity, request_frame

_FETCH, _METADATA, _VERSION = 1, 3, 4
_OF_NO_TOPIC: Final = b"\x00\x00\x00\x00\x00"
_SECONDS: Final = 600
"""How long the broker waits for a record."""


def hold(wire: Wire, topic: str) -> bytes:
    """Send the request, for partition 0; returns its frame.

    It is sent together with a Metadata request that has been answered, so the gateway has it.
    """
    partition = {"partition": 0, "partition_max_bytes": 1_000}
    values = {
        "replica_id": -1,
        "max_wait": timedelta(seconds=_SECONDS),
        "min_bytes": 1,
        "max_bytes": 1_000,
        "topics": [{"topic": topic, "partitions": [partition]}],
    }
    body = messages.write(entity(messages.message_class("FetchRequest", _VERSION), values))
    held = request_frame(_FETCH, _VERSION, body, 2)
    wire.send(request_frame(_METADATA, _VERSION, _OF_NO_TOPIC, 1) + held)
    wire.frame()
    return held


def one_fetch(namespace: str, bytes_in: int, bytes_out: int) -> Counts:
    """The counts of the held Fetch once its response had a record; bytes are whole frames."""
    return Counter(
        {
            ("requests_total", namespace, "Fetch", str(_VERSION)): 1,
            ("bytes_total", namespace, "in"): bytes_in,
            ("bytes_total", namespace, "out"): bytes_out,
            ("records_total", namespace, "Fetch"): 1,
            ("gateway_seconds_count", "Fetch"): 1,
            ("broker_seconds_count", "Fetch"): 1,
        }
    )
