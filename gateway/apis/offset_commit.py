"""OffsetCommit (API 8): how far a group has read."""

from __future__ import annotations

from gateway.exchanges.api import Api, declare
from gateway.rules.declaration import BY_PARTITION_INDEX, READ, Do, Needs, TopicShape

API = declare(
    Api(
        name="OffsetCommit",
        first=2,
        last=10,
        named=Do.REWRITE,
        by_id=Do.CHECK,
        needs=Needs(topic=READ, group=READ),
        topics=(TopicShape(2, 10, BY_PARTITION_INDEX, BY_PARTITION_INDEX),),
    )
)
