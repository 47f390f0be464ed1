"""DeleteRecords (API 21): the records before an offset."""

from __future__ import annotations

from gateway.exchanges.api import Api, declare
from gateway.rules.declaration import BY_PARTITION_INDEX, DELETE, Do, Needs, TopicShape

API = declare(
    Api(
        "DeleteRecords",
        (0, 2),
        Do.REWRITE,
        needs=Needs(topic=DELETE),
        topics=(TopicShape(BY_PARTITION_INDEX, BY_PARTITION_INDEX, {"low_watermark": -1}),),
    )
)
