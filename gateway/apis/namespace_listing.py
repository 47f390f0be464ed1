"""Namespaces among topics: the namespaces that a request names, and those in a listing.

On the wire a namespace is a topic name that ends in ``:``, or in ``..`` in the legal spelling. In a
tree, directories that only lead to mounts, and the mounts themselves, are such names, too.

A namespace is answered as an internal topic with an empty partition that has a leader. Tools query
the offsets and producers of every topic that they list: Java's clients wait for the leader of each
partition (PartitionLeaderStrategy, OffsetFetcher) until they time out after 60 s, and kafka-topics
fails at a topic without partitions (TopicCommand.describeTopic takes the first partition).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from gateway.apis import generic, walking
from gateway.apis.counting import TOPIC_NAME, count_first_topic
from gateway.decision import Denied
from gateway.error_codes import UNKNOWN_TOPIC_OR_PARTITION
from gateway.exchanges.exchange import Answer, Exchange, Outcome, Plan, RequestHandler
from gateway.exchanges.state import ConnectionState
from gateway.names import DELIMITER, END_OF_NAMESPACE, SLASH, InvalidName, below, flat_prefix
from gateway.node_ids import virtual_node_id
from gateway.rules.topic_entries import partitions_of
from gateway.views import absolute
from gateway.views.access import DESCRIBE, Access
from gateway.views.view import View
from protocol import messages
from protocol.messages import changed
from protocol.pausing import eased, paced
from protocol.walkers import Span

_ENDS: Final = (DELIMITER.encode(), END_OF_NAMESPACE.encode())
_ENDS_WITH_SLASH: Final = (*_ENDS, SLASH.encode())

IS_NAMESPACE: Final = Denied(0, "", "namespace")
"""Takes a namespace out of a request for topics; the gateway answers it, without an error."""

NO_LEADER: Final = -1

MANY: Final = 5_000
"""With so many namespaces, the gateway decides in slices which of them a client may list."""

Empty = Callable[[int, Any], Mapping[str, object]]
"""(version, a request's entry of a partition) -> the fields of the response's entry for an empty
partition, as far as they differ from the defaults."""

_ROOT: Final = DELIMITER
"""Begins the path of a directory, which starts at the root of the tree; the path of a namespace
starts at the view's volume."""


@dataclass(frozen=True, slots=True)
class NamespacesAmong:
    """The names of one request that look like namespaces, in the client's spelling."""

    existing: dict[str, str]
    """An existing namespace -> its tier path; a directory -> its path from the root of the tree."""

    others: list[str]
    """The other names, which are subject to the rules for topic names."""


def namespaces_among(access: Access, names: Iterable[bytes]) -> NamespacesAmong | None:
    """The namespaces among the topic names of a request; None: no name looks like a namespace.

    A namespace that the client may not describe is among the ``others``, where it is rejected.
    """
    view = access.view
    ends = endings(view)
    suspects = [name for name in names if name.endswith(ends)]
    if not suspects:
        return None
    found = NamespacesAmong({}, [])
    for name in suspects:
        text = name.decode(errors="replace")
        path = path_of(view, text)
        if path is not None and path.startswith(_ROOT):
            found.existing[text] = path
            continue
        missing = path is None or view.snapshot.missing_tier(path) is not None
        if path is None or missing or access.namespace(DESCRIBE, path) is not None:
            found.others.append(text)
        else:
            found.existing[text] = path
    return found


def are_many(view: View) -> bool:
    """Whether :func:`listed_namespaces` takes a while, so that it must be called in slices."""
    return view.settings.list_namespaces and len(view.snapshot.namespaces) > MANY


def listed_namespaces(access: Access) -> dict[str, str]:
    """The namespaces in a listing for this client: the listener's spelling -> the tier path, sorted
    by path; empty unless the listener lists namespaces. A listing of the listener's own volume
    begins with the mounts that the listener lists.

    Under a home, only namespaces below the home are listed; without ``list_subtree``, only those
    directly below the view's own namespace. A namespace is not listed if it is being deleted, or if
    the client may not describe it.
    """
    view = access.view
    settings, snapshot = view.settings, view.snapshot
    mounts = _listed_mounts(view)
    if not settings.list_namespaces:
        return mounts
    every = paced(snapshot.below(settings.home))
    paths = [path for path in every if not snapshot.deleting_tier(path)]
    if not settings.list_subtree:
        paths = [path for path in paths if DELIMITER not in (below(path, settings.home) or "")]
    return mounts | {
        shown: path
        for path in paced(paths)
        if access.namespace(DESCRIBE, path) is None
        and (shown := view.spell_namespace(path)) is not None
    }


def _listed_mounts(view: View) -> dict[str, str]:
    settings = view.settings
    tree = settings.mounts
    if tree is None or not settings.list_tree or settings.home or not settings.is_relative:
        return {}
    found = absolute.listed_mounts(settings, tree)
    return {shown: f"{_ROOT}{path}" for shown, path in found.items()}


def endings(view: View) -> tuple[bytes, ...]:
    """The endings of names that may denote a namespace; a name without them denotes a topic."""
    return _ENDS_WITH_SLASH if view.settings.reads_slashes else _ENDS


def names_of(spans: list[Span]) -> list[bytes]:
    """The names of the topics among these spans."""
    return [value for kind, _, _, value in eased(spans) if kind == TOPIC_NAME and value]


def worth_a_refresh(state: ConnectionState, exchange: Exchange, found: NamespacesAmong) -> bool:
    """Whether the newest catalog must be read before a namespace is reported as unknown."""
    if exchange.refreshed:
        return False
    index = state.worker.cluster.index
    return any(not index.exists(name.encode()) for name in found.others)


def path_of(view: View, name: str) -> str | None:
    """The tier path of the namespace that a name denotes, even if it does not exist; with a leading
    ``:``, the path of a directory of the tree."""
    directory = view.directory_named(name)
    if directory is not None:
        return f"{_ROOT}{directory}"
    try:
        return view.namespace_named(name)
    except InvalidName:
        return None


def describable_path(access: Access, name: str) -> str | None:
    """:func:`denoted`, but None for a namespace that the client may not describe."""
    path = path_of(access.view, name)
    if path is None or path.startswith(_ROOT) or access.namespace(DESCRIBE, path) is None:
        return path
    return None


def place(access: Access, name: str) -> str | None:
    """The sort key of a topic or namespace in the broker's order, by flat name; a namespace comes
    before its topics. None for an invalid name, and for a name that the client may not describe,
    because its place would reveal whether the namespace exists."""
    path = describable_path(access, name)
    if path is not None:
        return flat_prefix(path)
    found = access.topic(DESCRIBE, name.encode())
    return None if isinstance(found, Denied) else found.flat.decode()


def leader(state: ConnectionState) -> int:
    """The node id, as clients see it, of the broker that leads a namespace's partition in responses
    without brokers; ``NO_LEADER`` if no broker has an address at this listener."""
    ranges = state.addresses.ranges
    nodes = [node for node in state.worker.cluster.brokers if ranges.place(node) is not None]
    return virtual_node_id(state.worker.number, min(nodes)) if nodes else NO_LEADER


def answering(empty: Empty) -> RequestHandler:
    """The handler of an API about partitions: it answers namespaces as ``empty`` defines, and
    rewrites all other names."""

    def request(
        state: ConnectionState, exchange: Exchange, buf: bytes, start: int, end: int
    ) -> Outcome:
        plan, access = exchange.plan, state.access
        spans = walking.request_spans(plan, buf, start, end)
        found = namespaces_among(access, names_of(spans))
        taken = () if found is None else {*_permitted(access, plan.needs.topic, found.existing)}
        if not taken:
            return generic.request_of(state, exchange, buf, start, end, spans)
        body = buf[start:end]
        exchange.then(lambda answer: _as_empty(plan, body, answer, taken, empty))
        denied = {name.encode(): IS_NAMESPACE for name in taken}
        left = generic.without_topics(state, exchange, body, denied)
        if isinstance(left, Answer):
            count_first_topic(state, exchange, spans)
            return left
        return generic.redecide(state, exchange, left, generic.request)

    return request


def _permitted(access: Access, operation: int, existing: Mapping[str, str]) -> Iterable[str]:
    """The namespaces on which the operation is allowed; directories have no ACLs."""
    for name, path in existing.items():
        if path.startswith(_ROOT) or access.namespace(operation, path) is None:
            yield name


def _as_empty(
    plan: Plan, body: bytes, answer: bytes, names: Collection[str], empty: Empty
) -> bytes:
    """The response to ``body`` in which each of these topics has a single, empty partition. Raises
    ProtocolError."""
    shape = plan.api.topic_shape(plan.version)
    assert shape is not None
    request = messages.parse(f"{plan.name}Request", plan.version, body)
    response = messages.parse(f"{plan.name}Response", plan.version, answer)
    asked = {
        topic.name: partitions_of(topic, shape.request).get(0) for topic in paced(request.topics)
    }
    topics = []
    for topic in paced(response.topics):
        if topic.name in names:
            entries = []
            for entry in topic.partitions:
                values: Mapping[str, object] = {"error_code": UNKNOWN_TOPIC_OR_PARTITION}
                if entry.partition_index == 0:
                    values = empty(plan.version, asked[topic.name])
                entries.append(changed(entry, values))
            topic = replace(topic, partitions=tuple(entries))
        topics.append(topic)
    return messages.write(replace(response, topics=tuple(topics)))
