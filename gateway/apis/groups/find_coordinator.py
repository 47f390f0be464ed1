"""FindCoordinator (API 10): the brokers that coordinate groups and transactional ids.

Keys are rewritten as group or transactional ids, by the key type of the request, and need DESCRIBE;
other key types are rejected. The response has the gateway's addresses in place of the brokers'; a
coordinator without one is COORDINATOR_NOT_AVAILABLE, which clients retry.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import Any

from gateway.apis import generic
from gateway.decision import Denied
from gateway.error_codes import COORDINATOR_NOT_AVAILABLE, INVALID_REQUEST
from gateway.exchanges.api import Api
from gateway.exchanges.exchange import Exchange, Outcome
from gateway.exchanges.state import ConnectionState
from gateway.rules.declaration import DESCRIBE, Do, ItemShape, Needs
from gateway.rules.restore import hidden_nodes
from protocol import messages
from protocol.entities import Kind
from protocol.messages import changed, has_field
from protocol.splice import Edit
from protocol.walkers import Span

KEY_TYPE = int(Kind.KEY_TYPE)
COORDINATOR_KEY = int(Kind.COORDINATOR_KEY)
GROUP_ID = int(Kind.GROUP_ID)
TRANSACTIONAL_ID = int(Kind.TRANSACTIONAL_ID)

GROUP_KEY = 0
TRANSACTION_KEY = 1

_NOBODY = {"node_id": -1, "host": "", "port": -1}
_NOT_AVAILABLE = {**_NOBODY, "error_code": COORDINATOR_NOT_AVAILABLE}


def request(
    state: ConnectionState, exchange: Exchange, buf: bytes, start: int, end: int
) -> Outcome:
    """Rewrite the keys by their type, which may stand behind them."""
    plan = exchange.plan
    spans = generic.request_spans(plan, buf, start, end)
    exchange.flow = state.flow(plan.api_key, plan.version, b"")
    key_type = next((span[3] for span in spans if span[0] == KEY_TYPE), GROUP_KEY)
    if key_type not in (GROUP_KEY, TRANSACTION_KEY):
        denied = Denied(
            INVALID_REQUEST, f"Coordinators of key type {key_type} are not served here.", "access"
        )
        return generic.answer_error(exchange, buf[start:end], denied)
    renamer = generic.renamer_for(state, exchange)
    renamer.add(_typed(spans, key_type))
    if renamer.rejections is not None:
        return generic.reject(state, exchange, buf[start:end], renamer.rejections)
    return renamer.edits


def response(
    state: ConnectionState, exchange: Exchange, buf: bytes, start: int, end: int
) -> list[Edit] | bytes:
    """Restore the keys; a coordinator without an address here is not available."""
    plan = exchange.plan
    spans = generic.response_spans(plan, buf, start, end)
    hidden = hidden_nodes(spans, state.addresses)
    if hidden:
        body = hide_nodes(plan.version, buf[start:end], hidden)
        return generic.whole(body, response(state, exchange, body, 0, len(body)))
    return generic.restore(state, exchange, buf, start, end, _typed(spans, GROUP_KEY))


def _typed(spans: list[Span], key_type: int) -> list[Span]:
    """The spans with coordinator keys as group or transactional ids."""
    kind = TRANSACTIONAL_ID if key_type == TRANSACTION_KEY else GROUP_ID
    return [
        (kind, span[1], span[2], span[3]) if span[0] == COORDINATOR_KEY else span for span in spans
    ]


def hide_nodes(version: int, body: bytes, hidden_node_ids: Collection[int]) -> bytes:
    """A FindCoordinatorResponse in which these brokers coordinate nothing. Raises ProtocolError."""
    response = messages.parse("FindCoordinatorResponse", version, body)
    if has_field(type(response), "coordinators"):
        shown = tuple(_shown(entry, hidden_node_ids) for entry in response.coordinators)
        return messages.write(replace(response, coordinators=shown))
    return messages.write(_shown(response, hidden_node_ids))


def _shown(entry: Any, hidden_node_ids: Collection[int]) -> Any:
    return changed(entry, _NOT_AVAILABLE) if entry.node_id in hidden_node_ids else entry


API = Api(
    "FindCoordinator",
    (0, 6),
    Do.REWRITE,
    why="share group keys are denied",
    needs=Needs(group=DESCRIBE, transactional_id=DESCRIBE),
    items=(ItemShape("coordinator_keys", (), "coordinators", ("key",), _NOBODY, first=4),),
    beside_error=_NOBODY,
    request=request,
    response=response,
)
