"""Topics that the gateway creates at brokers for itself."""

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
"""The replication factor tried first: it needs only one broker that is up."""

BROKERS_DEFAULT: Final = -1
"""The replication factor tried next: a policy of the cluster (KIP-108) may require more
replicas."""

_CREATE_TOPICS: Final = 7


async def make_topics(
    context: Context,
    partitions: Mapping[str, int],
    replicas: int,
    configs: Sequence[Mapping[str, str]] = (),
) -> dict[str, Any | Denied]:
    """Create topics, each with its number of ``partitions``, by flat name. Results as
    :func:`query_each`."""

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
