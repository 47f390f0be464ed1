"""DescribeProducers (API 61, KIP-664): who is writing to a partition, and in which transaction."""

from __future__ import annotations

from gateway.exchanges.api import Api, declare
from gateway.rules.declaration import BY_PARTITION_INDEX, READ, Do, Needs, Topics, TopicShape

_ASKED = Topics("topics", partitions="partition_indexes")

API = declare(
    Api(
        "DescribeProducers",
        (0, 0),
        Do.REWRITE,
        needs=Needs(topic=READ, tells_illegal=True),
        topics=(TopicShape(_ASKED, BY_PARTITION_INDEX),),
    )
)
