"""InitProducerId (API 22): the id of an idempotent or transactional producer.

A transactional id is rewritten and needs WRITE; two-phase commit also needs TWO_PHASE_COMMIT
(KIP-939). Without a transactional id the principal needs WRITE on any topic (KIP-679), or
IDEMPOTENT_WRITE on the cluster.

Brokers before 2.8 require IDEMPOTENT_WRITE for idempotent producers, and see only the gateway's own
principal. Their CLUSTER_AUTHORIZATION_FAILED, also to Produce, is forwarded with an explanation.
"""

from __future__ import annotations

import logging
from dataclasses import replace
from functools import partial
from typing import Any, Final

from gateway.acl_model import Operation, ResourceType
from gateway.apis import generic, walking
from gateway.apis.counting import ERROR_CODE, report_rejections
from gateway.error_codes import CLUSTER_AUTHORIZATION_FAILED, COORDINATOR_NOT_AVAILABLE
from gateway.exchanges.api import Api
from gateway.exchanges.exchange import Exchange, Outcome, Plan, Work
from gateway.exchanges.state import ConnectionState
from gateway.exchanges.tree import Tree, VolumeUnreachable
from gateway.rules.declaration import Do, Effect, Needs
from gateway.rules.partial import error_response
from gateway.rules.rename import Rejections
from gateway.views.access import WRITE
from protocol import messages
from protocol.messages import has_field
from protocol.splice import Edit

log = logging.getLogger(__name__)

IDEMPOTENT_WRITE: Final = int(Operation.IDEMPOTENT_WRITE)
TWO_PHASE_COMMIT: Final = int(Operation.TWO_PHASE_COMMIT)

MARK_SHIFT: Final = 48
"""Brokers count their own ids up from 0 in blocks of 1,000, so the bits from here on are free."""

FIRST_WITH_2PC: Final = 6
"""The first version that can request two-phase commit, by an external coordinator (KIP-939)."""

_WARNED: Final = b"(IDEMPOTENT_WRITE)"
"""The warning's key among the names that :meth:`ConnectionState.first_denial` remembers."""

TO_CLIENTS: Final = (
    "The broker does not let the gateway write for idempotent producers: its operator has to grant"
    " the gateway's principal IDEMPOTENT_WRITE on the cluster, which brokers before 2.8 require."
)


def request(
    state: ConnectionState, exchange: Exchange, buf: bytes, start: int, end: int
) -> Outcome:
    """Check the operations that depend on more than a name, then rewrite the transactional id."""
    access, plan = state.access, exchange.plan
    if state.worker.number:
        mark_ids(state, exchange, buf[start:end])
    if not access.authorizes:
        return generic.request(state, exchange, buf, start, end)
    body = buf[start:end]
    walking.request_spans(plan, buf, start, end)
    requested = messages.parse("InitProducerIdRequest", plan.version, body)
    denied = None
    if requested.transactional_id is None:
        denied = access.cluster(IDEMPOTENT_WRITE) and access.any_topic(WRITE)
    elif plan.version >= FIRST_WITH_2PC and requested.enable2_pc:
        transactional_id = requested.transactional_id.encode()
        kind = ResourceType.TRANSACTIONAL_ID
        denied = access.id_denial(TWO_PHASE_COMMIT, kind, transactional_id)
    if denied is None:
        return generic.request(state, exchange, buf, start, end)
    report_rejections(state, exchange, Rejections(ids={b"": denied}))
    return generic.answer_error(exchange, body, denied)


def mark_ids(state: ConnectionState, exchange: Exchange, body: bytes) -> None:
    """Put the cluster's number into an idempotent producer's id, because brokers identify the
    producers of a partition by the id alone, and accept any id (tried on Kafka 4.3.1). An id for a
    transactional id is not changed: its coordinator knows it."""
    plan, number = exchange.plan, state.worker.number
    if messages.parse("InitProducerIdRequest", plan.version, body).transactional_id is None:
        exchange.then(lambda answer: marked(plan.version, answer, number))


