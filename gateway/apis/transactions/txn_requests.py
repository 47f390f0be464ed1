"""AddPartitionsToTxn, AddOffsetsToTxn, EndTxn and TxnOffsetCommit (APIs 24, 25, 26 and 28): the
steps of a transaction.

Transactional ids, groups and topics are rewritten. Every step needs WRITE on the transactional id;
partitions need WRITE on their topic, offsets READ on the group and, in TxnOffsetCommit, on the
topic. One denied topic of AddPartitionsToTxn means that none is added (OPERATION_NOT_ATTEMPTED).
"""

from __future__ import annotations

from gateway.exchanges.api import Api
from gateway.rules.declaration import BY_PARTITION_INDEX, READ, WRITE, Do, Needs, Topics, TopicShape

ADD_PARTITIONS_TO_TXN = Api(
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
ADD_OFFSETS_TO_TXN = Api(
    "AddOffsetsToTxn", (0, 4), Do.REWRITE, needs=Needs(group=READ, transactional_id=WRITE)
)
END_TXN = Api(
    "EndTxn",
    (0, 5),
    Do.REWRITE,
    needs=Needs(transactional_id=WRITE),
    beside_error={"producer_id": -1, "producer_epoch": -1},
)
TXN_OFFSET_COMMIT = Api(
    "TxnOffsetCommit",
    (0, 5),
    Do.REWRITE,
    needs=Needs(topic=READ, group=READ, transactional_id=WRITE),
    topics=(TopicShape(BY_PARTITION_INDEX, BY_PARTITION_INDEX),),
)
