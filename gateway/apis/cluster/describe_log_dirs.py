"""DescribeLogDirs (API 35, KIP-113): the sizes of a view's partitions on the disks of a broker.

Needs DESCRIBE on the cluster, or on the home, which shows only topics that the client may
describe. Topic names are rewritten. Topics that the view hides are dropped, as a broker leaves
out topics that it does not have. Directories are numbered (``log-dir-1``) in place of the brokers'
paths, because Java's AdminClient keys directories by name.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from gateway.apis import administrators, generic, walking
from gateway.apis.counting import count_errors, count_topics, report_rejections
from gateway.decision import Denied
from gateway.exchanges.api import Api
from gateway.exchanges.exchange import Answer, Exchange, Forward, Outcome, Refresh
from gateway.exchanges.kept import Kept
from gateway.exchanges.state import ConnectionState
from gateway.rules.declaration import DESCRIBE, Do
from gateway.rules.rename import Rejections
from protocol import messages
from protocol.entities import Kind
from protocol.messages import changed
from protocol.pausing import eased, paced

_REQUEST: Final = "DescribeLogDirsRequest"
_RESPONSE: Final = "DescribeLogDirsResponse"

_OF_GATEWAY: Final = "gateway"

_FIRST_WITH_ERROR: Final = 3
"""The first version whose response has an error of its own (KIP-784)."""

_UNKNOWN_DISK: Final = {"total_bytes": -1, "usable_bytes": -1}
"""KIP-827's values for unknown sizes. All namespaces share a disk, so real sizes would reveal to a
home how much the other namespaces write."""


@dataclass(frozen=True, slots=True)
class RequestedTopics(Kept):
    """The requested partitions, by flat name and by each of the client's spellings; None: all."""

    partitions: Mapping[str, Mapping[str, frozenset[int]]] | None


def request(
    state: ConnectionState, exchange: Exchange, buf: bytes, start: int, end: int
) -> Outcome:
    """Forward the topics of the view under their flat names; null requests all topics."""
    plan, body = exchange.plan, buf[start:end]
    walking.request_spans(plan, buf, start, end)
    denied = administrators.cluster_or_home(state.access, DESCRIBE)
    if denied is not None:
        return administrators.reject(state, exchange, body, denied)
    generic.require_open(state)
    asked = messages.parse(_REQUEST, plan.version, body)
    if asked.topics is None:
        if not exchange.refreshed:
            return Refresh.CATALOG
        exchange.flow = state.flow(plan.api_key, plan.version, b"")
        exchange.kept = RequestedTopics(None)
        return []
    rejections = Rejections()
    left: list[Any] = []
    requested: dict[str, dict[str, frozenset[int]]] = {}
    for topic in paced(asked.topics):
        found = administrators.named_topic(state.access, topic.topic.encode())
        if isinstance(found, Denied):
            rejections.topics[topic.topic.encode()] = found
            continue
        flat = found.flat.decode()
        # A broker accepts a request that names a topic twice.
        left.append(replace(topic, topic=flat))
        spellings = requested.setdefault(flat, {})
        spellings[topic.topic] = spellings.get(topic.topic, frozenset()) | {*topic.partitions}
    again = generic.look_again(exchange, rejections)
    if again is not None:
        return again
    report_rejections(state, exchange, rejections)
    exchange.kept = RequestedTopics(requested)
    exchange.spelled = {
        flat.encode(): next(iter(spelled)).encode() for flat, spelled in paced(requested.items())
    }
    count_topics(state, exchange)
    return Forward(plan, messages.write(replace(asked, topics=tuple(left))))


def response(state: ConnectionState, exchange: Exchange, buf: bytes, start: int, end: int) -> bytes:
    """Number the directories, restore the topics, and drop topics that were not requested or that
    the view hides."""
    plan = exchange.plan
    spans = walking.response_spans(plan, buf, start, end)
    count_errors(exchange, [value for kind, _, _, value in spans if kind == Kind.ERROR_CODE])
    answer = messages.parse(_RESPONSE, plan.version, buf[start:end])
    # Sorted by path, so that a directory has the same number in every response of a broker.
    paths = sorted({each.log_dir for each in answer.results})
    numbers = {path: number for number, path in enumerate(paths, 1)}
    # A home in another volume of the tree counts as a home here.
    settings = state.view.settings
    disk = _UNKNOWN_DISK if settings.home or settings.home_elsewhere else {}
    results = tuple(
        changed(
            each,
            {
                **disk,
                "log_dir": f"log-dir-{numbers[each.log_dir]}",
                "topics": tuple(_shown(state, exchange, each.topics)),
            },
        )
        for each in answer.results
    )
    return messages.write(replace(answer, results=results))


def _shown(state: ConnectionState, exchange: Exchange, topics: tuple[Any, ...]) -> Iterator[Any]:
    """The topics of a directory (flat names), in the request's spelling or the listing's."""
    access, kept = state.access, exchange.kept
    assert isinstance(kept, RequestedTopics)
    shows_all = access.cluster(DESCRIBE) is None
    for topic in paced(topics):
        if kept.partitions is None:
            name = administrators.listed_topic(access, topic.name.encode())
            if name is not None:
                yield replace(topic, name=name.decode())
            continue
        for spelled, indexes in eased(kept.partitions.get(topic.name, {}).items()):
            if not shows_all and isinstance(access.subscribed(spelled.encode()), Denied):
                continue
            wanted = tuple(p for p in topic.partitions if p.partition_index in indexes)
            if wanted:
                yield replace(topic, name=spelled, partitions=wanted)


def _rejection(version: int, body: bytes, code: int) -> bytes | None:
    """A denial in a version without an error code: an empty list of directories (KafkaApis,
    KafkaAdminClient)."""
    if version >= _FIRST_WITH_ERROR:
        return None
    return messages.write(messages.build(messages.message_class(_RESPONSE, version)))


def at_gateway_node(exchange: Exchange, body: bytes) -> Outcome:
    """The response of a gateway's node, which has no partition: a directory without partitions.
    Java's admin client reads a response without directories as CLUSTER_AUTHORIZATION_FAILED
    (KafkaAdminClient.describeLogDirs)."""
    cls = messages.message_class(_RESPONSE, exchange.plan.version)
    empty = messages.make(messages.element_class(cls, "results"), {"log_dir": _OF_GATEWAY})
    return Answer(messages.write(messages.make(cls, {"results": [empty]})))


API = Api(
    "DescribeLogDirs",
    (1, 5),
    Do.REWRITE,
    null=Do.FILTER,
    why="directories are numbered; disks are not told under a home",
    rejection=_rejection,
    request=request,
    response=response,
    at_gateway_node=at_gateway_node,
)
