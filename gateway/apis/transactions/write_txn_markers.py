"""WriteTxnMarkers (API 27): ends a transaction that hangs on a partition, as ``kafka-transactions
--abort`` does (KIP-664).

Needs ALTER or CLUSTER_ACTION on the cluster, as in KafkaApis, where no home is in force: producer
ids are the whole cluster's. Topic names are rewritten; each partition of a topic that cannot be
named here, or is named by a link, gets an error, and other topics get their markers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, NamedTuple

from gateway.apis import administrators, generic, walking
from gateway.apis.counting import count_topics, report_rejections
from gateway.decision import Denied
from gateway.exchanges.api import Api
from gateway.exchanges.exchange import Answer, Exchange, Forward, Outcome
from gateway.exchanges.state import ConnectionState
from gateway.rules.declaration import ALTER, CLUSTER_ACTION, Do
from gateway.rules.rename import Rejections
from gateway.views.access import own_name
from protocol import messages
from protocol.errors import ProtocolError
from protocol.messages import make
from protocol.pausing import paced

_REQUEST: Final = "WriteTxnMarkersRequest"
_RESPONSE: Final = "WriteTxnMarkersResponse"


class RejectedTopic(NamedTuple):
    """A topic of a marker that is not forwarded."""

    producer_id: int
    name: str
    partitions: Sequence[int]
    code: int


def request(
    state: ConnectionState, exchange: Exchange, buf: bytes, start: int, end: int
) -> Outcome:
    """Forward the markers of topics that can be named here, under their flat names."""
    plan, body = exchange.plan, buf[start:end]
    walking.request_spans(plan, buf, start, end)
    denied = administrators.denial(state, ALTER, CLUSTER_ACTION)
    if denied is not None:
        return administrators.reject(state, exchange, body, denied)
    asked = _parsed(plan.version, body)
    rejections, rejected, spelled = Rejections(), list[RejectedTopic](), dict[bytes, bytes]()
    markers = []
    for marker in paced(asked.markers):
        topics = []
        for topic in paced(marker.topics):
            name = topic.name.encode()
            found = own_name(name, state.view.resolve(name))
            if not isinstance(found, Denied) and spelled.setdefault(found.flat, name) != name:
                found = generic.SPELLED_TWICE
            if not isinstance(found, Denied):
                topics.append(replace(topic, name=found.flat.decode()))
                continue
            rejections.topics[name] = found
            rejected.append(
                RejectedTopic(marker.producer_id, topic.name, topic.partition_indexes, found.code)
            )
        if topics or not marker.topics:
            markers.append(replace(marker, topics=tuple(topics)))
    again = generic.look_again(exchange, rejections)
    if again is not None:
        return again
    report_rejections(state, exchange, rejections)
    exchange.spelled = spelled
    count_topics(state, exchange)
    if rejected:
        exchange.then(lambda answer: merged(plan.version, answer, rejected))
    if rejected and not markers:
        return Answer(messages.made(_RESPONSE, plan.version, {}))
    return Forward(plan, messages.write(replace(asked, markers=tuple(markers))))


def merged(version: int, body: bytes, rejected: Sequence[RejectedTopic]) -> bytes:
    """A WriteTxnMarkersResponse with the errors of the ``rejected`` topics; like a broker's, it has
    an element for each producer id, and each partition once in it. Raises ProtocolError."""
    response = messages.parse(_RESPONSE, version, body)
    codes: dict[int, dict[str, dict[int, int]]] = {}
    for marker in paced(response.markers):
        topics = codes.setdefault(marker.producer_id, {})
        for topic in paced(marker.topics):
            found = topics.setdefault(topic.name, {})
            for partition in paced(topic.partitions):
                found[partition.partition_index] = int(partition.error_code)
    for one in paced(rejected):
        found = codes.setdefault(one.producer_id, {}).setdefault(one.name, {})
        for index in paced(one.partitions):
            found[index] = one.code
    markers = [
        {"producer_id": producer_id, "topics": [_topic(*each) for each in paced(topics.items())]}
        for producer_id, topics in paced(codes.items())
    ]
    return messages.write(make(type(response), {"markers": markers}))


def _topic(name: str, codes: Mapping[int, int]) -> Mapping[str, object]:
    partitions = [
        {"partition_index": index, "error_code": code} for index, code in paced(codes.items())
    ]
    return {"name": name, "partitions": partitions}


def _parsed(version: int, body: bytes) -> Any:
    """A request. Raises ProtocolError if it names more than MAX_SPANS partitions, each of which has
    an element of its own in the response."""
    asked = messages.parse(_REQUEST, version, body)
    count = 0
    for marker in paced(asked.markers):
        for topic in paced(marker.topics):
            count += len(topic.partition_indexes)
            if count > walking.MAX_SPANS:
                raise ProtocolError(f"{_REQUEST} names more than {walking.MAX_SPANS} partitions")
    return asked


def _all_rejected(version: int, body: bytes, code: int) -> bytes:
    """The response that gives each partition this error (WriteTxnMarkersRequest.getErrorResponse:
    the response has no error of its own)."""
    asked = _parsed(version, body)
    rejected = [
        RejectedTopic(marker.producer_id, topic.name, topic.partition_indexes, code)
        for marker in paced(asked.markers)
        for topic in paced(marker.topics)
    ]
    return merged(version, messages.made(_RESPONSE, version, {}), rejected)


API = Api(
    "WriteTxnMarkers",
    (1, 2),
    Do.REWRITE,
    why="for administrators, not under a home",
    rejection=_all_rejected,
    request=request,
)
