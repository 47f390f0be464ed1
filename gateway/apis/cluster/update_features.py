"""UpdateFeatures (API 57, KIP-584): the finalized levels of the cluster's features.

For administrators: needs ALTER on the cluster, as in ControllerApis, and no home. A request names
features of Kafka's own, and is forwarded unchanged.
"""

from __future__ import annotations

from typing import Any

from gateway.apis import administrators, walking
from gateway.exchanges.api import Api
from gateway.exchanges.exchange import Exchange, Outcome
from gateway.exchanges.state import ConnectionState
from gateway.rules.declaration import ALTER, Do
from gateway.rules.division import Division, Requested
from gateway.rules.far_answers import NotBelieved
from protocol.pausing import paced


def request(
    state: ConnectionState, exchange: Exchange, buf: bytes, start: int, end: int
) -> Outcome:
    """Forward the request of an administrator."""
    plan = exchange.plan
    walking.request_spans(plan, buf, start, end)
    denied = administrators.denial(state, ALTER)
    if denied is not None:
        return administrators.reject(state, exchange, buf[start:end], denied)
    exchange.flow = state.flow(plan.api_key, plan.version, b"")
    return []


def _believed(asked: Any, response: Any, wanted: Requested) -> None:
    """Check that another gateway's response has results of requested features alone."""
    requested = {one.feature for one in paced(asked.feature_updates)}
    if any(one.feature not in requested for one in paced(getattr(response, "results", ()))):
        raise NotBelieved("has a feature that was not requested")


API = Api(
    "UpdateFeatures",
    (0, 2),
    Do.FORWARD,
    why="for administrators, not under a home",
    division=Division(not_under_home=True, believed=_believed),
    request=request,
)
