"""ListOffsets (API 2): topic names are rewritten and need DESCRIBE; denied ones get an error for
each partition."""

from __future__ import annotations

from gateway.exchanges.api import Api
from gateway.rules.declaration import BY_PARTITION_INDEX, DESCRIBE, Do, Needs, TopicShape

API = Api(
    "ListOffsets",
    (1, 11),
    Do.REWRITE,
    needs=Needs(topic=DESCRIBE),
    topics=(TopicShape(BY_PARTITION_INDEX, BY_PARTITION_INDEX),),
)
