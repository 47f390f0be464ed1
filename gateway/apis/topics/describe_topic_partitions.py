"""DescribeTopicPartitions (API 75, KIP-966): "all" is asked by explicit names, page by page.

Namespaces that a request names, or that its listener lists, are answered here, among the topics. A
page begins at the request's cursor and ends at the response's, in the order of flat names, which is
the broker's. A namespace stands before its topics and counts as one partition.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from operator import itemgetter
from typing import Any, Final

from gateway.apis import generic
from gateway.apis.topics import namespace_listing
from gateway.apis.topics.metadata import learn_ids, names_of, worth_a_look
from gateway.decision import Denied
from gateway.error_codes import INVALID_REQUEST
from gateway.exchanges.api import Api, declare
from gateway.exchanges.exchange import Answer, Exchange, Outcome, Refresh
from gateway.exchanges.state import ConnectionState
from gateway.names import flat_prefix
from gateway.rules.declaration import DESCRIBE, Do, Needs, ToldOperations, Topics, TopicShape
from protocol import messages
from protocol.messages import element_class, make
from protocol.splice import Edit

_REQUEST = "DescribeTopicPartitionsRequest"
_RESPONSE = "DescribeTopicPartitionsResponse"

MAX_PARTITIONS: Final = 2_000
"""Partitions of a page at most (Kafka's default of max.request.partition.size.limit)."""

_NO_LEADER = -1
_NO_EPOCH = -1

NO_PARTITION = Denied(INVALID_REQUEST, "The cursor's partition is below 0.", "request")


@dataclass(frozen=True, slots=True)
class Page:
    """What a request asks for of a list with namespaces.

    ``cursor`` is the name it begins at, None for the beginning, and ``limit`` its partitions at
    most. ``order`` holds the names as they were asked for; empty for "all".
    """

    cursor: str | None
    limit: int
    order: Mapping[str, int]


def request(
    state: ConnectionState, exchange: Exchange, buf: bytes, start: int, end: int
) -> Outcome:
    """An empty list asks for all."""
    spans = generic.request_spans(exchange.plan, buf, start, end)
    version, body = exchange.plan.version, buf[start:end]
    asked = messages.parse(_REQUEST, version, body)
    if asked.cursor is not None and asked.cursor.partition_index < 0:
        # A broker refuses all of it, whatever it names (DescribeTopicPartitionsRequestHandler).
        exchange.flow = state.flow(exchange.plan.api_key, version, b"")
        return generic.answer_error(exchange, body, NO_PARTITION)
    read = from_cursor(asked)
    if read is not asked:
        rest = messages.write(read)
        return generic.as_forward(exchange, rest, request(state, exchange, rest, 0, len(rest)))
    if not asked.topics:
        if not exchange.refreshed:
            return Refresh.TOPICS
        generic.require_open(state)
        names = state.listing().names
        return _describe(state, exchange, asked, names, namespace_listing.listed(state.access))
    found = namespace_listing.named(state.access, names_of(spans))
    if found is not None:
        if worth_a_look(state, exchange, found):
            return Refresh.CATALOG
        if found.existing:
            names = [name for name in page(asked).order if name not in found.existing]
            return _describe(state, exchange, asked, names, found.existing)
    return generic.request(state, exchange, buf, start, end)


def response(
    state: ConnectionState, exchange: Exchange, buf: bytes, start: int, end: int
) -> list[Edit] | bytes:
    """Learn the topic ids, restore the names; it holds no address."""
    spans = generic.response_spans(exchange.plan, buf, start, end)
    learn_ids(state, spans)
    return generic.restore(state, exchange, buf, start, end, spans)


def _describe(
    state: ConnectionState,
    exchange: Exchange,
    asked: Any,
    names: list[str],
    namespaces: Mapping[str, str],
) -> Outcome:
    """Describe topics by name, and among them namespaces (name to tier path), page by page."""
    version, view = exchange.plan.version, state.view

    def place(name: str) -> str | None:
        return namespace_listing.place(view, name)

    asked = with_cursor_among(asked, names, place)
    if namespaces:
        wanted = page(asked)
        prefixes = {name: flat_prefix(path) for name, path in namespaces.items()}
        exchange.then(lambda answer: add_namespaces(version, answer, wanted, prefixes, place))
        if wanted.cursor is not None and namespace_listing.denotes(view, wanted.cursor):
            # The broker knows no such topic: it begins with the first one behind it.
            start = place(wanted.cursor) or ""
            names = [name for name in names if (place(name) or start) >= start]
            asked = replace(asked, cursor=None)
    expanded = ask_by_name(asked, names)
    if expanded is None:
        exchange.flow = state.flow(exchange.plan.api_key, version, b"")
        return Answer(messages.write(messages.build(messages.message_class(_RESPONSE, version))))
    # Not forward_renamed: the cursor is the client's, and may name what is refused.
    outcome = generic.request(state, exchange, expanded, 0, len(expanded))
    return generic.as_forward(exchange, expanded, outcome)


def from_cursor(asked: Any) -> Any:
    """A request without an empty name that stands before its cursor, and that a broker does not
    look at for this reason; else it fails at it."""
    if asked.cursor is None or not asked.cursor.topic_name:
        return asked
    topics = tuple(topic for topic in asked.topics if topic.name)
    if not topics or len(topics) == len(asked.topics):
        return asked
    return replace(asked, topics=topics)


def ask_by_name(asked: Any, names: Iterable[str]) -> bytes | None:
    """The same request for these topics; None without a name, which would ask for all.

    The broker wants the cursor's topic among the topics, so it stays even when it is not listed
    any more: it is then answered like any topic that was asked for by name.
    """
    chosen = dict.fromkeys(names)
    if asked.cursor is not None:
        chosen.setdefault(asked.cursor.topic_name)
    if not chosen:
        return None
    topic_class = element_class(type(asked), "topics")
    topics = tuple(make(topic_class, {"name": name}) for name in chosen)
    return messages.write(replace(asked, topics=topics))


def page(asked: Any) -> Page:
    """What a request asks for."""
    limit = max(1, min(asked.response_partition_limit, MAX_PARTITIONS))
    cursor = None if asked.cursor is None else asked.cursor.topic_name
    order = {topic.name: at for at, topic in enumerate(asked.topics)}
    return Page(cursor, limit, order)


def with_cursor_among(asked: Any, names: Sequence[str], place: Callable[[str], str | None]) -> Any:
    """The same request, whose cursor is spelled as in ``names``: in another spelling its topic
    would be asked for, and answered, twice. ``place`` is as in :func:`add_namespaces`."""
    cursor = asked.cursor
    if cursor is None or cursor.topic_name in names:
        return asked
    at = place(cursor.topic_name)
    listed = None if at is None else next((name for name in names if place(name) == at), None)
    return asked if listed is None else replace(asked, cursor=replace(cursor, topic_name=listed))


def add_namespaces(
    version: int,
    body: bytes,
    asked: Page,
    namespaces: Mapping[str, str],
    place: Callable[[str], str | None],
) -> bytes:
    """The response with those of ``namespaces`` (name to flat prefix) that belong to its page.

    ``place`` gives the flat name of a topic, or a namespace's prefix; what has none is answered
    with an error, on every page.
    """
    response = messages.parse(_RESPONSE, version, body)
    end = response.next_cursor
    start = None if asked.cursor is None else place(asked.cursor)
    stop = None if end is None else place(end.topic_name)
    topic_class = element_class(type(response), "topics")
    placed = [
        (prefix, _namespace(topic_class, name))
        for name, prefix in namespaces.items()
        if (start is None or prefix >= start) and (stop is None or prefix < stop)
    ]
    refused = []
    for topic in response.topics:
        at = place(topic.name)
        if at is None:
            refused.append(topic)
        else:
            placed.append((at, topic))
    shown, rest = _cut(placed, asked.limit)
    if rest is not None:
        name, index = rest
        cursor_class = element_class(type(response), "next_cursor")
        end = make(cursor_class, {"topic_name": name, "partition_index": index})
    topics = [*refused, *shown]
    if asked.order:
        topics.sort(key=lambda topic: asked.order.get(topic.name, len(asked.order)))
    return messages.write(replace(response, topics=tuple(topics), next_cursor=end))


def _namespace(topic_class: type, name: str) -> Any:
    """A namespace's entry. Its one partition is for kafka-topics, which looks at the first one
    of every topic that it describes."""
    partition = make(
        element_class(topic_class, "partitions"),
        {
            "leader_id": _NO_LEADER,
            "leader_epoch": _NO_EPOCH,
            # Java's client takes null lists for lists.
            "eligible_leader_replicas": (),
            "last_known_elr": (),
        },
    )
    return make(topic_class, {"name": name, "is_internal": True, "partitions": (partition,)})


def _cut(placed: list[tuple[str, Any]], limit: int) -> tuple[list[Any], tuple[str, int] | None]:
    """The entries that fit a page, in their order, and the topic and partition that come next.

    Two spellings of one topic are in the same place, and cut alike.
    """
    shown: list[Any] = []
    for _, same in groupby(sorted(placed, key=itemgetter(0)), key=itemgetter(0)):
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
    request: Any, is_refused: Callable[[str], bool], first_spelling: Callable[[str], str]
) -> Any:
    """The broker wants the cursor's topic among the topics. If that one is refused by now, begin
    anew: a client may see a topic twice, but misses none."""
    cursor = request.cursor
    if cursor is None:
        return request
    if is_refused(cursor.topic_name):
        return replace(request, cursor=None)
    first = first_spelling(cursor.topic_name)
    return replace(request, cursor=replace(cursor, topic_name=first))


API = declare(
    Api(
        "DescribeTopicPartitions",
        (0, 0),
        Do.REWRITE,
        null=Do.EXPAND,
        needs=Needs(topic=DESCRIBE, tells_illegal=True),
        topics=(TopicShape(Topics("topics"), Topics("topics"), adjusted=_adjusted),),
        operations=ToldOperations((), "topics", "name", "topic_authorized_operations"),
        request=request,
        response=response,
    )
)
