"""DescribeQuorum (API 55, KIP-595): the controllers' quorum, for administrators.

Needs DESCRIBE on the cluster, as in ControllerApis, and no home. A controller knows one partition
with a quorum, ``__cluster_metadata-0``, which is no topic of any view. The addresses of controllers
(v2, KIP-853) are withheld, because no client can reach them through the gateway. In a tree
controllers have virtual node ids, like brokers.
"""

from __future__ import annotations

from typing import Any, Final

from gateway.apis import administrators, walking
from gateway.apis.counting import count_errors
from gateway.error_codes import UNKNOWN_TOPIC_OR_PARTITION
from gateway.exchanges.api import Api
from gateway.exchanges.exchange import Answer, Exchange, Outcome
from gateway.exchanges.state import ConnectionState
from gateway.rules.declaration import DESCRIBE, Do, Effect
from gateway.rules.division import Division, Requested
from gateway.rules.far_answers import NotBelieved
from protocol import messages
from protocol.entities import Kind
from protocol.errors import ProtocolError
from protocol.messages import changed, made
from protocol.pausing import eased, paced

_REQUEST: Final = "DescribeQuorumRequest"
_RESPONSE: Final = "DescribeQuorumResponse"
_QUORUM: Final = [("__cluster_metadata", 0)]
_UNKNOWN: Final = "This server does not host this topic-partition."


def request(
    state: ConnectionState, exchange: Exchange, buf: bytes, start: int, end: int
) -> Outcome:
    """Forward a request for the quorum's partition; answer any other request as a controller
    does."""
    plan, body = exchange.plan, buf[start:end]
    walking.request_spans(plan, buf, start, end)
    denied = administrators.denial(state, DESCRIBE)
    if denied is not None:
        return administrators.reject(state, exchange, body, denied)
    exchange.flow = state.flow(plan.api_key, plan.version, b"")
    exchange.spelled = {}
    asked = messages.parse(_REQUEST, plan.version, body)
    if len(asked.topics) == 1 and _partitions(asked) == _QUORUM:
        return []
    return Answer(_unknown(plan.version, asked))


def _partitions(message: Any) -> list[tuple[str, int]]:
    """Topic and partition of each partition in a message. Raises ProtocolError for more partitions
    than a request may have names, because each has an element of its own in the response."""
    found: list[tuple[str, int]] = []
    for topic in paced(message.topics):
        if len(found) + len(topic.partitions) > walking.MAX_SPANS:
            raise ProtocolError(f"{_REQUEST} names more than {walking.MAX_SPANS} partitions")
        found += [(topic.topic_name, one.partition_index) for one in eased(topic.partitions)]
    return found


def _unknown(version: int, asked: Any) -> bytes:
    """The response to partitions of which one has no quorum
    (DescribeQuorumRequest.getPartitionLevelErrorResponse)."""
    error = {"error_code": UNKNOWN_TOPIC_OR_PARTITION, "error_message": _UNKNOWN}
    topics = [
        {
            "topic_name": topic.topic_name,
            "partitions": [
                {"partition_index": one.partition_index, **error} for one in paced(topic.partitions)
            ],
        }
        for topic in paced(asked.topics)
    ]
    return made(_RESPONSE, version, {"topics": topics, "error_message": ""})


def response(state: ConnectionState, exchange: Exchange, buf: bytes, start: int, end: int) -> bytes:
    """Withhold the addresses of controllers. Raises ProtocolError for a topic that was not
    requested."""
    plan = exchange.plan
    spans = walking.response_spans(plan, buf, start, end)
    count_errors(exchange, [value for kind, _, _, value in eased(spans) if kind == Kind.ERROR_CODE])
    answer = messages.parse(_RESPONSE, plan.version, buf[start:end])
    if answer.topics and _partitions(answer) != _QUORUM:
        raise ProtocolError("DescribeQuorum: the response has a topic that was not requested")
    topics = tuple(
        changed(
            topic,
            {
                "partitions": tuple(
                    changed(one, {"error_message": _shown_message(state, one)})
                    for one in topic.partitions
                )
            },
        )
        for topic in answer.topics
    )
    values: dict[str, object] = {"topics": topics, "error_message": _shown_message(state, answer)}
    if messages.has_field(type(answer), "nodes"):
        values["nodes"] = tuple(changed(node, {"listeners": ()}) for node in paced(answer.nodes))
    return messages.write(changed(answer, values))


def _shown_message(state: ConnectionState, entity: Any) -> str | None:
    return administrators.shown_text(state, getattr(entity, "error_message", None))


def _believed(asked: Any, response: Any, wanted: Requested) -> None:
    """Check that another gateway's response is about the quorum, and has no address."""
    requested = set(_partitions(asked))
    if not requested.issuperset(_partitions(response)):
        raise NotBelieved("has a partition that was not requested")
    if any(node.listeners for node in paced(getattr(response, "nodes", ()))):
        raise NotBelieved("has addresses of controllers")


API = Api(
    "DescribeQuorum",
    (0, 2),
    Do.FORWARD,
    why="for administrators, not under a home; addresses are withheld",
    effect=Effect.DESCRIPTION,
    division=Division(not_under_home=True, believed=_believed),
    request=request,
    response=response,
)
