"""Requests in flight, which are checked again when the catalog has changed.

A broker may not have begun with a request that was forwarded, because it may be slow, or stopped.
So after each change of the catalog the gateway decides again whether the request is allowed. If it
is not, it must not reach the broker, or must not be carried out there, and only the end of the
connection achieves that.
"""

from __future__ import annotations

from gateway.apis import walking
from gateway.apis.counting import TOPIC_ID, TOPIC_NAME
from gateway.exchanges.exchange import Exchange, Forward, Outcome
from gateway.exchanges.state import ConnectionState
from gateway.rules.declaration import Do
from gateway.session.silent import Silent
from protocol.errors import ProtocolError
from protocol.pausing import eased


def may_go_on(state: ConnectionState, exchange: Exchange) -> bool:
    """Whether a request in flight would be forwarded again, to the same names.

    May take several slices. The gateway's own requests and responses may always go on. A freeze
    waits for requests under way, so they go on unless another change forbids them.
    """
    on_change = exchange.client_plan.on_change
    if on_change is not None:
        if on_change(state, exchange):
            return True
        return bool(state.view.frozen) and on_change(state.without_freezes(), exchange)
    if exchange.frame is None or exchange.answer is not None:
        return True
    return _is_allowed(state.without_freezes(), exchange)


def may_be_written(state: ConnectionState, silent: Silent) -> bool:
    """Whether the requests without a response may still be written; see :func:`may_go_on`."""
    if silent.may_go_on(state):
        return True
    return bool(state.view.frozen) and silent.may_go_on(state.without_freezes())


def _is_allowed(state: ConnectionState, exchange: Exchange) -> bool:
    assert exchange.frame is not None
    plan = exchange.client_plan
    again = Exchange(plan, exchange.correlation_id, exchange.arrived, exchange.size)
    again.refreshed = True  # no refresh: it is decided by the current state
    again.checked = True
    try:
        outcome = plan.on_request(state, again, *exchange.frame)
    except ProtocolError:
        return False
    if _same(exchange.outcome, outcome):
        return True
    forwarded = isinstance(outcome, (list, Forward)) and not state.view.closed
    if _is_listing(exchange):
        _narrow(exchange, again if forwarded else None)
        return True
    return forwarded and _reaches_as_much(exchange, again)


def _same(before: Outcome | None, now: Outcome) -> bool:
    if isinstance(before, Forward) and isinstance(now, Forward):
        return before.plan is now.plan and before.pieces == now.pieces
    return isinstance(now, list) and before == now


def _is_listing(exchange: Exchange) -> bool:
    """Whether the gateway named the topics, all of the view, and the client none."""
    plan = exchange.client_plan
    if plan.api.null is not Do.EXPAND:
        return False
    assert exchange.frame is not None
    spans = walking.request_spans(plan, *exchange.frame)
    return not any(kind in (TOPIC_NAME, TOPIC_ID) and value for kind, _, _, value in eased(spans))


def _narrow(exchange: Exchange, again: Exchange | None) -> None:
    """Restrict the response to a listing to topics that would still be listed now."""
    spelled = {} if again is None else again.spelled or {}
    ids = {} if again is None else again.spelled_ids or {}
    exchange.spelled = dict((exchange.spelled or {}).items() & spelled.items())
    exchange.spelled_ids = dict((exchange.spelled_ids or {}).items() & ids.items())


def _reaches_as_much(before: Exchange, again: Exchange) -> bool:
    """Whether all names that were forwarded would be forwarded again. A subscription may name more
    topics now, which takes nothing from other clients."""
    names, ids, groups = before.spelled or {}, before.spelled_ids or {}, before.ids
    if not (names or ids or groups):
        return False  # the two decisions cannot be compared
    return (
        names.items() <= (again.spelled or {}).items()
        and ids.items() <= (again.spelled_ids or {}).items()
        and _keeps(groups, again.ids)
    )


def _keeps(before: set[bytes] | None, now: set[bytes] | None) -> bool:
    return (before or set()) <= (now or set())
