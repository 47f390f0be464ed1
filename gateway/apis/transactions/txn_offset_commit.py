"""TxnOffsetCommit (API 28): how far a group has read, as a part of a transaction."""

from __future__ import annotations

from gateway.exchanges.api import Api, declare
from gateway.rules.declaration import BY_PARTITION_INDEX, READ, WRITE, Do, Needs, TopicShape

API = declare(
    Api(
        "TxnOffsetCommit",
        (0, 5),
        Do.REWRITE,
        needs=Needs(topic=READ, group=READ, transactional_id=WRITE),
        topics=(TopicShape(BY_PARTITION_INDEX, BY_PARTITION_INDEX),),
    )
)
