"""Topics that the gateway makes at brokers for itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any, Final

from gateway.changes.base.broker import DEFAULTS_SINCE, query_each
from gateway.changes.base.context import Context
from gateway.decision import Denied
from protocol.messages import Request

TIMEOUT: Final = timedelta(seconds=5)

ONE_REPLICA: Final = 1
"""Is tried first: it can be made while other brokers are away."""

BROKERS_DEFAULT: Final = -1
"""Is tried next: a policy of the cluster (KIP-108) may want more replicas."""

_CREATE_TOPICS: Final = 7


async def make_topics(
    context: Context,
    partitions: Mapping[str, int],
    replicas: int,
    configs: Sequence[Mapping[str, str]] = (),
) -> dict[str, Any | Denied]:
    """Make topics of so many partitions each, by flat name, as :func:`query_each` answers."""

    def values(version: int) -> Mapping[str, object]:
        factor = replicas if version >= DEFAULTS_SINCE else ONE_REPLICA
        topics = [
            {
                "name": flat,
                "num_partitions": count,
                "replication_factor": factor,
                "configs": configs,
            }
            for flat, count in partitions.items()
        ]
        return {"topics": topics, "timeout": TIMEOUT}

    request = Request("CreateTopicsRequest", _CREATE_TOPICS, values)
    return await query_each(context, request, partitions, "topics")
