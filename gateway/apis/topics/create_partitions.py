"""CreatePartitions (API 37): topic names are rewritten and need ALTER.

Forwarded, unless a policy judges topics: then the gateway carries it out (``gateway.changes``).
"""

from __future__ import annotations

from gateway.apis import generic, walking
from gateway.apis.own_changes import change
from gateway.exchanges.api import Api
from gateway.exchanges.exchange import Exchange, Outcome
from gateway.exchanges.state import ConnectionState
from gateway.rules.declaration import ALTER, Do, Needs, Topics, TopicShape
from gateway.rules.division import OF_TOPICS, Division
from gateway.rules.volume_items import of_topic


def request(
    state: ConnectionState, exchange: Exchange, buf: bytes, start: int, end: int
) -> Outcome:
    """Carry the request out while there are policies, even if no policy applies to its topics: at
    the broker it could wait behind another request of its connection until the topics were moved
    to where a policy applies."""
    if not state.worker.judge.policies.judges:
        return generic.request(state, exchange, buf, start, end)
    walking.request_spans(exchange.plan, buf, start, end)
    change_here = state.worker.changes.create_partitions
    return change(state, exchange, change_here, buf[start:end])


API = Api(
    "CreatePartitions",
    (0, 3),
    Do.REWRITE,
    needs=Needs(topic=ALTER),
    topics=(TopicShape(Topics("topics"), Topics("results")),),
    division=Division(item=of_topic, codes=OF_TOPICS),
    request=request,
)
