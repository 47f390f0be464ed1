"""Flows and denials for tests."""

from __future__ import annotations

from typing import Any

from gateway.flows import LATENCY_BUCKETS, Denial, Flow, FlowSource


def source(**values: str) -> FlowSource:
    """A client."""
    fields = {
        "listener": "colon",
        "principal": "User:ANONYMOUS",
        "client_id": "app",
        "software_name": "librdkafka",
        "software_version": "2.6",
        "client_address": "10.0.0.1:50000",
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
    """A flow of one topic (``""``: none), with these counts."""
    namespace, _, _ = topic.rpartition(":")
    made = Flow(
        client or source(),
        api_key,
        version,
        namespace if topic else "(none)",
        topic,
        topic.replace(":", ".."),
    )
    for name, count in counts.items():
        assert hasattr(made, name)
        setattr(made, name, count)
    return made


def buckets(**counts: int) -> list[int]:
    """A histogram; ``b4=2`` is two in bucket 4."""
    made = [0] * LATENCY_BUCKETS
    for name, count in counts.items():
        made[int(name[1:])] = count
    return made


def denial(client: FlowSource | None = None, *, resource: str = "nope:x") -> Denial:
    """A topic that was refused."""
    return Denial(client or source(), 3, 12, "namespace", 3, resource, "it does not exist")
