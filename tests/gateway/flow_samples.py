"""Flows and denials for tests."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gateway.counts import METRIC_BUCKETS
from gateway.flows import LATENCY_BUCKETS, LATENCY_STEPS, Denial, Flow, FlowSource
from gateway.places import Place

MAIN = Place("main")
"""The only cluster of a gateway without a tree."""


def source(**values: Any) -> FlowSource:
    """The source of a client's flows."""
    fields: dict[str, Any] = {
        "listener": "colon",
        "principal": "User:ANONYMOUS",
        "client_id": "app",
        "software_name": "librdkafka",
        "software_version": "2.6",
        "client_address": "10.0.0.1:50000",
        "place": MAIN,
    }
    return FlowSource(**{**fields, **values})


def flow(
    client: FlowSource | None = None,
    *,
    api_key: int = 0,
    version: int = 9,
    topic: str = "team-a:orders",
    **counts: Any,
) -> Flow:
    """A flow of a topic (``""``: of no topic), with these counts."""
    namespace, _, _ = topic.rpartition(":")
    made = Flow(
        client or source(),
        api_key,
        version,
        namespace if topic else "(none)",
        topic,
        topic.replace(":", ".."),
    )
    requests = counts.pop("requests", None)
    for name, count in counts.items():
        assert hasattr(made, name)
        setattr(made, name, count)
    if requests is not None:
        made.followed = max(requests - made.led, 0)
    return made


def buckets(**counts: int) -> list[int]:
    """A histogram of a flow; ``b4=2`` is two in bucket 4."""
    return _filled(LATENCY_BUCKETS, counts)


def metric_buckets(**counts: int) -> list[int]:
    """A histogram of the metrics; ``b4=2`` is two in bucket 4."""
    return _filled(METRIC_BUCKETS, counts)


def of_metric(**counts: int) -> list[int]:
    """A flow's histogram that the metrics show as :func:`metric_buckets` of the same counts."""
    last = LATENCY_BUCKETS - 1
    numbers = {name: min(LATENCY_STEPS * int(name[1:]), last) for name in counts}
    return _filled(LATENCY_BUCKETS, {f"b{numbers[name]}": n for name, n in counts.items()})


def _filled(length: int, counts: Mapping[str, int]) -> list[int]:
    made = [0] * length
    for name, count in counts.items():
        made[int(name[1:])] = count
    return made


def denial(client: FlowSource | None = None, *, resource: str = "nope:x") -> Denial:
    """The denial of a topic."""
    return Denial(client or source(), 3, 12, "namespace", 3, resource, "it does not exist")
