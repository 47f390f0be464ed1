"""What the gateway is to reach, and what each metric is compared with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Final

from bench.loads import BULK, CLOSED, PACED, PIPELINED

IDS: Final = "gateway-ids"
NAMES: Final = "gateway-names"
BY_ID: Final = (IDS, f"{IDS}-compiled")
BY_NAME: Final = (NAMES, f"{NAMES}-compiled")

IDLE: Final = "idle connections"
AFTER_BULK: Final = "after bulk"
HANDSHAKES: Final = "TLS handshakes"

RSS_GIB: Final = 10.0
"""The volume after which the resident set counts."""


class Relation(Enum):
    """The comparison of a metric with the same metric of another target in the same round."""

    TIMES_HAPROXY = "x HAProxy"
    OVER_DIRECT = "us over direct"


@dataclass(frozen=True, slots=True)
class Bar:
    """At most ``limit``, of the value itself or of what it is relative to another target."""

    limit: float
    relative: bool


_RELATIONS: Final[Mapping[tuple[str, str], Relation]] = {
    **{(load, "cpu"): Relation.TIMES_HAPROXY for load in (*BULK, *PIPELINED, *CLOSED, *PACED)},
    **{(load, p): Relation.OVER_DIRECT for load in (*CLOSED, *PACED) for p in ("p50", "p99")},
    (HANDSHAKES, "cpu"): Relation.TIMES_HAPROXY,
    (IDLE, "kib"): Relation.TIMES_HAPROXY,
    (AFTER_BULK, "rss"): Relation.TIMES_HAPROXY,
}

_GATEWAYS: Final = (*BY_ID, *BY_NAME)

_BARS: Final[Mapping[tuple[str, str, str], Bar]] = {
    **{(load, t, "cpu"): Bar(1.3, relative=True) for load in BULK for t in BY_ID},
    **{(load, t, "cpu"): Bar(1.6, relative=True) for load in BULK for t in BY_NAME},
    **{(load, t, "cpu"): Bar(1.8, relative=True) for load in PIPELINED for t in _GATEWAYS},
    **{(load, t, "p50"): Bar(100.0, relative=True) for load in PACED for t in _GATEWAYS},
    **{(IDLE, t, "kib"): Bar(10.0, relative=False) for t in _GATEWAYS},
    **{(AFTER_BULK, t, "rss"): Bar(80.0, relative=False) for t in _GATEWAYS},
}


def relation_of(load: str, metric: str) -> Relation | None:
    """The comparison for a metric; None for a metric that is only shown."""
    return _RELATIONS.get((load, metric))


def bar_of(load: str, target: str, metric: str) -> Bar | None:
    """The bar for a target; None for peers, and for metrics without one."""
    return _BARS.get((load, target, metric))
