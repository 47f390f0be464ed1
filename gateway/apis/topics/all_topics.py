"""All topics, by Metadata: the broker's topics, cut to the topics that the client may list.

The gateway requests all topics of the broker and cuts the response, so the listing holds no topic
that the broker does not know yet, or no longer knows.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple
from weakref import ref

from gateway.apis import generic, namespace_listing, walking
from gateway.apis.counting import ERROR_CODE, count_errors
from gateway.apis.topics import metadata_messages as metadata
from gateway.apis.topics.metadata_messages import Entry, Shown
from gateway.error_codes import UNKNOWN_TOPIC_OR_PARTITION
from gateway.exchanges.exchange import Exchange, Outcome, Plan, Refresh
from gateway.exchanges.kept import Kept
from gateway.exchanges.state import ConnectionState
from gateway.names import may_be_captured
from gateway.rules.restore import ENDPOINT_NODE, endpoint_edits, hidden_nodes, named_brokers
from gateway.topic_ids import ID_LENGTH
from gateway.views.view import View
from gateway.views.views import Listing
from gateway.virtual_brokers import Endpoint, ListenerAddresses
from protocol.pausing import eased, let_go, paced
from protocol.splice import splice
from protocol.walkers import Span

MANY: Final = 5_000
"""With so many topics, the gateway decides in slices which of them a client may list."""

LONG: Final = 16 * 1024
"""Bytes: the cut of a longer response of a broker is kept for the next request."""

_GONE: Final = UNKNOWN_TOPIC_OR_PARTITION.to_bytes(2, "big")


class AllTopics(Kept):
    """A request for all topics, and the client's listing when the request arrived."""

    def __init__(self, listing: Listing) -> None:
        self.listing = listing


class Cut(NamedTuple):
    """A response as the client gets it."""

    body: bytes

    listing: ref[Listing]
    """The listing by which the response was cut. The reference does not keep it alive, because a
    listing has an entry for each topic of the cluster, even for a client that sees few topics."""

    endpoints: Mapping[int, Endpoint | None]
    """The gateway's address for each broker in the response."""

    errors: list[int]
    """The error codes in the response."""

    brokers: list[tuple[int, str, int]]
    """The node id, host and port of each broker, as the broker responded."""

    def fits(self, listing: Listing, addresses: ListenerAddresses) -> bool:
        """Whether the response has the client's present listing and present addresses."""
        return self.listing() is listing and all(
            addresses.endpoint(node) == at for node, at in self.endpoints.items()
        )


def request(state: ConnectionState, exchange: Exchange, body: bytes) -> Outcome:
    """Request the topics and add the namespaces that the listener lists to the response."""
    version = exchange.plan.version
    if not exchange.refreshed:
        # The catalog owns the topics' names. Without topic ids the broker's response does not
        # reveal a new topic.
        return Refresh.TOPICS if version < metadata.HAS_TOPIC_IDS else Refresh.CATALOG
    generic.require_open(state)
    many = len(state.worker.cluster.index.names()) > MANY
    if many or namespace_listing.are_many(state.view):
        walking.in_slices(exchange)
    exchange.kept = AllTopics(state.listing())
    # A freeze need not wait for this request: its names are of the time of the response.
    exchange.spelled = {}
    exchange.flow = state.flow(exchange.plan.api_key, version, b"")
    namespaces = namespace_listing.listed_namespaces(state.access)
    if namespaces:
        exchange.then(lambda answer: metadata.add_namespaces(version, answer, namespaces))
    return []


def response(
    state: ConnectionState, exchange: Exchange, buf: bytes, start: int, end: int, kept: AllTopics
) -> bytes:
    """The topics that the client may list now, under the client's names."""
    if end - start < LONG or state.view.closed:
        cut = _cut(state, exchange.plan, buf, start, end, kept)
    else:
        cut = _cut_once(state, exchange.plan, buf[start:end], kept)
    count_errors(exchange, cut.errors)
    for node_id, host, port in cut.brokers:
        state.worker.cluster.hear(node_id, host, port)
    return cut.body


