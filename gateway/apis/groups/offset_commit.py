"""OffsetCommit (API 8): how far a group has read."""

from __future__ import annotations

from gateway.exchanges.api import Api, declare
from gateway.rules.declaration import BY_PARTITION_INDEX, READ, Do, Needs, TopicShape

API = declare(
    Api(
        "OffsetCommit",
        (2, 10),
        Do.REWRITE,
        by_id=Do.CHECK,
        needs=Needs(topic=READ, group=READ),
        topics=(TopicShape(BY_PARTITION_INDEX, BY_PARTITION_INDEX),),
    )
)
