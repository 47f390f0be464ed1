"""Topics of the cluster: a Metadata of all of them and of one name, and the memory of a worker.

Clients log in, and an ACL lets them list every topic. No broker of a small machine holds so many
topics, so a relay before a real broker adds them (:mod:`bench.long_listings`).
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from functools import partial
from statistics import median
from typing import Final

from bench.client import AnswerError, Client, parse_response
from bench.entities import request_frame
from bench.growth.curves import Figure, Kind, Sweep, Values, curves
from bench.growth.plan import LEAST, Plan, Say, climb, repeated
from bench.listings import create
from bench.long_listings import NAMESPACE, VERSION, ListingGateway, listing_gateway
from bench.usage import cpu_seconds, resident_kib
from protocol.schema import error_name

_FIRST: Final = Figure("all topics, the first time", "CPU ms", Kind.TOTAL)
_AGAIN: Final = Figure("all topics, again", "CPU ms", Kind.TOTAL)
_ONE: Final = Figure("one topic by name", "CPU us", Kind.TOTAL)
_IDLE: Final = Figure("a worker without requests", "CPU ms/s", Kind.TOTAL)
_MEMORY: Final = Figure("memory of the worker", "MiB", Kind.TOTAL)
FIGURES: Final = (_FIRST, _AGAIN, _ONE, _IDLE, _MEMORY)

_OWN: Final = "growth"
"""The topic that the broker has, and that is requested by its name."""

_POLL_SECONDS: Final = 5.0
"""A worker lists the cluster so often for itself."""

_AT_ONCE: Final = 50
"""Requests by name between two looks at the time."""


def measure(plan: Plan, say: Say) -> Sweep:
    """Measure. Raises AnswerError, BrokerError and GatewayError."""
    notes: list[str] = []
    measured: dict[int, Values] = {}
    users = {size: [f"user-{size}-{n}" for n in range(LEAST)] for size in plan.sizes}
    with listing_gateway([user for named in users.values() for user in named]) as at:
        create(at.broker_port, [f"{NAMESPACE}..{_OWN}"])
        for size in climb(plan, "topics", notes, say):
            at.show(size)
            measured[size] = _point(at, users[size], plan.seconds)
    return Sweep("topics", "topics", curves(FIGURES, measured), notes)


def _point(at: ListingGateway, users: Sequence[str], seconds: float) -> Values:
    first = []
    for user in users:
        with at.logged_in(user) as client:
            first.append(at.listing_seconds(client))
    with at.logged_in(users[0]) as client:
        again = repeated(partial(at.listing_seconds, client), seconds)
        one = repeated(partial(_by_name, client, at.worker), seconds)
    began = cpu_seconds([at.worker])
    time.sleep(_POLL_SECONDS)
    idle = cpu_seconds([at.worker]) - began
    return {
        _FIRST.title: median(first) * 1e3,
        _AGAIN.title: median(again) * 1e3,
        _ONE.title: median(one) * 1e6,
        _IDLE.title: idle / _POLL_SECONDS * 1e3,
        _MEMORY.title: resident_kib([at.worker])[0] / 1024,
    }


def _by_name(client: Client, worker: int) -> float:
    """The worker's CPU seconds for a request of one topic."""
    named = {"topics": [{"name": f"{NAMESPACE}:{_OWN}"}], "allow_auto_topic_creation": False}
    request = request_frame("MetadataRequest", VERSION, named)
    began = cpu_seconds([worker])
    for _ in range(_AT_ONCE):
        response = client.exchange(request)
    spent = cpu_seconds([worker]) - began
    (topic,) = parse_response(request, response).topics
    if topic.error_code:
        raise AnswerError(f"{topic.name}: {error_name(topic.error_code)}")
    return spent / _AT_ONCE