def _cut_once(state: ConnectionState, plan: Plan, body: bytes, kept: AllTopics) -> Cut:
    """The kept cut for this principal and the same bytes, or a new cut, which is kept."""
    answers, access = state.worker.kept_answers, state.access
    who = (access.view.settings, access.principal, access.host)
    cut: Cut | None = answers.find(plan.key, body, who)
    # A listing stands for a state of the catalog and of the index of topics.
    listing = state.listing()
    if cut is None or not cut.fits(listing, state.addresses):
        cut = _cut(state, plan, body, 0, len(body), kept)
        if cut.listing() is listing:  # else the response had new topics
            answers.keep(plan.key, body, who, cut, len(cut.body))
    return cut


def _cut(
    state: ConnectionState, plan: Plan, buf: bytes, start: int, end: int, kept: AllTopics
) -> Cut:
    """A broker's response, cut to the client's listing, with the gateway's addresses."""
    spans = walking.response_spans(plan, buf, start, end)
    entries = metadata.entries(plan.version, buf, spans, end)
    unclear = _learn(state, plan.version, buf, entries)
    listing = _present(state, kept)
    known = _names(state.view, listing, entries)
    shown = [
        () if flat in unclear or buf[begin:at] == _GONE else names
        for (begin, at, _, _, flat), names in zip(entries, known, strict=True)
    ]
    errors = _errors_left(spans, entries, shown)
    brokers = spans[: metadata.first_of_topics(spans)]
    named = list(named_brokers(brokers))
    edits = endpoint_edits(brokers, state.addresses, plan.flexible)
    edits += metadata.cut_edits(plan.version, buf, entries, shown)
    body = splice(buf, start, end, edits)
    let_go(spans)
    let_go(entries)
    let_go(edits)
    nodes = [value for kind, _, _, value in brokers if kind == ENDPOINT_NODE]
    hidden = hidden_nodes(brokers, state.addresses)
    if hidden:
        body = metadata.drop_brokers(plan.version, body, hidden)
    endpoints = {node: state.addresses.endpoint(node) for node in nodes}
    return Cut(body, ref(listing), endpoints, errors, named)


def _present(state: ConnectionState, kept: AllTopics) -> Listing:
    """The client's present listing. While the catalog is out of date it is the request's listing,
    because a client that gets an empty list of topics gives up the topics that it has."""
    return kept.listing if state.view.closed else state.listing()


def _learn(
    state: ConnectionState, version: int, buf: bytes, entries: Sequence[Entry]
) -> set[bytes]:
    """Note the topics and their ids. Returns new topics that look like a namespace's, but belonged
    to no namespace when the request arrived: the catalog may be older, so the owner is unknown."""
    index, owner = state.worker.cluster.index, state.view.snapshot.owner
    has_ids = version >= metadata.HAS_TOPIC_IDS
    unclear: set[bytes] = set()
    for _, _, stop, _, flat in paced(entries):
        topic_id = buf[stop : stop + ID_LENGTH] if has_ids else None
        if has_ids and index.id_of(flat) == topic_id:
            continue
        text = flat.decode(errors="replace")
        if not index.exists(flat) and may_be_captured(text) and not owner(text).namespace:
            unclear.add(flat)
        if topic_id is not None and any(topic_id):
            index.learn(flat, topic_id)
    return unclear


def _names(view: View, listing: Listing, entries: Sequence[Entry]) -> Iterator[Sequence[Shown]]:
    """The names of each topic that the client may list: its own name, and links to it."""
    shown, links, moved = listing.shown, listing.links, view.has_topic_ids
    for _, _, _, _, flat in paced(entries):
        name = shown.get(flat)
        own = () if name is None else ((name, view.id_to_show(flat, name) if moved else None),)
        yield (*own, *links[flat]) if flat in links else own


def _errors_left(
    spans: Sequence[Span], entries: Sequence[Entry], shown: Sequence[Sequence[Shown]]
) -> list[int]:
    """The error codes of a response, without the codes of topics that are not shown."""
    begins = [begin for begin, _, _, _, _ in eased(entries)]
    behind = entries[-1][3] if entries else 0
    return [
        code
        for kind, at, _, code in eased(spans)
        if kind == ERROR_CODE
        and (at >= behind or at < begins[0] or shown[bisect_right(begins, at) - 1])
    ]
