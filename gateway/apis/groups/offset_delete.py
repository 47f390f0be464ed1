"""OffsetDelete (API 47): a group forgets how far it has read."""

from __future__ import annotations

from gateway.exchanges.api import Api, declare
from gateway.rules.declaration import BY_PARTITION_INDEX, DELETE, READ, Do, Needs, TopicShape

API = declare(
    Api(
        "OffsetDelete",
        (0, 0),
        Do.REWRITE,
        needs=Needs(topic=READ, group=DELETE),
        topics=(
            TopicShape(
                BY_PARTITION_INDEX, BY_PARTITION_INDEX, always_asked=True, error_of_all=True
            ),
        ),
    )
)
