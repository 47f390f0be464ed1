"""Checks that a response of another gateway holds only items that were requested.

Pure. A gateway of the tree answers requests for the volume at its mount. The client gets its
response merged with the responses of all other volumes, so the response may hold only:

* the requested items, each no more often than it was requested, or, if everything was requested,
  items below the mount. A topic requested by id must have a name below the mount, and a topic
  requested by name must not have the id of a topic of this gateway;
* ACLs of patterns below the mount;
* brokers with an address, each once, and partitions with an index that a topic can have;
* a throttle time of at most :data:`MAX_THROTTLE`, because clients send nothing on the connection
  for so long, not even requests for other volumes.

:mod:`gateway.referrals.believing` has already checked that node ids bear the mount's number.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Sized
from datetime import timedelta
from typing import Any, Final

from gateway.foreign_text import shown_text
from gateway.names import DELIMITER
from gateway.rules.declaration import TOPIC_ID, Declaration
from gateway.rules.division import Requested
from gateway.rules.volume_items import answered_keys, arrays, by_position, requested_key
from protocol import messages
from protocol.pausing import paced

MAX_THROTTLE: Final = timedelta(seconds=1)
"""Kafka's longest throttle time for a request quota (``quota.window.size.seconds``)."""

MAX_BROKERS: Final = 1_000
"""Brokers of one cluster; the largest clusters have some hundreds. Every response of a listener
lists them."""

MAX_VERSIONS: Final = 500
"""APIs, or features, of one cluster: each client's ApiVersions reads all of them."""

MAX_PARTITIONS: Final = 100_000
"""Partitions of one topic."""

MAX_HOST: Final = 255
"""Characters of a host name (RFC 1035), and of a rack or a cluster's id."""

_MAX_PORT: Final = 65_535
_UNKNOWN_EPOCH: Final = -1
_SHOWN: Final = 100
_DIRECTORY_ENDS: Final = (DELIMITER, "/", "..")


class NotBelieved(Exception):
    """A response holds an item that was not requested, or that cannot exist. The text continues a
    sentence that begins with ``it``."""


def believed(
    api: Declaration, version: int, request_body: bytes, response: Any, wanted: Requested
) -> Any:
    """A response of another gateway to a request, with its throttle time bounded.

    Raises NotBelieved, and ProtocolError for an unreadable request.
    """
    request = messages.parse(f"{api.name}Request", version, request_body)
    division = api.division
    if division is not None and division.believed is not None:
        division.believed(request, response, wanted)
    else:
        _check_items(api, version, request, response, wanted)
    _check_cluster(response)
    for topic in paced(getattr(response, "topics", ())):
        _check_partitions(topic)
    throttle = getattr(response, "throttle_time", timedelta())
    bounded = min(max(throttle, timedelta()), MAX_THROTTLE)
    return (
        response if bounded == throttle else messages.changed(response, {"throttle_time": bounded})
    )


def _check_items(
    api: Declaration, version: int, request: Any, response: Any, wanted: Requested
) -> None:
    try:
        asked_in, answered_in = arrays(api, version)
    except LookupError:
        return  # the request has a single key, or it is about the whole volume
    asked, answered = getattr(request, asked_in), getattr(response, answered_in)
    if by_position(api):
        check_count(asked, answered)
    elif asked is None or (not asked and version < _all_if_empty_below(api)):
        check_all(answered, wanted)
    else:
        check_keys((requested_key(each) for each in asked), answered, wanted)


def _all_if_empty_below(api: Declaration) -> int:
    return 0 if api.division is None else api.division.all_if_empty_below


def check_count(asked: Sized, answered: Sized) -> None:
    """Raise NotBelieved unless there is exactly one answer for each item."""
    if len(answered) != len(asked):
        raise NotBelieved(f"has {len(answered)} results for {len(asked)} items")


