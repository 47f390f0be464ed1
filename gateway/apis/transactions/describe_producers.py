"""DescribeProducers (API 61, KIP-664): the producers of partitions, and their transactions.

Topic names are rewritten and need READ; each partition of a denied topic gets an error. The gateway
answers a namespace itself: it has no producers.
"""

from __future__ import annotations

from typing import Final

from gateway.apis import generic, namespace_listing
from gateway.decision import Denied
from gateway.error_codes import NOT_LEADER_OR_FOLLOWER
from gateway.exchanges.api import Api
from gateway.exchanges.exchange import Exchange, Outcome
from gateway.rules.declaration import BY_PARTITION_INDEX, READ, Do, Needs, Topics, TopicShape

_NO_LEADER: Final = Denied(
    NOT_LEADER_OR_FOLLOWER,
    "This node stands for a gateway, which leads no partition.",
    "request",
)


def at_gateway_node(exchange: Exchange, body: bytes) -> Outcome:
    """The response of a gateway's node: clients query the leader of a partition, and a gateway
    leads no partition."""
    return generic.answer_error(exchange, body, _NO_LEADER)


API = Api(
    "DescribeProducers",
    (0, 0),
    Do.REWRITE,
    needs=Needs(topic=READ, tells_illegal=True),
    topics=(TopicShape(Topics("topics", partitions="partition_indexes"), BY_PARTITION_INDEX),),
    request=namespace_listing.answering(lambda version, partition: {}),
    at_gateway_node=at_gateway_node,
)
