"""Answers in place of a volume that cannot be reached, for one part of a divided request.

What a client has seen stays in its metadata: a topic that had been seen is answered without error,
by its partitions without leader. (An error takes the topic out of Java's metadata: its producers
forget the partitions, and a group leader rebalances.) A topic never seen is LEADER_NOT_AVAILABLE, a
coordinator COORDINATOR_NOT_AVAILABLE, which clients ask for again. A change or a description that
an operator asks for is REQUEST_TIMED_OUT, item by item: an Admin client reports it at once, with
the sentence, and the items of other volumes are answered.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final
from uuid import UUID

from gateway.decision import Denied
from gateway.error_codes import (
    CLUSTER_AUTHORIZATION_FAILED,
    COORDINATOR_NOT_AVAILABLE,
    GROUP_AUTHORIZATION_FAILED,
    INVALID_REQUEST,
    LEADER_NOT_AVAILABLE,
    REQUEST_TIMED_OUT,
    TOPIC_AUTHORIZATION_FAILED,
    TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
    UNKNOWN_TOPIC_OR_PARTITION,
)
from gateway.referrals.questions import Outcome
from gateway.rules import partial, volume_pages
from gateway.rules.declaration import TOPIC_ID, Declaration
from gateway.rules.volume_items import FIND_COORDINATOR, METADATA, TRANSACTION, arrays, by_position
from protocol import messages
from protocol.messages import made
from protocol.pausing import paced

NO_LEADER = -1

_OF_TOPICS: Final = frozenset(
    {
        METADATA,
        volume_pages.API,
        "AlterConfigs",
        "CreatePartitions",
        "CreateTopics",
        "DeleteTopics",
        "DescribeConfigs",
        "IncrementalAlterConfigs",
    }
)
"""APIs whose items are topics, or mostly."""

CLUSTER = "DescribeCluster"
BROKERS = 1
"""Kafka's endpoint type of brokers."""

_COORDINATORS: Final = f"{FIND_COORDINATOR}Request"

NOT_REQUESTED = -(2**31)
"""Authorized operations where they are not known."""

Remembered = tuple[bytes | None, int]
"""A topic as it was last seen: the 16 bytes of its id, if it has one, and how many partitions."""


def topics_named(
    api: Declaration, version: int, part_body: bytes
) -> tuple[list[str] | None, list[bytes]]:
    """The names (None: all topics are requested) and the topic ids in a part of Metadata or
    DescribeTopicPartitions. Raises ProtocolError."""
    wanted = messages.parse(f"{api.name}Request", version, part_body).topics
    if wanted is None or (api.name == METADATA and version == 0 and not wanted):
        return None, []
    by_id = [each for each in wanted if getattr(each, TOPIC_ID, None) is not None]
    names = [each.name for each in wanted if getattr(each, TOPIC_ID, None) is None]
    return names, [each.topic_id.bytes for each in by_id]


def code_when_down(api: Declaration) -> int:
    """The error code for what a volume that cannot be reached was requested by this API."""
    if api.name == FIND_COORDINATOR:
        return COORDINATOR_NOT_AVAILABLE
    topics = api.name in (METADATA, volume_pages.API)
    return LEADER_NOT_AVAILABLE if topics else REQUEST_TIMED_OUT


def code_when_not_referred(
    api: Declaration, version: int, part_body: bytes, outcome: Outcome
) -> int:
    """The error code where other gateways say that a request is for no volume of theirs, or not for
    this client: Kafka's for what does not exist, or is not authorized. A lookup that is rejected
    gets one after which clients try again, since an operator may correct the route. Raises
    ProtocolError when the request cannot be read."""
    coordinator = api.name == FIND_COORDINATOR
    if outcome is Outcome.DENIED:
        if coordinator:
            # Java's producer reports any other error than that as a KafkaException without a cause.
            key_type = getattr(messages.parse(_COORDINATORS, version, part_body), "key_type", None)
            if key_type == TRANSACTION:
                return TRANSACTIONAL_ID_AUTHORIZATION_FAILED
            return GROUP_AUTHORIZATION_FAILED
        named = api.name in _OF_TOPICS
        return TOPIC_AUTHORIZATION_FAILED if named else CLUSTER_AUTHORIZATION_FAILED
    if coordinator:
        return COORDINATOR_NOT_AVAILABLE
    missing = outcome is Outcome.NO_SUCH_MOUNT and api.name in _OF_TOPICS
    lookup = api.name in (METADATA, volume_pages.API)
    return UNKNOWN_TOPIC_OR_PARTITION if missing or lookup else INVALID_REQUEST


