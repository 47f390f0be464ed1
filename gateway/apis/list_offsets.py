"""ListOffsets (API 2): where the records of a partition begin and end, and by time."""

from __future__ import annotations

from gateway.exchanges.api import Api, declare
from gateway.rules.declaration import BY_PARTITION_INDEX, DESCRIBE, Do, Needs, TopicShape

API = declare(
    Api(
        name="ListOffsets",
        first=1,
        last=11,
        named=Do.REWRITE,
        needs=Needs(topic=DESCRIBE),
        topics=(TopicShape(1, 11, BY_PARTITION_INDEX, BY_PARTITION_INDEX),),
    )
)
