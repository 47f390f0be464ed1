"""All topics, by Metadata: what the client may list of what the broker lists.

The broker is asked for all of its topics, and what comes is cut to the client's, so the listing
holds no topic that the broker does not know yet, or any more.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple
from weakref import ref

from gateway.apis import generic, namespace_listing
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
"""Topics of a cluster from which on it is found out in slices which of them a client may list."""

LONG: Final = 16 * 1024
"""Bytes of a broker's response from which on what is made of it is kept for the next request."""

_GONE: Final = UNKNOWN_TOPIC_OR_PARTITION.to_bytes(2, "big")


class AllTopics(Kept):
    """A request for all topics, and what its client might list when it came."""

    def __init__(self, listing: Listing) -> None:
        self.listing = listing


class Cut(NamedTuple):
    """A response as the client gets it. ``endpoints`` are the addresses in it by broker, ``errors``
    its error codes, ``brokers`` the node id, host and port of each broker as the broker named them.
    ``listing`` does not keep the listing, which has an entry for each topic of the cluster: far
    more than what is kept for a client that sees few of them."""

    body: bytes
    listing: ref[Listing]
    endpoints: Mapping[int, Endpoint | None]
    errors: list[int]
    brokers: list[tuple[int, str, int]]

    def fits(self, listing: Listing, addresses: ListenerAddresses) -> bool:
        """Whether it holds what the client may list now, and the addresses that it gets now."""
        return self.listing() is listing and all(
            addresses.endpoint(node) == at for node, at in self.endpoints.items()
        )


def request(state: ConnectionState, exchange: Exchange, body: bytes) -> Outcome:
    """Request the topics and add the namespaces that the listener lists to the response."""
    version = exchange.plan.version
    if not exchange.refreshed:
        # The catalog says whose the topics are. Without topic ids a new one is not known by what
        # the broker responds.
        return Refresh.TOPICS if version < metadata.HAS_TOPIC_IDS else Refresh.CATALOG
    generic.require_open(state)
    many = len(state.worker.cluster.index.names()) > MANY
    if many or namespace_listing.are_many(state.view):
        generic.in_slices(exchange)
    exchange.kept = AllTopics(state.listing())
    # A freeze need not wait for it: the names that it tells are those of when it is answered.
    exchange.spelled = {}
    exchange.flow = state.flow(exchange.plan.api_key, version, b"")
    namespaces = namespace_listing.listed(state.access)
    if namespaces:
        exchange.then(lambda answer: metadata.add_namespaces(version, answer, namespaces))
    return []


def response(
    state: ConnectionState, exchange: Exchange, buf: bytes, start: int, end: int, kept: AllTopics
) -> bytes:
    """The topics that the client may list now, by the names that it knows them by."""
    if end - start < LONG or state.view.closed:
        cut = _cut(state, exchange.plan, buf, start, end, kept)
    else:
        cut = _cut_once(state, exchange.plan, buf[start:end], kept)
    count_errors(exchange, cut.errors)
    for node_id, host, port in cut.brokers:
        state.worker.cluster.hear(node_id, host, port)
    return cut.body


def _cut_once(state: ConnectionState, plan: Plan, body: bytes, kept: AllTopics) -> Cut:
    """The response that the same bytes gave this principal before, or a new one, which is kept."""
    answers, access = state.worker.kept_answers, state.access
    who = (access.view.settings, access.principal, access.host)
    cut: Cut | None = answers.find(plan.key, body, who)
    # A listing stands for what the catalog and the index of topics say.
    listing = state.listing()
    if cut is None or not cut.fits(listing, state.addresses):
        cut = _cut(state, plan, body, 0, len(body), kept)
        if cut.listing() is listing:  # else this response had topics that were not known before
            answers.keep(plan.key, body, who, cut, len(cut.body))
    return cut


def _cut(
    state: ConnectionState, plan: Plan, buf: bytes, start: int, end: int, kept: AllTopics
) -> Cut:
    """A broker's response cut to what the client may list, with the gateway's addresses."""
    spans = generic.response_spans(plan, buf, start, end)
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
    """The client's listing now; while the catalog is out of date that of the request, because a
    client that gets an empty list of topics gives up those that it has."""
    return kept.listing if state.view.closed else state.listing()


def _learn(
    state: ConnectionState, version: int, buf: bytes, entries: Sequence[Entry]
) -> set[bytes]:
    """Note the topics and their ids. Returns new ones that look like a namespace's, of which the
    catalog knew none when the request came: it may be as new, so whose they are is not known."""
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
    """What the client knows each topic by, if it may list it: its own name, and links to it."""
    shown, links, moved = listing.shown, listing.links, view.has_topic_ids
    for _, _, _, _, flat in paced(entries):
        name = shown.get(flat)
        own = () if name is None else ((name, view.id_to_show(flat, name) if moved else None),)
        yield (*own, *links[flat]) if flat in links else own


def _errors_left(
    spans: Sequence[Span], entries: Sequence[Entry], shown: Sequence[Sequence[Shown]]
) -> list[int]:
    """The error codes of a response but for those of topics that are not shown."""
    begins = [begin for begin, _, _, _, _ in eased(entries)]
    behind = entries[-1][3] if entries else 0
    return [
        code
        for kind, at, _, code in eased(spans)
        if kind == ERROR_CODE
        and (at >= behind or at < begins[0] or shown[bisect_right(begins, at) - 1])
    ]
