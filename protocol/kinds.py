"""The kinds of fields, as rules and walkers name them."""

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
    """int; says what the RESOURCE_NAME beside it is (ConfigResource.Type, ResourceType)."""
    RESOURCE_NAME = 5
    KEY_TYPE = 6
    """int; says what a COORDINATOR_KEY is: 0 a group, 1 a transactional id, 2 a share
    partition (``group:topicId:partition``)."""
    COORDINATOR_KEY = 7
    REGEX = 8
    """A regular expression over topic names, or over transactional ids (ListTransactions)."""
    NODE_ID = 9
    """int; a broker that is named without its address. Emitted only if it is one: not negative."""
    ENDPOINT_NODE = 10
    """int; the broker whose HOST and PORT follow in the same struct."""
    HOST = 11
    """A broker's or controller's; hosts of clients are PLAIN."""
    PORT = 12
    """int; four bytes on the wire, two in the controllers' own APIs and DescribeQuorum."""
    ERROR_CODE = 13
    """int; emitted only if it is not 0."""
    ERROR_TEXT = 14
    PROTOCOL_TYPE = 15
    """A classic group's; "consumer" makes SUBSCRIPTION and ASSIGNMENT the consumer protocol's."""
    SUBSCRIPTION = 16
    """The content of the bytes field: a version and ConsumerProtocolSubscription."""
    ASSIGNMENT = 17
    """The content of the bytes field: a version and ConsumerProtocolAssignment."""
    RECORDS = 18
    """int: how many record bytes follow (0 if null); ``stop`` is where they begin."""
    SESSION_ID = 19
    """int; a fetch session's (KIP-227)."""
    SESSION_EPOCH = 20
    """int; a fetch or share session's."""
    ACKS = 21
    """int."""
    MAX_BYTES = 22
    """int; of a whole fetch, not of a partition."""
    PARTITION = 23
    """int; a partition index."""
    COUNT = 24
    """int: the number of elements of an array of topics or of partitions (-1 if null)."""
    SIZED = 25
    """int: where the content of a tagged field that holds wanted fields ends; ``start`` is its
    size's, ``stop`` its content's beginning."""
    EMBEDDED = 26
    """A whole request or response inside another (Envelope), between controllers only."""
    REPLICA_ID = 27
    """int; the requester: -1 is a consumer, 0 and up a broker, which may see and move more."""
    PLAIN = 28
    """No rule looks at it; never emitted."""

    AUTO_CREATION = 29
    """bool; whether the topics that a Metadata request names may be created by it."""

    TEXT = 30
    """No field's, and never emitted: a walker that has it raises NotUtf8 for any string that is
    not UTF-8, whatever its kind (``protocol.text``)."""


ALL_KINDS: Final = frozenset(Kind) - {Kind.PLAIN, Kind.TEXT}
"""Kinds that walkers emit."""
