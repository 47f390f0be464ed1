"""OffsetForLeaderEpoch (API 23, KIP-320): the end offset of a leader's epoch.

Topic names are rewritten and need DESCRIBE, or CLUSTER_ACTION on the cluster in its place.
"""

from __future__ import annotations

from gateway.exchanges.api import Api
from gateway.rules.declaration import CLUSTER_ACTION, DESCRIBE, Do, Needs, Topics, TopicShape

_TOPICS = Topics("topics", name="topic", partitions="partitions", index="partition")

API = Api(
    "OffsetForLeaderEpoch",
    (2, 4),
    Do.REWRITE,
    needs=Needs(topic=DESCRIBE, instead=CLUSTER_ACTION),
    topics=(TopicShape(_TOPICS, _TOPICS),),
)
