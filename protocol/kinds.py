"""The kinds of fields, which rules and walkers use."""

from __future__ import annotations

from enum import IntEnum, unique
from typing import Final


@unique
class Kind(IntEnum):
    """The content of a field. The value of its span is raw bytes unless stated otherwise here."""

    TOPIC_NAME = 0
    TOPIC_ID = 1
    """16 bytes."""
    GROUP_ID = 2
    TRANSACTIONAL_ID = 3
    RESOURCE_TYPE = 4
    """int; the type of the RESOURCE_NAME beside it (ConfigResource.Type, ResourceType)."""
    RESOURCE_NAME = 5
    KEY_TYPE = 6
    """int; the type of a COORDINATOR_KEY: 0 for a group, 1 for a transactional id, 2 for a share
    partition (``group:topicId:partition``)."""
    COORDINATOR_KEY = 7
    REGEX = 8
    """A regular expression over topic names, or over transactional ids (ListTransactions)."""
    NODE_ID = 9
    """int; a broker's id without its address. Emitted only if it is not negative."""
    ENDPOINT_NODE = 10
    """int; the broker whose HOST and PORT follow in the same struct."""
    HOST = 11
    """A broker's or controller's host; hosts of clients are PLAIN."""
    PORT = 12
    """int; four bytes on the wire, two in the controllers' own APIs and DescribeQuorum."""
    ERROR_CODE = 13
    """int; emitted only if it is not 0."""
    ERROR_TEXT = 14
    PROTOCOL_TYPE = 15
    """A classic group's; if it is "consumer", SUBSCRIPTION and ASSIGNMENT are the consumer
    protocol's."""
    SUBSCRIPTION = 16
    """The content of the bytes field: a version and ConsumerProtocolSubscription."""
    ASSIGNMENT = 17
    """The content of the bytes field: a version and ConsumerProtocolAssignment."""
    RECORDS = 18
    """int: the number of record bytes that follow (0 if null); ``stop`` is their position."""
    SESSION_ID = 19
    """int; a fetch session's (KIP-227)."""
    SESSION_EPOCH = 20
    """int; a fetch or share session's."""
    ACKS = 21
    """int."""
    MAX_BYTES = 22
    """int; the limit of a whole fetch, not of a partition."""
    PARTITION = 23
    """int; a partition index."""
    COUNT = 24
    """int: the number of elements of an array of topics or of partitions (-1 if null)."""
    SIZED = 25
    """int: the end of the content of a tagged field that holds wanted fields; ``start`` is the
    position of its size, ``stop`` of its content."""
    EMBEDDED = 26
    """A whole request or response inside another (Envelope), between controllers only."""
    REPLICA_ID = 27
    """int; the requester: -1 for a consumer, 0 and up for a broker, which may see and move more."""
    PLAIN = 28
    """No rule looks at it; never emitted."""

    AUTO_CREATION = 29
    """bool; whether a Metadata request may create the topics that it names."""

    TEXT = 30
    """The kind of no field, and never emitted: if a walker has it, it raises NotUtf8 for any string
    that is not UTF-8, whatever its kind (``protocol.text``)."""


ALL_KINDS: Final = frozenset(Kind) - {Kind.PLAIN, Kind.TEXT}
"""Kinds that walkers emit."""
