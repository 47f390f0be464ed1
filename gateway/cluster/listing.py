"""The brokers and topics that a Metadata response lists.

Pure: request and response bodies in, a ``Listing`` out.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from gateway.brokers.messages import broker_addresses
from protocol import messages
from protocol.pausing import paced
from protocol.primitives import compact_string, legacy_string

Address = tuple[str, int]

_FIRST_FLEXIBLE_VERSION = 9
_CONTROLLER_BYTES = 4
# Error codes of a topic that does not exist, or has no name that a topic can have.
_NO_SUCH_TOPIC = frozenset({3, 17})


@dataclass(frozen=True, slots=True)
class Listing:
    """A cluster as a broker knows it.

    - ``cluster_id``: given from v2 on.
    - ``brokers``: node id -> (host, port) of the listener that responded, without brokers that have
      no address there.
    - ``topics``: (flat name, 16-byte id); the id is given from Metadata v10 on.
    - ``partitions``: flat name -> the number of its partitions.
    - ``racks``: node id -> rack; None for a broker without rack, and before v1.
    """

    cluster_id: str | None
    controller_id: int
    brokers: dict[int, Address]
    topics: Sequence[tuple[bytes, bytes | None]]
    partitions: Mapping[bytes, int]
    racks: dict[int, str | None]


def all_topics_request(version: int) -> Any:
    """A Metadata request for every topic: a null array, but an empty array before v1."""
    message = messages.message_class("MetadataRequest", version)
    if version == 0:
        return messages.build(message, topics=())
    if version < 4:
        return messages.build(message, topics=None)
    return messages.build(message, topics=None, allow_auto_topic_creation=False)


def read_listing(version: int, body: bytes) -> Listing:
    """Read a MetadataResponse body. Raises ProtocolError if it is malformed."""
    response = messages.parse("MetadataResponse", version, body)
    there = [
        (topic.name.encode(), topic)
        for topic in paced(response.topics)
        if topic.name is not None and int(topic.error_code) not in _NO_SUCH_TOPIC
    ]
    brokers = broker_addresses(response)
    return Listing(
        cluster_id=getattr(response, "cluster_id", None),
        controller_id=int(getattr(response, "controller_id", -1)),
        brokers=brokers,
        topics=[
            (name, _id_bytes(getattr(topic, "topic_id", None))) for name, topic in paced(there)
        ],
        partitions={name: len(topic.partitions) for name, topic in paced(there)},
        racks={
            int(broker.node_id): getattr(broker, "rack", None)
            for broker in response.brokers
            if int(broker.node_id) in brokers
        },
    )


class ListingReader:
    """``read_listing`` that does not read the last body again.

    5,000 topics of 6 partitions take 30 ms to read, and most of the time nothing has changed. The
    controller may differ: brokers of a KRaft cluster name any broker as the controller in each
    response.
    """

    def __init__(self) -> None:
        self._version = -1
        self._before_controller = b""
        self._after_controller = b""
        self._listing: Listing | None = None

    def read(self, version: int, body: bytes) -> Listing:
        """Read a MetadataResponse body. Raises ProtocolError if it is malformed."""
        if self._listing is not None and version == self._version and self._is_like_last(body):
            start = len(self._before_controller)
            controller = int.from_bytes(body[start : start + _CONTROLLER_BYTES], "big", signed=True)
            return replace(self._listing, controller_id=controller)
        listing = read_listing(version, body)
        position = _controller_position(version, body, listing)
        self._listing = None if position is None else listing
        if position is not None:
            self._version = version
            self._before_controller = body[:position]
            self._after_controller = body[position + _CONTROLLER_BYTES :]
        return listing

    def _is_like_last(self, body: bytes) -> bool:
        before, after = self._before_controller, self._after_controller
        return (
            len(body) == len(before) + _CONTROLLER_BYTES + len(after)
            and body.startswith(before)
            and body.endswith(after)
        )


def _controller_position(version: int, body: bytes, listing: Listing) -> int | None:
    """The position of the controller id, right after the cluster id (v2+).

    None if there is no cluster id, or these bytes are found elsewhere too.
    """
    if listing.cluster_id is None:
        return None
    string = compact_string if version >= _FIRST_FLEXIBLE_VERSION else legacy_string
    cluster_id = string(listing.cluster_id.encode())
    controller = listing.controller_id.to_bytes(_CONTROLLER_BYTES, "big", signed=True)
    if body.count(cluster_id + controller) != 1:
        return None
    return body.index(cluster_id + controller) + len(cluster_id)


def _id_bytes(topic_id: uuid.UUID | None) -> bytes | None:
    return None if topic_id is None else topic_id.bytes