def failed(api: Declaration, version: int, part_body: bytes, code: int, message: str) -> bytes:
    """The answer to a part whose volume cannot be reached: each of its items gets the error.

    For Metadata and DescribeTopicPartitions, whose topics may be remembered, see below. Raises
    ProtocolError when the request cannot be read.
    """
    if by_position(api):
        asked, answered = arrays(api, version)
        request = messages.parse(f"{api.name}Request", version, part_body)
        result = {"error_code": code, "error_message": message}
        results = [result] * len(getattr(request, asked))
        return made(f"{api.name}Response", version, {answered: results})
    if api.name == METADATA:
        # Not in the error of v13, which is for the whole answer.
        return partial.reject_all(api, version, part_body, Denied(code, message, "error_response"))
    return partial.error_response(api, version, part_body, code, message)


def metadata_when_down(
    version: int, part_body: bytes, remembered: Mapping[str, Remembered]
) -> bytes:
    """The MetadataResponse without brokers, by what is ``remembered``: topics that the principal
    may describe, by their names as the client spells them.

    A request for all topics gets all of these. Raises ProtocolError.
    """
    request = messages.parse("MetadataRequest", version, part_body)
    wanted = request.topics
    if wanted is None or (version == 0 and not wanted):
        topics: Iterable[Any] = (_seen(name, each) for name, each in paced(remembered.items()))
    else:
        names = {topic_id: name for name, (topic_id, _) in remembered.items()}
        topics = (_topic(entry, names, remembered) for entry in paced(wanted))
    return made("MetadataResponse", version, {"controller_id": NO_LEADER, "topics": list(topics)})


def description_when_down(
    version: int, part_body: bytes, remembered: Mapping[str, Remembered]
) -> bytes:
    """The DescribeTopicPartitionsResponse by what is ``remembered``, as ``metadata_when_down``.

    It goes on at the request's cursor, and may be longer than a page: ``volume_parts.merge`` cuts
    it. Raises ProtocolError.
    """
    request = messages.parse(f"{volume_pages.API}Request", version, part_body)
    topics = []
    for entry in paced(request.topics):
        cursor = request.cursor
        here = cursor is not None and cursor.topic_name == entry.name
        start = max(0, cursor.partition_index) if here else 0
        topics.append(_topic(entry, {}, remembered, start))
    return made(f"{volume_pages.API}Response", version, {"topics": topics})


def cluster_when_down(version: int, part_body: bytes) -> bytes:
    """The DescribeClusterResponse without brokers, to which ``tree_brokers`` adds those known; of
    the controllers (KIP-919) nothing is known. Raises ProtocolError."""
    request = messages.parse(f"{CLUSTER}Request", version, part_body)
    if getattr(request, "endpoint_type", BROKERS) != BROKERS:
        return made(f"{CLUSTER}Response", version, {"error_code": REQUEST_TIMED_OUT})
    values = {
        "endpoint_type": BROKERS,
        "controller_id": NO_LEADER,
        "cluster_authorized_operations": NOT_REQUESTED,
    }
    return made(f"{CLUSTER}Response", version, values)


def _topic(
    entry: Any,
    names: Mapping[bytes | None, str],
    remembered: Mapping[str, Remembered],
    start: int = 0,
) -> dict[str, object]:
    """The answer for one topic of a request; ``names`` are those of remembered ids."""
    topic_id: UUID | None = getattr(entry, TOPIC_ID, None)
    name = entry.name if topic_id is None else names.get(topic_id.bytes, entry.name)
    seen = None if name is None else remembered.get(name)
    if seen is not None and (topic_id is None or seen[0] == topic_id.bytes):
        return _seen(name, seen, start)
    return {"name": name, TOPIC_ID: topic_id, "error_code": LEADER_NOT_AVAILABLE}


def _seen(name: str, seen: Remembered, start: int = 0) -> dict[str, object]:
    raw_id, count = seen
    partitions = [
        {
            "error_code": LEADER_NOT_AVAILABLE,
            "partition_index": index,
            "leader_id": NO_LEADER,
            "leader_epoch": NO_LEADER,
            # Java's client fails on null in their place.
            "eligible_leader_replicas": (),
            "last_known_elr": (),
        }
        for index in range(start, count)
    ]
    topic_id = None if raw_id is None else UUID(bytes=raw_id)
    return {"name": name, TOPIC_ID: topic_id, "partitions": partitions}
