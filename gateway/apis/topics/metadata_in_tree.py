"""Metadata in a tree: the brokers of all clusters, the topics of a cluster that cannot be reached,
and requests to brokers that serve another version.

Brokers are replaced without parsing the topics, whose bytes stay unchanged.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from itertools import takewhile
from typing import Any, Final

from gateway.apis.namespace_listing import NO_LEADER
from gateway.apis.topics.remembered import entry_of, recalled, seen_entry
from gateway.rules.division import OF_LOOKUPS, Division, Recall
from gateway.rules.other_versions import not_expressible
from gateway.rules.tree_brokers import Broker, BrokerList, made_brokers
from gateway.rules.volume_items import of_topic
from protocol import messages
from protocol.layout import field_end
from protocol.messages import made, make
from protocol.pausing import paced
from protocol.schema import message_spec

_REQUEST: Final = "MetadataRequest"
_RESPONSE: Final = "MetadataResponse"

_FIRST_WITH_NULL: Final = 1
"""The first version in which null requests all topics; in v0 an empty array does."""


def replaced(
    version: int,
    body: bytes,
    brokers: Iterable[Broker],
    cluster_id: str | None,
    controller_id: int,
) -> bytes:
    """The response with these brokers, cluster id and controller. Raises ProtocolError."""
    response_class = messages.message_class(_RESPONSE, version)
    values: dict[str, object] = {
        "brokers": made_brokers(response_class, "node_id", brokers),
        "cluster_id": cluster_id,
        "controller_id": controller_id,
    }
    headless = messages.write(make(response_class, values))
    start = _topics_at(version, body)
    return headless[: _topics_at(version, headless)] + body[start:]


def extended(version: int, body: bytes, brokers: Iterable[Broker]) -> bytes:
    """The response with these brokers after its own. Raises ProtocolError."""
    response = _without_topics(version, body)
    more = made_brokers(type(response), "node_id", brokers)
    head = messages.write(replace(response, brokers=(*response.brokers, *more)))
    return head[: _topics_at(version, head)] + body[_topics_at(version, body) :]


def node_ids(version: int, body: bytes) -> set[int]:
    """The ids of the brokers in a response. Raises ProtocolError."""
    return {each.node_id for each in _without_topics(version, body).brokers}


BROKERS: Final = BrokerList(replaced, extended, node_ids)


def when_down(version: int, part_body: bytes, recall: Recall) -> bytes:
    """The response without brokers, with the remembered topics; a request for all topics gets every
    remembered topic. Raises ProtocolError."""
    wanted = messages.parse(_REQUEST, version, part_body).topics
    topics: Iterable[Mapping[str, object]]
    if wanted is None or (version < _FIRST_WITH_NULL and not wanted):
        topics = (seen_entry(name, each) for name, each in paced(recall(None, ()).items()))
    else:
        remembered = recalled(wanted, recall)
        names = {topic_id: name for name, (topic_id, _) in remembered.items()}
        topics = (entry_of(topic, names, remembered) for topic in paced(wanted))
    return made(_RESPONSE, version, {"controller_id": NO_LEADER, "topics": list(topics)})


DIVISION: Final = Division(
    item=of_topic,
    all_if_empty_below=_FIRST_WITH_NULL,
    # The error of the whole response (v13) is an error that no topic can have.
    drops_error=True,
    codes=OF_LOOKUPS,
    when_down=when_down,
)


def translated(request: Any, before: int, after: int, where: str) -> Mapping[str, object]:
    """The topics of a request at another version (``Declaration.translated``)."""
    if before < _FIRST_WITH_NULL and not request.topics:
        return {"topics": None}
    if after >= _FIRST_WITH_NULL or request.topics:
        return {}
    if request.topics is not None:
        raise not_expressible(where, "a request for no topics")
    return {"topics": ()}


def _without_topics(version: int, body: bytes) -> Any:
    nothing = messages.write(messages.build(messages.message_class(_RESPONSE, version)))
    head = body[: _topics_at(version, body)]
    return messages.parse(_RESPONSE, version, head + nothing[_topics_at(version, nothing) :])


def _topics_at(version: int, body: bytes) -> int:
    """The position of the array of topics. The array is not walked here; the body has been."""
    spec = message_spec(_RESPONSE, version).body
    position = 0
    for field in takewhile(lambda each: each.name != "topics", spec.fields):
        position = field_end(body, position, field, spec.flexible)
    return position
