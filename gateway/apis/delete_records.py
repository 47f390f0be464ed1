"""DeleteRecords (API 21): the records before an offset."""

from __future__ import annotations

from gateway.exchanges.api import Api, declare
from gateway.rules.declaration import BY_PARTITION_INDEX, DELETE, Do, Needs, TopicShape

API = declare(
    Api(
        name="DeleteRecords",
        first=0,
        last=2,
        named=Do.REWRITE,
        needs=Needs(topic=DELETE),
        topics=(TopicShape(0, 2, BY_PARTITION_INDEX, BY_PARTITION_INDEX, {"low_watermark": -1}),),
    )
)
