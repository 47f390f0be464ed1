"""DeleteRecords (API 21): topic names are rewritten and need DELETE; for a denied topic, each
partition gets an error."""

from __future__ import annotations

from gateway.exchanges.api import Api
from gateway.rules.declaration import BY_PARTITION_INDEX, DELETE, Do, Needs, TopicShape

API = Api(
    "DeleteRecords",
    (0, 2),
    Do.REWRITE,
    needs=Needs(topic=DELETE),
    topics=(TopicShape(BY_PARTITION_INDEX, BY_PARTITION_INDEX, {"low_watermark": -1}),),
)
