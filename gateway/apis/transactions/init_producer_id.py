"""InitProducerId (API 22): an idempotent producer needs WRITE on any topic at all (KIP-679)."""

from __future__ import annotations

from gateway.acl_model import Operation, ResourceType
from gateway.apis import generic, idempotent_write
from gateway.apis.counting import note_denials
from gateway.error_codes import CLUSTER_AUTHORIZATION_FAILED
from gateway.exchanges.api import Api, declare
from gateway.exchanges.exchange import Exchange, Outcome
from gateway.exchanges.state import ConnectionState
from gateway.rules.declaration import Do, Needs
from gateway.rules.rename import Refusals
from gateway.views.access import WRITE
from protocol import messages
from protocol.entities import Kind
from protocol.splice import Edit

IDEMPOTENT_WRITE = int(Operation.IDEMPOTENT_WRITE)
TWO_PHASE_COMMIT = int(Operation.TWO_PHASE_COMMIT)

FIRST_WITH_2PC = 6
"""KIP-939: a transaction that an external coordinator ends needs an operation of its own."""


def request(
    state: ConnectionState, exchange: Exchange, buf: bytes, start: int, end: int
) -> Outcome:
    """With a transactional id that id is asked about; without one the old IDEMPOTENT_WRITE on the
    cluster does as well as WRITE on some topic."""
    access, plan = state.access, exchange.plan
    if not access.authorizes:
        return generic.request(state, exchange, buf, start, end)
    body = buf[start:end]
    generic.request_spans(plan, buf, start, end)
    asked = messages.parse("InitProducerIdRequest", plan.version, body)
    if asked.transactional_id is None:
        denied = access.cluster(IDEMPOTENT_WRITE) and access.any_topic(WRITE)
    elif plan.version >= FIRST_WITH_2PC and asked.enable2_pc:
        transactional_id = asked.transactional_id.encode()
        named = access.id_resource(ResourceType.TRANSACTIONAL_ID, transactional_id)
        denied = access.denial(TWO_PHASE_COMMIT, named)
    else:
        denied = None
    if denied is None:
        return generic.request(state, exchange, buf, start, end)
    note_denials(state, exchange, Refusals(ids={b"": denied}))
    return generic.answer_error(exchange, body, denied)


def response(
    state: ConnectionState, exchange: Exchange, buf: bytes, start: int, end: int
) -> list[Edit] | bytes:
    """The broker's answer; that to a transactional id has an error of its own."""
    spans = generic.response_spans(exchange.plan, buf, start, end)
    for kind, _, _, value in spans:
        if kind == Kind.ERROR_CODE and value == CLUSTER_AUTHORIZATION_FAILED:
            idempotent_write.warn(state)
    return generic.restore(state, exchange, buf, start, end, spans)


API = declare(
    Api(
        "InitProducerId",
        (0, 6),
        Do.REWRITE,
        needs=Needs(transactional_id=WRITE),
        beside_error={"producer_id": -1, "producer_epoch": -1},
        request=request,
        response=response,
    )
)
