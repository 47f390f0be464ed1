"""What the gateway does itself for CreateTopics, DeleteTopics and the APIs of configs, ACLs and
credentials: whole messages, seldom, so always by parsing.

What concerns namespaces is a change that the gateway makes itself (gateway/changes); a request
that concerns none is the broker's, as it would be without a gateway. Which it is says the catalog
as it is now: what another worker has just moved is not to be deleted under its old name.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable
from typing import Final

from gateway.apis import generic
from gateway.apis.counting import count_errors, note_denials
from gateway.changes.base.context import Answered
from gateway.decision import Denied
from gateway.exchanges.exchange import Answer, Exchange, RequestHandler, Work
from gateway.exchanges.state import ConnectionState
from gateway.exchanges.worker_state import Changes
from gateway.names import DELIMITER, InvalidName
from gateway.rules import partial
from gateway.rules.rename import Refusals
from gateway.views.access import Access
from protocol.entities import Kind
from protocol.pausing import eased, paced
from protocol.walkers import Span

TOPIC_NAME: Final = int(Kind.TOPIC_NAME)
TOPIC_ID: Final = int(Kind.TOPIC_ID)
ERROR_CODE: Final = int(Kind.ERROR_CODE)

Change = Callable[[Access, int, bytes], Awaitable[Answered]]

VIRTUAL: Final = b"gateway."
"""What the keys of virtual topic configs begin with. Where it stands in a request at all, the
gateway looks at every key."""


def concerns_namespaces(state: ConnectionState, spelled: bytes) -> bool:
    """Whether a name denotes a namespace, a topic in one, or a topic that the catalog knows."""
    text, view = spelled.decode(errors="replace"), state.view
    if text.endswith(DELIMITER):
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
    """Whether policies have a say in a topic; what is no name is the broker's to refuse."""
    judge, view = state.worker.judge, state.view
    try:
        return judge.applies(view.parse(spelled.decode(errors="replace")).namespace)
    except InvalidName:
        return False


def without_topics(
    state: ConnectionState, exchange: Exchange, body: bytes, forbidden: dict[bytes, Denied]
) -> bytes | Answer:
    """A request without the topics and namespaces that ACLs deny, whose errors are kept; the
    whole answer if nothing is left."""
    if not forbidden:
        return body
    note_denials(state, exchange, Refusals(topics=forbidden))
    split = partial.split(exchange.plan.api, exchange.plan.version, body, forbidden)
    if split.body is None:
        return Answer(partial.merge(split.kept, None))
    exchange.then(lambda answer: partial.merge(split.kept, answer))
    return split.body


def name_refusals(state: ConnectionState, spans: list[Span]) -> dict[bytes, Denied]:
    """The names that denote neither a topic that this view may see nor a namespace."""
    refused: dict[bytes, Denied] = {}
    for kind, _, _, value in eased(spans):
        if kind == TOPIC_NAME and value:
            found = state.view.resolve(value)
            if isinstance(found, Denied) and not value.endswith(DELIMITER.encode()):
                refused[value] = found
    return refused


def change(
    state: ConnectionState,
    exchange: Exchange,
    change: Change,
    body: bytes,
    refused: dict[bytes, Denied],
) -> Work:
    """The answer of a change. Its errors are counted as a broker's would be, and what a rule
    ``refused`` is noted as a denial, if that is still the answer after a look at the catalog, as
    is what the change itself denied."""
    plan = exchange.plan
    exchange.flow = state.flow(plan.api_key, plan.version, b"")

    async def run() -> bytes:
        answered = await change(state.access, plan.version, body)
        answer = answered.body
        spans = generic.response_spans(plan, answer, 0, len(answer))
        codes = Counter(span[3] for span in eased(spans) if span[0] == ERROR_CODE)
        denied = {name: why for name, why in paced(refused.items()) if why.code in codes}
        denied |= {name.encode(): why for name, why in paced(answered.denied.items())}
        note_denials(state, exchange, Refusals(topics=denied))
        codes -= Counter(why.code for why in paced(denied.values()))  # counted with the denials
        count_errors(exchange, list(codes.elements()))
        return answer

    return Work(run)


def answered_by(change_of: Callable[[Changes], Change]) -> RequestHandler:
    """The handler of an API whose requests one change answers: no broker is asked."""

    def request(
        state: ConnectionState, exchange: Exchange, buf: bytes, start: int, end: int
    ) -> Work:
        generic.request_spans(exchange.plan, buf, start, end)
        return change(state, exchange, change_of(state.worker.changes), buf[start:end], {})

    return request


def without_error(spans: list[Span]) -> list[tuple[bytes, bytes | None]]:
    """The topics (name, id where there is one) that no error code follows, one code a topic."""
    done: list[tuple[bytes, bytes | None]] = []
    for kind, _, _, value in eased(spans):
        if kind == TOPIC_NAME and value:
            done.append((value, None))
        elif kind == TOPIC_ID and done:
            done[-1] = (done[-1][0], value)
        elif kind == ERROR_CODE and done:
            done.pop()
    return done
