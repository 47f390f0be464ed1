"""AddPartitionsToTxn (API 24): partitions that a transaction writes to."""

from __future__ import annotations

from gateway.exchanges.api import Api, declare
from gateway.rules.declaration import WRITE, Do, Needs, Topics, TopicShape

API = declare(
    Api(
        "AddPartitionsToTxn",
        (0, 3),
        Do.REWRITE,
        why="v4+ is for brokers only (KIP-890)",
        needs=Needs(topic=WRITE, transactional_id=WRITE),
        topics=(
            TopicShape(
                Topics("v3_and_below_topics", partitions="partitions"),
                Topics(
                    "results_by_topic_v3_and_below",
                    partitions="results_by_partition",
                    index="partition_index",
                ),
                error_code="partition_error_code",
                all_or_nothing=True,
            ),
        ),
    )
)
