"""DescribeProducers (API 61, KIP-664): the producers of partitions, and their transactions.

Topic names are rewritten and need READ; denied topics get an error for each partition.
"""

from __future__ import annotations

from gateway.exchanges.api import Api
from gateway.rules.declaration import BY_PARTITION_INDEX, READ, Do, Needs, Topics, TopicShape

API = Api(
    "DescribeProducers",
    (0, 0),
    Do.REWRITE,
    needs=Needs(topic=READ, tells_illegal=True),
    topics=(TopicShape(Topics("topics", partitions="partition_indexes"), BY_PARTITION_INDEX),),
)
