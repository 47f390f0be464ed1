"""Requests that the gateway carries out itself (``gateway.changes``): changes to topics in
namespaces, to configs, ACLs and credentials.

A request that concerns no namespace is forwarded to the broker. The newest catalog decides whether
it does, because a topic that another worker has just moved must not be deleted under its old name.
Such requests are rare, so messages are always parsed whole.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable
from typing import Final

from gateway.apis import generic, walking
from gateway.apis.counting import (
    ERROR_CODE,
    TOPIC_ID,
    TOPIC_NAME,
    count_errors,
    count_first_topic,
    report_denied,
    report_rejections,
)
from gateway.brokers.throttling import with_throttle_ms
from gateway.changes.base.context import Answered
from gateway.changes.changes import NamespaceChanges
from gateway.decision import Denied
from gateway.exchanges.exchange import Answer, Exchange, RequestHandler, Work
from gateway.exchanges.state import ConnectionState
from gateway.names import InvalidName
from gateway.rules.rename import Rejections
from gateway.views.access import Access
from protocol.pausing import eased, let_go, paced
from protocol.walkers import Span

Change = Callable[[Access, int, bytes], Awaitable[Answered]]

VIRTUAL: Final = b"gateway."
"""The prefix of virtual topic configs (``gateway.namespace``). If a request contains these bytes
anywhere, the gateway carries it out and checks every key."""


def concerns_namespaces(state: ConnectionState, spelled: bytes) -> bool:
    """Whether a name denotes a namespace, a topic in a namespace, or a topic with a catalog
    entry."""
    text, view = spelled.decode(errors="replace"), state.view
    if view.ends_as_namespace(text):
        return True
    try:
        name = view.parse(text)
        return bool(
            name.namespace
            or view.snapshot.entry_of(name) is not None
            or view.snapshot.flat_of(name) is None
            or view.namespace_named(text)
        )
    except InvalidName:
        return False


def is_judged(state: ConnectionState, spelled: bytes) -> bool:
    """Whether a topic is subject to policies; an invalid name is not: the broker rejects it."""
    judge, view = state.worker.judge, state.view
    try:
        return judge.applies(view.parse(spelled.decode(errors="replace")).namespace)
    except InvalidName:
        return False


def without_denied(
    state: ConnectionState, exchange: Exchange, body: bytes, forbidden: dict[bytes, Denied]
) -> bytes | Answer:
    """A request without topics and namespaces that ACLs deny: see ``generic.without_topics``."""
    if not forbidden:
        return body
    report_rejections(state, exchange, Rejections(topics=forbidden))
    return generic.without_topics(state, exchange, body, forbidden)


def change(
    state: ConnectionState,
    exchange: Exchange,
    change: Change,
    body: bytes,
) -> Work:
    """Carry out a request by ``change``, which returns the response. The response's errors count
    like a broker's, under the namespace of the first topic in the request. Items that ``change``
    denied are reported as denials instead, each under its own namespace."""
    plan = exchange.plan
    spans = walking.request_spans(plan, body, 0, len(body), most=None)
    topics = count_first_topic(state, exchange, spans)
    let_go(spans)

    async def run() -> bytes:
        answered = await change(state.access, plan.version, body)
        # KIP-599: after THROTTLING_QUOTA_EXCEEDED clients wait for the response's throttle time.
        answer = with_throttle_ms(plan.api_key, plan.version, answered.body, answered.throttle_ms)
        spans = walking.response_spans(plan, answer, 0, len(answer))
        codes = Counter(span[3] for span in eased(spans) if span[0] == ERROR_CODE)
        let_go(spans)
        denied = ((name.encode(), why) for name, why in answered.denied)
        report_denied(state, exchange, denied, named=topics)
        codes -= Counter(why.code for _, why in paced(answered.denied))  # counted with the denials
        count_errors(exchange, list(codes.elements()))
        return answer

    return Work(run)


def answered_by(change_of: Callable[[NamespaceChanges], Change]) -> RequestHandler:
    """The handler of an API whose requests a single change answers, without the broker."""

    def request(
        state: ConnectionState, exchange: Exchange, buf: bytes, start: int, end: int
    ) -> Work:
        walking.request_spans(exchange.plan, buf, start, end)
        return change(state, exchange, change_of(state.worker.changes), buf[start:end])

    return request


def without_error(spans: list[Span]) -> list[tuple[bytes, bytes | None]]:
    """The topics (name, and id if there is an id) of a response that have no error code."""
    done: list[tuple[bytes, bytes | None]] = []
    for kind, _, _, value in eased(spans):
        if kind == TOPIC_NAME and value:
            done.append((value, None))
        elif kind == TOPIC_ID and done:
            done[-1] = (done[-1][0], value)
        elif kind == ERROR_CODE and done:
            done.pop()
    return done
