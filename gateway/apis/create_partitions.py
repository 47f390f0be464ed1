"""CreatePartitions (API 37): forwarded, but for topics that policies have a say in."""

from __future__ import annotations

from gateway.apis import generic
from gateway.apis.own_changes import TOPIC_NAME, change
from gateway.decision import Denied
from gateway.exchange import Exchange, Outcome, Refresh
from gateway.state import ConnectionState


def request(
    state: ConnectionState, exchange: Exchange, buf: bytes, start: int, end: int
) -> Outcome:
    """Do it here where a policy applies to any of the topics; else it is renamed and sent on."""
    if not state.worker.judge.policies.judges:
        return generic.request(state, exchange, buf, start, end)
    if not exchange.refreshed:
        # What was just moved elsewhere meets other policies there.
        return Refresh.CATALOG
    spans = generic.request_spans(exchange.plan, buf, start, end)
    if any(kind == TOPIC_NAME and _is_judged(state, value) for kind, _, _, value in spans):
        made_here = state.worker.changes.create_partitions
        return change(state, exchange, made_here, buf[start:end], {})
    return generic.request(state, exchange, buf, start, end)


def _is_judged(state: ConnectionState, spelled: bytes) -> bool:
    """Whether policies have a say in the topic, by whatever name of it."""
    found = state.view.resolve(spelled)
    if isinstance(found, Denied):
        return False
    owner = state.view.snapshot.owner(found.flat.decode())
    return state.worker.judge.applies(owner.namespace)
