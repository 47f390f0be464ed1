"""Metadata (API 3): "all" is asked by explicit names.

Namespaces that a request names, or that its listener lists, are answered here, among the topics;
the broker is asked for the rest.

What a request lets the broker create is created by the gateway where the broker must not
(``auto_creation``).
"""

from __future__ import annotations

from gateway.apis import generic
from gateway.apis.counting import count_topics
from gateway.apis.topics import auto_creation, namespace_listing
from gateway.apis.topics import metadata_messages as metadata
from gateway.decision import Denied
from gateway.exchanges.api import Api, declare
from gateway.exchanges.exchange import Exchange, Outcome, Refresh
from gateway.exchanges.state import ConnectionState
from gateway.rules import partial
from gateway.rules.declaration import DESCRIBE, Do, Needs, ToldOperations, Topics, TopicShape
from gateway.rules.rename import Refusals, RequestRenamer
from gateway.rules.restore import hidden_nodes
from protocol.entities import Kind
from protocol.pausing import eased
from protocol.splice import Edit
from protocol.walkers import Span

TOPIC_NAME = int(Kind.TOPIC_NAME)
TOPIC_ID = int(Kind.TOPIC_ID)

ENDS = namespace_listing.ENDS

IS_NAMESPACE = Denied(0, "", "namespace")
"""Takes a namespace out of a request for topics: it is answered here, and without error."""


def request(
    state: ConnectionState, exchange: Exchange, buf: bytes, start: int, end: int
) -> Outcome:
    """Expand "all", refuse what may not be named, and keep old versions from creating topics.

    What names no namespace takes no other way than it did without them.
    """
    spans = generic.request_spans(exchange.plan, buf, start, end)
    version = exchange.plan.version
    allowed = auto_creation.is_allowed(version, spans)
    if allowed and auto_creation.is_ours(state, version, names_of(spans), buf[start:end]):
        body = auto_creation.forbidding(exchange, buf, start, end, spans)
        return generic.as_forward(exchange, body, request(state, exchange, body, 0, len(body)))
    generic.tell_allowed_operations(state, exchange, buf[start:end])
    if not any(span[0] in (TOPIC_NAME, TOPIC_ID) for span in spans):
        return _without_names(state, exchange, buf[start:end])
    if any(kind == TOPIC_NAME and v and v.endswith(ENDS) for kind, _, _, v in eased(spans)):
        outcome = _answer_namespaces(state, exchange, buf[start:end], spans)
        if outcome is not None:
            return outcome
    renamer = generic.renamer_for(state, exchange)
    renamer.add(spans)
    again = _guard_creation(state, exchange, renamer, allowed=allowed)
    if again is not None:
        return again
    count_topics(state, exchange)
    if renamer.refusals is not None:
        return generic.refuse(state, exchange, buf[start:end], renamer.refusals)
    return renamer.edits


def _without_names(state: ConnectionState, exchange: Exchange, body: bytes) -> Outcome:
    """A request that names nothing: of all that is listed, or of the brokers alone."""
    version = exchange.plan.version
    if not metadata.wants_all(version, body):
        exchange.flow = state.flow(3, version, b"")
        return []
    if not exchange.refreshed:
        return Refresh.TOPICS
    generic.require_open(state)
    listed = namespace_listing.listed(state.access)
    if listed:
        exchange.then(lambda answer: metadata.add_namespaces(version, answer, listed))
    if version == 0:
        exchange.then(lambda answer: metadata.without_placeholder(0, answer))
    return _ask(state, exchange, metadata.ask_by_name(version, body, state.listing().names))


def response(
    state: ConnectionState, exchange: Exchange, buf: bytes, start: int, end: int
) -> list[Edit] | bytes:
    """Learn the topic ids, leave out brokers without an address, restore the rest."""
    plan = exchange.plan
    spans = generic.response_spans(plan, buf, start, end)
    learn_ids(state, spans)
    hidden = hidden_nodes(spans, state.addresses)
    if not hidden:
        return generic.restore(state, exchange, buf, start, end, spans)
    body = metadata.drop_brokers(plan.version, buf[start:end], hidden)
    return generic.restored_body(state, exchange, body)


