"""ListTransactions and DescribeTransactions (APIs 66 and 65, KIP-664): what tools see of
transactions.

A request to list transactions is forwarded, and its response is cut to the view's transactional ids
that the client may describe; as on a broker, what is cut leaves no trace (KafkaApis filters its own
listing so). An expression (v2, KIP-1152) is never forwarded: the gateway evaluates it over the
client's ids.

Describing rewrites the ids and needs DESCRIBE on each; each denied id gets an error. The topics of
a transaction that the client may not describe are left out, as by KafkaApis, and so are reserved
topics.

Producer ids are the brokers' own: a coordinator gives them, and only ids without a transactional id
bear the number of their cluster (``init_producer_id``).
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Final

from gateway.acl_model import ResourceType
from gateway.apis import generic, walking
from gateway.apis.counting import count_errors
from gateway.apis.transactions.id_regex import matching_ids
from gateway.decision import Denied
from gateway.error_codes import COORDINATOR_LOAD_IN_PROGRESS, INVALID_REGULAR_EXPRESSION
from gateway.exchanges.api import Api
from gateway.exchanges.exchange import Answer, Exchange, Outcome
from gateway.exchanges.kept import Kept
from gateway.exchanges.state import ConnectionState
from gateway.name_regex import CostsTooMuch, InvalidRegex, NameRegex
from gateway.rules.declaration import DESCRIBE, Do, ItemShape, Needs
from gateway.rules.rename import REGEX, TRANSACTIONAL_ID
from protocol import messages
from protocol.pausing import eased, paced
from protocol.splice import Edit
from protocol.walkers import Span

_NULL: Final = b"\x00"
"""A compact string that is null."""

_OUT_OF_DATE: Final = Denied(
    COORDINATOR_LOAD_IN_PROGRESS,
    "The gateway could not read its catalog for too long, so it lists no transactions; try again.",
    "stale",
)
"""The code after which Java's ListTransactionsHandler retries."""


@dataclass(frozen=True, slots=True)
class SoughtIds(Kept):
    """The expression of a request, until its response arrives."""

    regex: NameRegex


def list_request(
    state: ConnectionState, exchange: Exchange, buf: bytes, start: int, end: int
) -> Outcome:
    """Forward the request without its expression, which is compiled for the response."""
    spans = walking.request_spans(exchange.plan, buf, start, end)
    if state.view.closed:
        return generic.answer_error(exchange, buf[start:end], _OUT_OF_DATE)
    patterns = [span for span in spans if span[0] == REGEX and span[3] is not None]
    for _, _, _, pattern in patterns:
        if not pattern:
            continue  # a broker filters by no expression, as if it were null
        try:
            exchange.kept = SoughtIds(NameRegex(pattern.decode(errors="replace")))
        except InvalidRegex as error:
            why = f"The expression over transactional ids is not valid: {error}."
            denied = Denied(INVALID_REGULAR_EXPRESSION, why, "request")
            return generic.answer_error(exchange, buf[start:end], denied)
    others = [span for span in spans if span[0] != REGEX]
    outcome = generic.request_of(state, exchange, buf, start, end, others)
    if not isinstance(outcome, list):
        return outcome
    return outcome + [(start_at, stop, _NULL) for _, start_at, stop, _ in patterns]


def list_response(
    state: ConnectionState, exchange: Exchange, buf: bytes, start: int, end: int
) -> list[Edit] | bytes:
    """Drop the ids outside the view, those that the client may not describe, and those that its
    expression does not match; restore the others."""
    plan = exchange.plan
    spans = walking.response_spans(plan, buf, start, end)
    if state.view.closed:  # rights may have been revoked since the last read of the catalog
        return _failed(exchange, COORDINATOR_LOAD_IN_PROGRESS)
    shown = _shown(state, spans)
    if isinstance(exchange.kept, SoughtIds):
        try:
            listed: Collection[bytes] = matching_ids(exchange.kept.regex, shown)
        except CostsTooMuch:
            return _failed(exchange, INVALID_REGULAR_EXPRESSION)
    else:
        listed = shown
    hidden = {span[3] for span in eased(spans) if span[0] == TRANSACTIONAL_ID} - set(listed)
    if not hidden:
        return generic.restore(state, exchange, buf, start, end, spans)
    body = without_ids(plan.version, buf[start:end], hidden)
    return generic.restored_body(state, exchange, body)


def _failed(exchange: Exchange, code: int) -> bytes:
    """A ListTransactionsResponse with this error alone."""
    count_errors(exchange, [code])
    return messages.made("ListTransactionsResponse", exchange.plan.version, {"error_code": code})


def _shown(state: ConnectionState, spans: list[Span]) -> dict[bytes, bytes]:
    """The broker's id -> the client's, of each id that the client may describe."""
    access, shown = state.access, {}
    for kind, _, _, value in eased(spans):
        if kind != TRANSACTIONAL_ID:
            continue
        client_id = access.view.id_to_client(value)
        named = access.broker_id_resource(ResourceType.TRANSACTIONAL_ID, value)
        if client_id is not None and access.denial(DESCRIBE, named) is None:
            shown[value] = client_id
    return shown


def without_ids(version: int, body: bytes, hidden: Collection[bytes]) -> bytes:
    """A ListTransactionsResponse without the ``hidden`` ids (UTF-8). Raises ProtocolError."""
    response = messages.parse("ListTransactionsResponse", version, body)
    states = tuple(
        each
        for each in paced(response.transaction_states)
        if each.transactional_id.encode() not in hidden
    )
    return messages.write(replace(response, transaction_states=states))


def list_at_gateway_node(exchange: Exchange, body: bytes) -> Outcome:
    """The response of a gateway's node, which coordinates no transaction."""
    return Answer(messages.made("ListTransactionsResponse", exchange.plan.version, {}))


LIST_TRANSACTIONS = Api(
    "ListTransactions",
    (0, 2),
    Do.ABSENT,
    null=Do.FILTER,
    why="expressions: evaluated here",
    request=list_request,
    response=list_response,
    at_gateway_node=list_at_gateway_node,
    small_request=0,  # a request may hold an expression to evaluate over all ids
)
DESCRIBE_TRANSACTIONS = Api(
    "DescribeTransactions",
    (0, 0),
    Do.REWRITE,
    needs=Needs(transactional_id=DESCRIBE),
    items=(ItemShape("transactional_ids", (), "transaction_states", ("transactional_id",)),),
    seen=(("transaction_states", "topics"),),
)
