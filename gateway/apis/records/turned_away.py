"""Produce and Fetch at a gateway that drains, and lists brokers at another gateway's addresses.

A broker that shuts down hands its partitions to other brokers before it closes connections. A
draining gateway does the same: it leads nothing any more. After NOT_LEADER_OR_FOLLOWER a client
requests metadata and sends the request again to the broker's new address; nothing was forwarded, so
nothing is written twice. An incremental fetch names no partitions (KIP-227), so it gets
FETCH_SESSION_ID_NOT_FOUND, and the client sends a full fetch.
"""

from __future__ import annotations

from typing import Any, Final

from gateway.apis import walking
from gateway.apis.counting import PRODUCE, count_errors, count_first_topic
from gateway.apis.records.fetch import FETCH, FULL_FETCHES
from gateway.decision import Denied
from gateway.error_codes import FETCH_SESSION_ID_NOT_FOUND, NOT_LEADER_OR_FOLLOWER
from gateway.exchanges.exchange import Answer, Exchange
from gateway.exchanges.state import ConnectionState
from gateway.rules.partial import error_response, reject_all
from protocol import messages
from protocol.pausing import copied

ELSEWHERE: Final = Denied(
    NOT_LEADER_OR_FOLLOWER,
    "This gateway is being stopped; another one leads to the broker.",
    "request",
)


def turned_away(
    state: ConnectionState, exchange: Exchange, buf: bytes, start: int, end: int
) -> Answer | None:
    """The response that sends a client to another gateway. None: the request is decided as usual,
    as are requests of other APIs, and requests without a response (acks=0)."""
    plan = exchange.plan
    body = copied(buf, start, end)
    code = NOT_LEADER_OR_FOLLOWER
    if plan.api_key == PRODUCE:
        response = reject_all(plan.api, plan.version, body, ELSEWHERE)
    elif plan.api_key == FETCH:
        request: Any = messages.parse("FetchRequest", plan.version, body)
        if getattr(request, "session_epoch", 0) in FULL_FETCHES:
            response = reject_all(plan.api, plan.version, body, ELSEWHERE)
        else:
            code = FETCH_SESSION_ID_NOT_FOUND
            response = error_response(plan.api, plan.version, body, code)
            state.fetch_session_closed(request.session_id)
    else:
        return None
    if not response:
        return None
    count_first_topic(state, exchange, walking.request_spans(plan, buf, start, end, most=None))
    count_errors(exchange, [code])
    return Answer(response)
