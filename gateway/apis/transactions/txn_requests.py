"""AddPartitionsToTxn, AddOffsetsToTxn, EndTxn and TxnOffsetCommit (APIs 24, 25, 26 and 28): the
steps of a transaction.

Transactional ids, groups and topics are rewritten. Every request needs WRITE on the transactional
id; partitions need WRITE on their topic, offsets READ on the group and, in TxnOffsetCommit, on the
topic. If a topic of AddPartitionsToTxn is denied, no topic is added (OPERATION_NOT_ATTEMPTED).

In a tree a transaction keeps to one volume: a partition elsewhere is TOPIC_AUTHORIZATION_FAILED,
and a group outside the transactional id's volume is GROUP_AUTHORIZATION_FAILED. Offsets of topics
in other volumes can be committed: they are kept under shadows.
"""

from __future__ import annotations

from gateway.apis import generic, walking
from gateway.apis.counting import report_rejections
from gateway.apis.shadow_offsets import commit_response
from gateway.decision import Denied
from gateway.error_codes import (
    GROUP_AUTHORIZATION_FAILED,
    NOT_LEADER_OR_FOLLOWER,
    TOPIC_AUTHORIZATION_FAILED,
)
from gateway.exchanges.api import Api
from gateway.exchanges.exchange import Exchange, Outcome
from gateway.exchanges.state import ConnectionState
from gateway.rules.declaration import (
    BY_PARTITION_INDEX,
    READ,
    WRITE,
    Do,
    Needs,
    Shadows,
    Topics,
    TopicShape,
)
from gateway.rules.rename import GROUP_ID, TRANSACTIONAL_ID, Rejections


def offsets_request(
    state: ConnectionState, exchange: Exchange, buf: bytes, start: int, end: int
) -> Outcome:
    """Reject a group outside the transactional id's volume: no cluster could commit both at
    once. The error ends the client's transaction; NOT_COORDINATOR would be retried forever."""
    tree = state.tree
    if tree is not None:
        spans = walking.request_spans(exchange.plan, buf, start, end)
        ids = {kind: value for kind, _, _, value in spans if kind in (GROUP_ID, TRANSACTIONAL_ID)}
        group, transactional_id = ids[GROUP_ID], ids[TRANSACTIONAL_ID]
        group_volume, volume = tree.group(group), tree.group(transactional_id)
        if group_volume != volume:
            why = (
                f"Group '{group.decode(errors='replace')}' is in volume ':{group_volume}' and"
                f" transactional id '{transactional_id.decode(errors='replace')}' in ':{volume}':"
                " a transaction keeps to one volume; name both in the same one."
            )
            denied = Denied(GROUP_AUTHORIZATION_FAILED, why, "volume")
            report_rejections(state, exchange, Rejections(ids={group: denied}))
            return generic.answer_error(exchange, buf[start:end], denied)
    return generic.request(state, exchange, buf, start, end)


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
            codes={NOT_LEADER_OR_FOLLOWER: TOPIC_AUTHORIZATION_FAILED},  # in another volume
            all_or_nothing=True,
        ),
    ),
)
ADD_OFFSETS_TO_TXN = Api(
    "AddOffsetsToTxn",
    (0, 4),
    Do.REWRITE,
    needs=Needs(group=READ, transactional_id=WRITE),
    request=offsets_request,
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
    shadows=Shadows.MADE,
    request=offsets_request,
    response=commit_response,
)
