"""OffsetForLeaderEpoch (API 23): where the records of a leader end (KIP-320)."""

from __future__ import annotations

from gateway.exchanges.api import Api, declare
from gateway.rules.declaration import CLUSTER_ACTION, DESCRIBE, Do, Needs, Topics, TopicShape

_TOPICS = Topics("topics", name="topic", partitions="partitions", index="partition")

API = declare(
    Api(
        "OffsetForLeaderEpoch",
        (2, 4),
        Do.REWRITE,
        needs=Needs(topic=DESCRIBE, instead=CLUSTER_ACTION),
        topics=(TopicShape(_TOPICS, _TOPICS),),
    )
)
