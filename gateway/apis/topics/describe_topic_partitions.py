"""DescribeTopicPartitions (API 75, KIP-966): topics by name, or all of them, page by page.

Names are rewritten and need DESCRIBE; each denied topic gets an error. "All" topics are requested
by the names that the view lists. The gateway answers the namespaces that a request names, or that
its listener lists, among the topics. A page begins at the request's cursor and ends at the
response's, in the broker's order, by flat name. A namespace counts as a partition.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from operator import itemgetter
from typing import Any

from gateway.apis import generic, namespace_listing, walking
from gateway.apis.counting import count_first_topic
from gateway.apis.topics import listed_pages, volume_pages
from gateway.apis.topics.topic_ids import learn_ids
from gateway.decision import Denied
from gateway.error_codes import INVALID_REQUEST
from gateway.exchanges.api import Api
from gateway.exchanges.exchange import Answer, Exchange, Outcome, Refresh
from gateway.exchanges.state import ConnectionState
from gateway.names import flat_prefix
from gateway.rules.declaration import (
    DESCRIBE,
    Do,
    Effect,
    Needs,
    ToldOperations,
    Topics,
    TopicShape,
)
from protocol import messages
from protocol.messages import element_class, make
from protocol.pausing import eased, in_order, paced
from protocol.splice import Edit

_REQUEST = "DescribeTopicPartitionsRequest"
_RESPONSE = "DescribeTopicPartitionsResponse"

_NO_EPOCH = -1

NO_PARTITION = Denied(INVALID_REQUEST, "The cursor's partition is below 0.", "request")
NO_CURSOR = Denied(INVALID_REQUEST, "The cursor's topic is not among the topics.", "request")


@dataclass(frozen=True, slots=True)
class Page:
    """The page of a list with namespaces that a request asks for."""

    cursor: str | None
    """The name at which the page begins; None: at the beginning."""

    limit: int
    """The most partitions on the page."""

    order: Mapping[str, int]
    """The requested names -> their positions in the request; empty for "all"."""


def request(
    state: ConnectionState, exchange: Exchange, buf: bytes, start: int, end: int
) -> Outcome:
    """Expand an empty list, which requests all topics; answer namespaces; reject denied names."""
    spans = walking.request_spans(exchange.plan, buf, start, end)
    version, body = exchange.plan.version, buf[start:end]
    requested = messages.parse(_REQUEST, version, body)
    if requested.cursor is not None and requested.cursor.partition_index < 0:
        # A broker rejects the whole request (DescribeTopicPartitionsRequestHandler).
        count_first_topic(state, exchange, spans)
        return generic.answer_error(exchange, body, NO_PARTITION)
    if _is_elsewhere(state, requested):
        count_first_topic(state, exchange, spans)
        return generic.answer_error(exchange, body, NO_CURSOR)
    read = from_cursor(requested)
    if read is not requested:
        return generic.redecide(state, exchange, messages.write(read), request)
    if not requested.topics:
        if not exchange.refreshed and requested.cursor is None:
            return Refresh.TOPICS
        return _describe_all(state, exchange, requested)
    found = namespace_listing.namespaces_among(state.access, namespace_listing.names_of(spans))
    if found is not None:
        if namespace_listing.worth_a_refresh(state, exchange, found):
            return Refresh.CATALOG
        if found.existing:
            count_first_topic(state, exchange, spans)
            names = [name for name in eased(page(requested).order) if name not in found.existing]
            return _describe(state, exchange, requested, names, found.existing)
    return generic.request(state, exchange, buf, start, end)


def _is_elsewhere(state: ConnectionState, requested: Any) -> bool:
    """Whether the cursor is not among the requested topics and has a name that no topic can have
    here. A broker rejects such a request, but the gateway has no name to forward for the cursor."""
    cursor = requested.cursor
    if cursor is None or cursor.topic_name in {
        "",
        *(topic.name for topic in eased(requested.topics)),
    }:
        return False
    found = state.view.resolve(cursor.topic_name.encode())
    return bool(requested.topics) and isinstance(found, Denied) and found.illegal


def response(
    state: ConnectionState, exchange: Exchange, buf: bytes, start: int, end: int
) -> list[Edit] | bytes:
    """Note the topic ids and restore the names; the response holds no address."""
    spans = walking.response_spans(exchange.plan, buf, start, end)
    learn_ids(state, spans)
    return generic.restore(state, exchange, buf, start, end, spans)


def _describe_all(state: ConnectionState, exchange: Exchange, requested: Any) -> Outcome:
    generic.require_open(state)
    if namespace_listing.are_many(state.view):
        walking.in_slices(exchange)
    version, access = exchange.plan.version, state.access
    cursor = None if requested.cursor is None else requested.cursor.topic_name
    start = None if cursor is None else namespace_listing.place(access, cursor)
    namespaces = namespace_listing.listed_namespaces(access)
    if namespaces:
        _add_namespaces(state, exchange, requested, namespaces)
    limit = volume_pages.page_limit(requested)
    requested, listed = listed_pages.wanted(state.listing(), requested, start, limit)
    exchange.then(lambda answer: listed_pages.cut(version, answer, listed))
    # A frozen topic is listed until its name changes hands.
    thawed = state.without_freezes() if state.view.frozen else state
    outcome = _by_name(thawed, exchange, requested, listed.flats)
    exchange.flow, exchange.others = state.flow(exchange.plan.api_key, version, b""), None
    return outcome


def _describe(
    state: ConnectionState,
    exchange: Exchange,
    requested: Any,
    names: Sequence[str],
    namespaces: Mapping[str, str],
) -> Outcome:
    """Forward a page for topics by name, and add the ``namespaces`` (name -> tier path) on the page
    to the response."""
    access = state.access

    def place(name: str) -> str | None:
        return namespace_listing.place(access, name)

    requested = with_cursor_among(requested, names, place)
    cursor = page(requested).cursor
    _add_namespaces(state, exchange, requested, namespaces)
    if cursor is not None and namespace_listing.describable_path(access, cursor):
        # The broker knows no namespace, so its page begins with the first topic after it.
        start = place(cursor) or ""
        names = [name for name in names if (place(name) or start) >= start]
        requested = replace(requested, cursor=None)
    return _by_name(state, exchange, requested, names)


def _add_namespaces(
    state: ConnectionState, exchange: Exchange, requested: Any, namespaces: Mapping[str, str]
) -> None:
    """Add the ``namespaces`` that are on the page to the response."""
    version, access, wanted = exchange.plan.version, state.access, page(requested)

    def place(name: str) -> str | None:
        return namespace_listing.place(access, name)

    start = None if wanted.cursor is None else place(wanted.cursor)
    every = {name: flat_prefix(path) for name, path in paced(namespaces.items())}
    # Limited to a page, however many namespaces there are.
    prefixes = on_page(every, start, wanted.limit)
    node = namespace_listing.leader(state)
    exchange.then(lambda answer: add_namespaces(version, answer, wanted, prefixes, place, node))


def _by_name(
    state: ConnectionState, exchange: Exchange, requested: Any, names: Iterable[str]
) -> Outcome:
    version = exchange.plan.version
    expanded = request_by_name(requested, names)
    if expanded is None:
        exchange.flow = exchange.flow or state.flow(exchange.plan.api_key, version, b"")
        return Answer(messages.write(messages.build(messages.message_class(_RESPONSE, version))))
    # Not forward_renamed: the cursor is the client's and may name a denied topic.
    return generic.redecide(state, exchange, expanded, generic.request)


def from_cursor(requested: Any) -> Any:
    """A request without an empty name that precedes its cursor: a broker skips such a name there,
    and rejects the request for it elsewhere."""
    cursor = requested.cursor
    topics = tuple(topic for topic in eased(requested.topics) if topic.name)
    if cursor is None or not cursor.topic_name or len(topics) in (0, len(requested.topics)):
        return requested
    return replace(requested, topics=topics)


def request_by_name(requested: Any, names: Iterable[str]) -> bytes | None:
    """The same request for these topics; None without a name: an empty list requests all.

    The broker requires the cursor's topic among the topics. So the topic stays in the request even
    if it is no longer listed; it is then answered like any topic that was requested by name.
    """
    chosen = dict.fromkeys(names)
    if requested.cursor is not None:
        chosen.setdefault(requested.cursor.topic_name)
    if not chosen:
        return None
    topic_class = element_class(type(requested), "topics")
    topics = tuple(make(topic_class, {"name": name}) for name in chosen)
    return messages.write(replace(requested, topics=topics))


def page(requested: Any) -> Page:
    """The page that a request asks for."""
    cursor = None if requested.cursor is None else requested.cursor.topic_name
    order = {topic.name: at for at, topic in enumerate(eased(requested.topics))}
    return Page(cursor, volume_pages.page_limit(requested), order)


def with_cursor_among(
    requested: Any, names: Sequence[str], place: Callable[[str], str | None]
) -> Any:
    """The same request, with its cursor spelled as in ``names``: in another spelling the cursor's
    topic would be requested, and answered, twice. ``place`` is as in :func:`add_namespaces`."""
    cursor = requested.cursor
    if cursor is None or cursor.topic_name in names:
        return requested
    at = place(cursor.topic_name)
    listed = None if at is None else next((name for name in names if place(name) == at), None)
    if listed is None:
        return requested
    return replace(requested, cursor=replace(cursor, topic_name=listed))


def on_page(namespaces: Mapping[str, str], start: str | None, limit: int) -> dict[str, str]:
    """The ``namespaces`` (name -> flat prefix) that may be on a page of ``limit`` partitions that
    begins at ``start`` (None: at the first), and the namespace that the page's cursor may name.
    Each counts as a partition, whatever topics come between them."""
    behind = {
        name: prefix
        for name, prefix in paced(namespaces.items())
        if start is None or prefix >= start
    }
    if len(behind) <= limit + 1:
        return behind
    last = in_order(frozenset(paced(behind.values())))[: limit + 1][-1]
    return {name: prefix for name, prefix in paced(behind.items()) if prefix <= last}


def add_namespaces(
    version: int,
    body: bytes,
    wanted: Page,
    namespaces: Mapping[str, str],
    place: Callable[[str], str | None],
    leader: int,
) -> bytes:
    """The response with the ``namespaces`` (name -> flat prefix) on its page, each led by the node
    ``leader``.

    ``place`` returns the flat name of a topic, or a namespace's prefix. A name without a place has
    an error, which is on every page.
    """
    response = messages.parse(_RESPONSE, version, body)
    end = response.next_cursor
    start = None if wanted.cursor is None else place(wanted.cursor)
    stop = None if end is None else place(end.topic_name)
    topic_class = element_class(type(response), "topics")
    placed = [
        (prefix, _namespace_entry(topic_class, name, leader))
        for name, prefix in namespaces.items()
        if (start is None or prefix >= start) and (stop is None or prefix < stop)
    ]
    rejected = []
    for topic in response.topics:
        at = place(topic.name)
        if at is None:
            rejected.append(topic)
        else:
            placed.append((at, topic))
    shown, rest = _cut(placed, wanted.limit, alike=bool(wanted.order))
    if rest is not None:
        name, index = rest
        cursor_class = element_class(type(response), "next_cursor")
        end = make(cursor_class, {"topic_name": name, "partition_index": index})
    topics = [*rejected, *shown]
    if wanted.order:
        topics.sort(key=lambda topic: wanted.order.get(topic.name, len(wanted.order)))
    return messages.write(replace(response, topics=tuple(topics), next_cursor=end))


def _namespace_entry(topic_class: type, name: str, leader: int) -> Any:
    """A namespace's entry. It has a partition even if no broker can lead the partition, because
    kafka-topics reads the first partition of every topic that it describes."""
    replicas = () if leader == namespace_listing.NO_LEADER else (leader,)
    partition = make(
        element_class(topic_class, "partitions"),
        {
            "leader_id": leader,
            "leader_epoch": _NO_EPOCH,
            "replica_nodes": replicas,
            "isr_nodes": replicas,
            # Empty arrays: Java's client fails on null.
            "eligible_leader_replicas": (),
            "last_known_elr": (),
        },
    )
    return make(topic_class, {"name": name, "is_internal": True, "partitions": (partition,)})


def _cut(
    placed: list[tuple[str, Any]], limit: int, *, alike: bool
) -> tuple[list[Any], tuple[str, int] | None]:
    """The entries that fit a page, in their order, and the next topic and partition.

    Two names of a topic have the same place. They are cut ``alike`` if the request names them, and
    each by itself on a page of all topics (``listed_pages``).
    """
    shown: list[Any] = []
    counted = enumerate(sorted(placed, key=itemgetter(0)))
    groups = groupby(counted, key=lambda each: each[1][0] if alike else each[0])
    for _, group in groups:
        same = [each for _, each in group]
        entries = [entry for _, entry in same]
        partitions = entries[0].partitions
        if not limit:
            return shown, (entries[0].name, partitions[0].partition_index if partitions else 0)
        shown += [replace(entry, partitions=entry.partitions[:limit]) for entry in entries]
        if len(partitions) > limit:
            return shown, (entries[0].name, partitions[limit].partition_index)
        limit -= len(partitions)
    return shown, None


def _adjusted(
    request: Any, is_rejected: Callable[[str], bool], first_spelling: Callable[[str], str]
) -> Any:
    """A request that lost topics. The broker requires the cursor's topic among the rest; if this
    topic was denied, the pages begin anew, so that a client may see a topic twice but misses no
    topic."""
    cursor = request.cursor
    if cursor is None:
        return request
    if is_rejected(cursor.topic_name):
        return replace(request, cursor=None)
    first = first_spelling(cursor.topic_name)
    return replace(request, cursor=replace(cursor, topic_name=first))


API = Api(
    "DescribeTopicPartitions",
    (0, 0),
    Do.REWRITE,
    effect=Effect.LOOKUP,
    null=Do.EXPAND,
    needs=Needs(topic=DESCRIBE, tells_illegal=True),
    topics=(TopicShape(Topics("topics"), Topics("topics"), adjusted=_adjusted),),
    operations=ToldOperations((), "topics", "name", "topic_authorized_operations"),
    division=volume_pages.DIVISION,
    request=request,
    response=response,
)
