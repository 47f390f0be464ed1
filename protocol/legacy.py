"""CreateTopics v0 and v1, which kio lacks: Kafka 4 no longer serves them, old clients send them.

In kio's own form, so that kio reads and writes them. The request v1 has the layout of v2, v0
lacks ``validate_only``; the response v0 has name and error code only, v1 adds the error message
and v2 the throttle time (Kafka 3.9's CreateTopicsRequest.json and CreateTopicsResponse.json).
"""
# No `from __future__ import annotations`: kio reads the annotations at run time.

import datetime
from dataclasses import dataclass, field
from typing import ClassVar, Final

from kio.schema.errors import ErrorCode
from kio.schema.request_header.v1.header import RequestHeader
from kio.schema.response_header.v0.header import ResponseHeader
from kio.schema.types import BrokerId, TopicName
from kio.static.constants import EntityType
from kio.static.primitive import i16, i32, i32Timedelta
from kio.static.protocol import Entity

_TIMEOUT: Final = i32Timedelta.parse(datetime.timedelta(milliseconds=60000))


class _RequestV0:
    __slots__ = ()
    __version__: ClassVar[i16] = i16(0)
    __flexible__: ClassVar[bool] = False
    __api_key__: ClassVar[i16] = i16(19)
    __header_schema__: ClassVar[type[RequestHeader]] = RequestHeader


class _RequestV1(_RequestV0):
    __slots__ = ()
    __version__: ClassVar[i16] = i16(1)


class _ResponseV0:
    __slots__ = ()
    __version__: ClassVar[i16] = i16(0)
    __flexible__: ClassVar[bool] = False
    __api_key__: ClassVar[i16] = i16(19)
    __header_schema__: ClassVar[type[ResponseHeader]] = ResponseHeader


class _ResponseV1(_ResponseV0):
    __slots__ = ()
    __version__: ClassVar[i16] = i16(1)


@dataclass(frozen=True, slots=True, kw_only=True)
class CreatableReplicaAssignmentV0(_RequestV0):
    """A partition and the brokers to put it on."""

    __type__: ClassVar = EntityType.nested
    partition_index: i32 = field(metadata={"kafka_type": "int32"})
    broker_ids: tuple[BrokerId, ...] = field(metadata={"kafka_type": "int32"}, default=())


@dataclass(frozen=True, slots=True, kw_only=True)
class CreatableTopicConfigV0(_RequestV0):
    """A configuration entry of a topic to create."""

    __type__: ClassVar = EntityType.nested
    name: str = field(metadata={"kafka_type": "string"})
    value: str | None = field(metadata={"kafka_type": "string"})


@dataclass(frozen=True, slots=True, kw_only=True)
class CreatableTopicV0(_RequestV0):
    """A topic to create."""

    __type__: ClassVar = EntityType.nested
    name: TopicName = field(metadata={"kafka_type": "string"})
    num_partitions: i32 = field(metadata={"kafka_type": "int32"})
    replication_factor: i16 = field(metadata={"kafka_type": "int16"})
    assignments: tuple[CreatableReplicaAssignmentV0, ...]
    configs: tuple[CreatableTopicConfigV0, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateTopicsRequestV0(_RequestV0):
    """CreateTopicsRequest v0."""

    __type__: ClassVar = EntityType.request
    topics: tuple[CreatableTopicV0, ...]
    timeout: i32Timedelta = field(metadata={"kafka_type": "timedelta_i32"}, default=_TIMEOUT)


@dataclass(frozen=True, slots=True, kw_only=True)
class CreatableReplicaAssignmentV1(_RequestV1):
    """A partition and the brokers to put it on."""

    __type__: ClassVar = EntityType.nested
    partition_index: i32 = field(metadata={"kafka_type": "int32"})
    broker_ids: tuple[BrokerId, ...] = field(metadata={"kafka_type": "int32"}, default=())


@dataclass(frozen=True, slots=True, kw_only=True)
class CreatableTopicConfigV1(_RequestV1):
    """A configuration entry of a topic to create."""

    __type__: ClassVar = EntityType.nested
    name: str = field(metadata={"kafka_type": "string"})
    value: str | None = field(metadata={"kafka_type": "string"})


@dataclass(frozen=True, slots=True, kw_only=True)
class CreatableTopicV1(_RequestV1):
    """A topic to create."""

    __type__: ClassVar = EntityType.nested
    name: TopicName = field(metadata={"kafka_type": "string"})
    num_partitions: i32 = field(metadata={"kafka_type": "int32"})
    replication_factor: i16 = field(metadata={"kafka_type": "int16"})
    assignments: tuple[CreatableReplicaAssignmentV1, ...]
    configs: tuple[CreatableTopicConfigV1, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateTopicsRequestV1(_RequestV1):
    """CreateTopicsRequest v1."""

    __type__: ClassVar = EntityType.request
    topics: tuple[CreatableTopicV1, ...]
    timeout: i32Timedelta = field(metadata={"kafka_type": "timedelta_i32"}, default=_TIMEOUT)
    validate_only: bool = field(metadata={"kafka_type": "bool"}, default=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class CreatableTopicResultV0(_ResponseV0):
    """How the creation of one topic went."""

    __type__: ClassVar = EntityType.nested
    name: TopicName = field(metadata={"kafka_type": "string"})
    error_code: ErrorCode = field(metadata={"kafka_type": "error_code"})


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateTopicsResponseV0(_ResponseV0):
    """CreateTopicsResponse v0."""

    __type__: ClassVar = EntityType.response
    topics: tuple[CreatableTopicResultV0, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class CreatableTopicResultV1(_ResponseV1):
    """How the creation of one topic went."""

    __type__: ClassVar = EntityType.nested
    name: TopicName = field(metadata={"kafka_type": "string"})
    error_code: ErrorCode = field(metadata={"kafka_type": "error_code"})
    error_message: str | None = field(metadata={"kafka_type": "string"})


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateTopicsResponseV1(_ResponseV1):
    """CreateTopicsResponse v1."""

    __type__: ClassVar = EntityType.response
    topics: tuple[CreatableTopicResultV1, ...]


LEGACY_MESSAGES: Final[dict[tuple[str, int], type[Entity]]] = {
    ("CreateTopicsRequest", 0): CreateTopicsRequestV0,
    ("CreateTopicsRequest", 1): CreateTopicsRequestV1,
    ("CreateTopicsResponse", 0): CreateTopicsResponseV0,
    ("CreateTopicsResponse", 1): CreateTopicsResponseV1,
}
"""The messages of this module by Kafka's name and version."""