def learn_ids(state: ConnectionState, spans: list[Span]) -> None:
    """Note the id behind each (flat) topic name of a response; an id stands after its name."""
    index = state.worker.cluster.index
    flat: bytes | None = None
    for kind, _, _, value in eased(spans):
        if kind == TOPIC_NAME:
            flat = value
        elif kind == TOPIC_ID and flat and any(value):
            index.learn(flat, value)


def names_of(spans: list[Span]) -> list[bytes]:
    """The names of the topics among these spans."""
    return [value for kind, _, _, value in eased(spans) if kind == TOPIC_NAME and value]


def worth_a_look(
    state: ConnectionState, exchange: Exchange, found: namespace_listing.Named
) -> bool:
    """Whether the catalog has to be read to its end before a namespace is said not to exist."""
    if exchange.refreshed:
        return False
    index = state.worker.cluster.index
    return any(not index.exists(name.encode()) for name in found.others)


def _answer_namespaces(
    state: ConnectionState, exchange: Exchange, body: bytes, spans: list[Span]
) -> Outcome | None:
    """Metadata of namespaces, and of the other topics as if only they were asked for; None when
    no namespace that exists is named."""
    plan, names = exchange.plan, names_of(spans)
    found = namespace_listing.named(state.access, names)
    if found is None:
        return None
    if worth_a_look(state, exchange, found):
        return Refresh.TOPICS
    existing = found.existing
    if not existing:
        return None
    taken = {name.encode(): IS_NAMESPACE for name in existing}
    split = partial.split(plan.api, plan.version, body, taken)
    exchange.then(lambda answer: metadata.mark_namespaces(plan.version, answer, existing))
    exchange.then(lambda answer: partial.merge(split.kept, answer))
    rest = split.body
    assert rest is not None  # Metadata is always asked
    if plan.version == 0 and taken.keys() >= set(names):
        # What is left is a placeholder, which names nothing that could be refused.
        return _ask(state, exchange, rest)
    return generic.as_forward(exchange, rest, request(state, exchange, rest, 0, len(rest)))


def _ask(state: ConnectionState, exchange: Exchange, body: bytes) -> Outcome:
    exchange.flow = state.flow(exchange.plan.api_key, exchange.plan.version, b"")
    return generic.forward_renamed(state, exchange, body)


def _guard_creation(
    state: ConnectionState, exchange: Exchange, renamer: RequestRenamer, *, allowed: bool
) -> Refresh | None:
    """Refuse names that the broker might create (``allowed``) and should not, or not for this
    client; look at the cluster first. What the gateway creates instead is begun."""
    index = state.worker.cluster.index
    refused: dict[bytes, Denied] = {}
    for flat, spelled in renamer.spelled.items():
        if index.exists(flat):
            continue
        text = spelled.decode(errors="replace")
        denied = auto_creation.why_not_created(state, exchange, flat, text, allowed=allowed)
        if denied is None:
            continue
        if not exchange.refreshed:
            return Refresh.TOPICS
        refused[spelled] = denied
    if refused:
        auto_creation.begin(state, refused)
        if renamer.refusals is None:
            renamer.refusals = Refusals()
        renamer.refusals.topics |= refused
    return None


API = declare(
    Api(
        "Metadata",
        (0, 13),
        Do.REWRITE,
        by_id=Do.CHECK,
        null=Do.EXPAND,
        needs=Needs(topic=DESCRIBE, tells_illegal=True),
        topics=(
            TopicShape(
                Topics("topics"),
                Topics("topics"),
                # It lists the brokers too, without which a client cannot go on.
                always_asked=True,
                asked_for_none=lambda version, body: metadata.ask_by_name(version, body, ()),
                prepared=metadata.without_placeholder,
            ),
        ),
        operations=ToldOperations(
            ("include_topic_authorized_operations", "include_cluster_authorized_operations"),
            "topics",
            "name",
            "topic_authorized_operations",
        ),
        # Its own error (v13) is for what no topic can tell.
        items_too=lambda version, code: True,
        request=request,
        response=response,
    )
)