def check_keys(asked: Iterable[Hashable], answered: Iterable[Any], wanted: Requested) -> None:
    """Raise NotBelieved if an answer has a key that is not in ``asked``, or has a key twice."""
    left = Counter(paced(asked))
    for entry in paced(answered):
        keys = [key for key in answered_keys(entry) if key is not None]
        key = next((key for key in keys if left[key] > 0), None)
        if key is None:
            raise NotBelieved(f"has {shown_keys(keys)}, which was not requested")
        left[key] -= 1
        topic_id = getattr(entry, TOPIC_ID, None)
        if topic_id is None:
            continue
        name = getattr(entry, "name", None)
        if key == topic_id:
            if name and wanted.topic(name.encode()) != wanted.path:
                raise NotBelieved(f"has {shown_keys([name])}, which is not below that mount")
        elif wanted.has_id(topic_id.bytes):
            raise NotBelieved(f"gives {shown_keys([name])} the id of a topic elsewhere")


def check_all(answered: Iterable[Any], wanted: Requested) -> None:
    """Raise NotBelieved if a topic is not below the mount, after a request for all topics of the
    volume. Directories may be listed beside the topics; they are not checked."""
    seen = set()
    for entry in paced(answered):
        name = entry.name or ""
        if name in seen:
            raise NotBelieved(f"has {shown_keys([name])} twice")
        seen.add(name)
        if name.endswith(_DIRECTORY_ENDS):
            continue
        if wanted.topic(name.encode()) != wanted.path:
            raise NotBelieved(f"has {shown_keys([name])}, which is not below that mount")
        topic_id = getattr(entry, TOPIC_ID, None)
        if topic_id is not None and wanted.has_id(topic_id.bytes):
            raise NotBelieved(f"gives {shown_keys([name])} the id of a topic elsewhere")


def check_patterns(resources: Iterable[Any], wanted: Requested) -> None:
    """Raise NotBelieved if an ACL's pattern is not below the mount."""
    for each in paced(resources):
        kind, pattern_type = int(each.resource_type), int(each.pattern_type)
        if wanted.acl_pattern(kind, pattern_type, each.resource_name) != wanted.path:
            raise NotBelieved(
                f"has ACLs of {shown_keys([each.resource_name])}, not below that mount"
            )


def _check_cluster(response: Any) -> None:
    """Check the id, versions and brokers of a cluster, and the coordinators in the response."""
    if len(getattr(response, "cluster_id", None) or "") > MAX_HOST:
        raise NotBelieved(f"has a cluster id of more than {MAX_HOST} characters")
    for array in ("api_keys", "supported_features", "finalized_features"):
        if len(getattr(response, array, ())) > MAX_VERSIONS:
            raise NotBelieved(f"has more than {MAX_VERSIONS} {array}")
    brokers = getattr(response, "brokers", ())
    ids = [_node_id(each) for each in brokers]
    if len(ids) > MAX_BROKERS or len(set(ids)) != len(ids) or min(ids, default=0) < 0:
        raise NotBelieved("has brokers of one id, or of none, or too many")
    alone = (response,) if hasattr(response, "host") else ()
    for each in paced((*brokers, *getattr(response, "coordinators", ()), *alone)):
        if _node_id(each) < 0:
            continue  # there is no coordinator
        host, rack = str(each.host), getattr(each, "rack", None) or ""
        if not (0 < len(host) <= MAX_HOST and host.isascii() and host.isprintable()):
            raise NotBelieved(f"has a broker at {shown_keys([host])}")
        if len(rack) > MAX_HOST:
            raise NotBelieved(f"has a rack of more than {MAX_HOST} characters")
        if not 0 < each.port <= _MAX_PORT:
            raise NotBelieved(f"has a broker at port {int(each.port)}")


def _node_id(broker: Any) -> int:
    return int(broker.broker_id if hasattr(broker, "broker_id") else broker.node_id)


def _check_partitions(topic: Any) -> None:
    partitions = getattr(topic, "partitions", ())
    if not partitions:
        return
    indexes = {each.partition_index for each in paced(partitions)}
    if len(indexes) != len(partitions) or not 0 <= min(indexes) <= max(indexes) < MAX_PARTITIONS:
        raise NotBelieved(f"has partitions of {shown_keys([topic.name])} that no topic has")
    epochs = (getattr(each, "leader_epoch", _UNKNOWN_EPOCH) for each in paced(partitions))
    if min(epochs) < _UNKNOWN_EPOCH:
        raise NotBelieved(f"has an epoch below {_UNKNOWN_EPOCH}")


def shown_keys(keys: Iterable[object]) -> str:
    """Keys as an error text quotes them."""
    return " ".join(f"'{shown_text(key, _SHOWN)}'" for key in keys) or "an item without a name"
