"""Plausible requests and broker responses for the rules' tests, for any declared API."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from gateway.apis.table import APIS
from gateway.exchanges.api import Api
from gateway.rules.declaration import TOPIC_ID, Topics, TopicShape
from protocol import messages
from protocol.messages import element_class, has_field, make
from protocol.schema import struct_spec
from tests.rules.apis import topics_of

OFFSET = 4711
"""The value of every field of a broker's partition that is called an offset or a watermark."""

SUCCESS = {
    "base_offset": OFFSET,
    "high_watermark": OFFSET,
    "offset": OFFSET,
    "committed_offset": OFFSET,
    "low_watermark": OFFSET,
    "end_offset": OFFSET,
    "num_partitions": OFFSET,
    "records": b"record bytes",
    "metadata": "",
    "aborted_transactions": (),
    "configs": (),
}


@dataclass(frozen=True)
class Asked:
    """A topic of a sample request: by name or by id."""

    name: str | None
    topic_id: UUID | None = None
    partitions: tuple[int, ...] = (0, 3)

    @property
    def key(self) -> bytes:
        """The key by which the topic is denied."""
        if self.name is not None:
            return self.name.encode()
        assert self.topic_id is not None
        return self.topic_id.bytes

    @property
    def identity(self) -> object:
        """The name or id by which an entry of a message is recognised."""
        return self.name if self.name is not None else self.topic_id


def topic_versions() -> Iterator[tuple[Api, int]]:
    """Every version of every API whose requests hold topics."""
    for _, api in sorted(APIS.items()):
        for shape in api.topics:
            for version in api.versions_of(shape):
                yield api, version


def topic_class(topics: Topics, message_class: type) -> type:
    """The class of a topic entry."""
    if topics.groups is not None:
        message_class = element_class(message_class, topics.groups)
    return element_class(message_class, topics.array)


def names_topics_by(api: Api, version: int) -> tuple[bool, bool]:
    """Whether a request of this version has names, and whether it has ids."""
    shape = topics_of(api, version)
    if not shape.request.name:
        return True, False
    request_class = messages.message_class(f"{api.name}Request", version)
    cls = topic_class(shape.request, request_class)
    return has_field(cls, shape.request.name), has_field(cls, TOPIC_ID)


def ask(api: Api, version: int, asked: Sequence[Asked], **values: object) -> bytes:
    """A request body for the topics; if there are groups, under ``g1`` and ``g2``."""
    message_class = messages.message_class(f"{api.name}Request", version)
    topics = topics_of(api, version).request
    entries = tuple(_request_entry(topics, message_class, topic) for topic in asked)
    if topics.groups is None:
        return messages.write(make(message_class, {topics.array: entries, **values}))
    group_class = element_class(message_class, topics.groups)
    groups = tuple(
        make(group_class, {"group_id": group, topics.array: entries}) for group in ("g1", "g2")
    )
    return messages.write(make(message_class, {topics.groups: groups, **values}))


def serve(api: Api, version: int, request_body: bytes) -> bytes:
    """The response of a broker that has every topic of a request, in the reverse order."""
    request = messages.parse(f"{api.name}Request", version, request_body)
    message_class = messages.message_class(f"{api.name}Response", version)
    shape = topics_of(api, version)
    topics = shape.response
    values: dict[str, object]
    if topics.groups is None:
        values = {topics.array: _answers(shape, message_class, request)}
    else:
        group_class = element_class(message_class, topics.groups)
        values = {
            topics.groups: tuple(
                make(
                    group_class,
                    {
                        "group_id": group.group_id,
                        topics.array: _answers(shape, group_class, group),
                    },
                )
                for group in reversed(getattr(request, topics.groups))
            )
        }
    return messages.write(make(message_class, {"session_id": 99, **values}))


def holders(topics: Topics, message: Any) -> list[Any]:
    """The objects that hold topics: the message, or the groups in it."""
    return [message] if topics.groups is None else list(getattr(message, topics.groups))


def entries(topics: Topics, holder: Any) -> list[Any]:
    """The topic entries of a message or group."""
    return list(getattr(holder, topics.array))


def identity(topics: Topics, entry: Any) -> object:
    """The name of an entry, or else its id."""
    if not topics.name:
        return entry
    return getattr(entry, topics.name, None) or getattr(entry, TOPIC_ID, None)


def partition_errors(shape: TopicShape, entry: Any) -> dict[int | None, int]:
    """The error code of each partition of a response's entry, or of None if it has only one."""
    topics = shape.response
    if topics.partitions is None:
        return {None: int(getattr(entry, shape.error_code))}
    return {
        getattr(partition, topics.index): int(getattr(partition, shape.error_code))
        for partition in getattr(entry, topics.partitions)
    }


def error_codes(message: Any) -> list[int]:
    """Every error code anywhere in a message, zero included."""
    cls: Any = type(message)
    spec = struct_spec(cls)
    codes: list[int] = []
    for field in spec.fields + spec.tagged:
        value = getattr(message, field.name)
        if field.type == "error_code":
            codes.append(value)
        elif field.struct is not None and value is not None:
            structs = value if field.array else (value,)
            codes += [code for each in structs for code in error_codes(each)]
    return codes


def _request_entry(topics: Topics, message_class: type, asked: Asked) -> Any:
    if not topics.name:
        return asked.name
    cls = topic_class(topics, message_class)
    values: dict[str, object] = {topics.name: asked.name, TOPIC_ID: asked.topic_id}
    if topics.partitions is not None:
        if not topics.index:
            values[topics.partitions] = asked.partitions
        else:
            partition_class = element_class(cls, topics.partitions)
            values[topics.partitions] = tuple(
                make(partition_class, {topics.index: number, "records": b"abc"})
                for number in asked.partitions
            )
    return make(cls, values)


def _answers(shape: TopicShape, holder_class: type, asked: Any) -> tuple[Any, ...]:
    cls = element_class(holder_class, shape.response.array)
    return tuple(
        _answer(shape, cls, entry) for entry in reversed(getattr(asked, shape.request.array))
    )


def _answer(shape: TopicShape, cls: type, entry: Any) -> Any:
    asked, topics = shape.request, shape.response
    name = getattr(entry, asked.name, None) if asked.name else entry
    values = {**SUCCESS, topics.name: name, TOPIC_ID: getattr(entry, TOPIC_ID, None)}
    if topics.partitions is None:
        if shape.response.array == "topics" and has_field(cls, "partitions"):
            values.pop("num_partitions")
        return make(cls, values)
    assert asked.partitions is not None
    partition_class = element_class(cls, topics.partitions)
    numbers = [
        getattr(partition, asked.index) if asked.index else partition
        for partition in getattr(entry, asked.partitions)
    ]
    values[topics.partitions] = tuple(
        make(partition_class, SUCCESS | {topics.index: number}) for number in numbers
    )
    return make(cls, values)