def marked(version: int, body: bytes, number: int) -> bytes:
    """An InitProducerIdResponse whose producer id has a cluster's number in its upper 16 bits."""
    response: Any = messages.parse("InitProducerIdResponse", version, body)
    if response.producer_id < 0:
        return body
    return messages.write(
        replace(response, producer_id=number << MARK_SHIFT | response.producer_id)
    )


def response(
    state: ConnectionState, exchange: Exchange, buf: bytes, start: int, end: int
) -> list[Edit] | bytes:
    """Forward the broker's response; warn if the gateway's principal lacks IDEMPOTENT_WRITE."""
    spans = walking.response_spans(exchange.plan, buf, start, end)
    if any(span[0] == ERROR_CODE and span[3] == CLUSTER_AUTHORIZATION_FAILED for span in spans):
        warn_of_missing_grant(state)
    return generic.restore(state, exchange, buf, start, end, spans)


def warn_of_missing_grant(state: ConnectionState) -> None:
    """Log, once per connection, that the broker denies IDEMPOTENT_WRITE to the gateway."""
    if state.first_denial(_WARNED):
        log.warning(
            "%s: the broker denies idempotent producers (CLUSTER_AUTHORIZATION_FAILED):"
            " grant the gateway's principal there IDEMPOTENT_WRITE on the cluster"
            " (kafka-acls --add --operation IdempotentWrite --cluster), which brokers before 2.8"
            " require; for later ones WRITE on any topic is enough",
            state.source.client_address,
        )


def explain_missing_grant(version: int, body: bytes) -> bytes:
    """A broker's Produce response in which each partition that was denied for lack of
    IDEMPOTENT_WRITE gets an error message, if it has none (v8+). Raises ProtocolError."""
    response: Any = messages.parse("ProduceResponse", version, body)
    topics = tuple(
        replace(topic, partition_responses=tuple(map(_explained, topic.partition_responses)))
        for topic in response.responses
    )
    return messages.write(replace(response, responses=topics))


def _explained(partition: Any) -> Any:
    denied = partition.error_code == CLUSTER_AUTHORIZATION_FAILED
    if not denied or not has_field(type(partition), "error_message") or partition.error_message:
        return partition
    return replace(partition, error_message=TO_CLIENTS)


# -- in a tree -------------------------------------------------------------------------------------


def in_tree(tree: Tree, mount: str, plan: Plan, body: bytes) -> Outcome | None:
    """Without a transactional id any cluster can give the id; otherwise its coordinator does."""
    requested = messages.parse("InitProducerIdRequest", plan.version, body)
    if requested.transactional_id is not None:
        return None
    return Work(partial(_any_id, tree, plan, mount, body))


async def _any_id(tree: Tree, plan: Plan, path: str, body: bytes) -> bytes:
    """A producer id of the node's cluster, or of the first other cluster that responds and in which
    the client may write. The cluster's number makes the id unique in the tree."""
    failure, denied, version = "", b"", plan.version
    paths = dict.fromkeys((path, tree.own, *tree.reach()))
    for each in paths:
        try:
            answer = await tree.ask(each, plan.api_key, version, body, alone=len(paths) == 1)
        except VolumeUnreachable as error:
            failure = failure or str(error)
            continue
        given = messages.parse("InitProducerIdResponse", version, answer)
        if given.error_code != CLUSTER_AUTHORIZATION_FAILED:
            return answer
        denied = denied or answer
    if denied:
        return denied
    return error_response(plan.api, version, body, COORDINATOR_NOT_AVAILABLE, failure)


API = Api(
    "InitProducerId",
    (0, 6),
    Do.REWRITE,
    effect=Effect.LOOKUP,
    needs=Needs(transactional_id=WRITE),
    beside_error={"producer_id": -1, "producer_epoch": -1},
    request=request,
    response=response,
    in_tree=in_tree,
)
