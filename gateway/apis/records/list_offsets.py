"""ListOffsets (API 2): where the records of a partition begin and end, and by time."""

from __future__ import annotations

from gateway.exchanges.api import Api, declare
from gateway.rules.declaration import BY_PARTITION_INDEX, DESCRIBE, Do, Needs, TopicShape

API = declare(
    Api(
        "ListOffsets",
        (1, 11),
        Do.REWRITE,
        needs=Needs(topic=DESCRIBE),
        topics=(TopicShape(BY_PARTITION_INDEX, BY_PARTITION_INDEX),),
    )
)
