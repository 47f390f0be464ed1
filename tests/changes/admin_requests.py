"""CreateTopics and DeleteTopics as clients send them, and the responses that they get."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any
from uuid import UUID

from gateway.catalog.entities import Namespace
from gateway.changes.base.context import Answered
from gateway.changes.topics.create_topics import create_topics
from gateway.changes.topics.delete_topics import delete_topics
from gateway.views.access import Access
from gateway.views.view import View
from protocol import messages
from protocol.messages import element_class, has_field, make
from tests.changes.fakes import FakeGateway, World, allowed


@dataclass(frozen=True)
class Told:
    """The response for one item: its code (0: done), its message, and the name or id that it
    repeats."""

    code: int
    message: str
    name: str | None
    topic_id: bytes | None
    entry: Any


async def create(
    gateway: FakeGateway,
    *names: str,
    configs: dict[str, str | None] | None = None,
    view: View | None = None,
    version: int = 7,
    validate_only: bool = False,
    access: Access | None = None,
) -> list[Told]:
    """CreateTopics of these names, all with the same configs."""
    shape = Shape(configs=configs or {}, validate_only=validate_only)
    answered = await made(gateway, *names, shape=shape, view=view, version=version, access=access)
    return told_all(answered, version)


async def create_shaped(gateway: FakeGateway, *names: str, **shape: Any) -> list[Told]:
    """CreateTopics of these names, all of the same shape: the fields of :class:`Shape`, and any
    config (``retention__ms`` is ``retention.ms``)."""
    configs = {key.replace("__", "."): shape.pop(key) for key in list(shape) if "__" in key}
    return told_all(await made(gateway, *names, shape=Shape(configs=configs, **shape)), 7)


@dataclass(frozen=True)
class Shape:
    """The shape that a request gives to all its topics."""

    configs: Mapping[str, str | None] = field(default_factory=dict)
    partitions: int = 1
    replicas: int = 1
    assignments: Mapping[int, Sequence[int]] = field(default_factory=dict)
    validate_only: bool = False


async def made(
    gateway: FakeGateway,
    *names: str,
    shape: Shape | None = None,
    view: View | None = None,
    version: int = 7,
    access: Access | None = None,
) -> Answered:
    """CreateTopics of these names by a client with this ``access``, which by default allows
    everything."""
    shape = shape or Shape()
    cls = messages.message_class("CreateTopicsRequest", version)
    topic_class = element_class(cls, "topics")
    config_class = element_class(topic_class, "configs")
    assignment_class = element_class(topic_class, "assignments")
    of_all = {
        "num_partitions": -1 if shape.assignments else shape.partitions,
        "replication_factor": -1 if shape.assignments else shape.replicas,
        "assignments": tuple(
            make(assignment_class, {"partition_index": index, "broker_ids": tuple(brokers)})
            for index, brokers in shape.assignments.items()
        ),
        "configs": tuple(
            make(config_class, {"name": k, "value": v}) for k, v in shape.configs.items()
        ),
    }
    values = {
        "topics": tuple(make(topic_class, {"name": name, **of_all}) for name in names),
        "timeout": timedelta(seconds=10),
        "validate_only": shape.validate_only,
    }
    body = messages.write(make(cls, values))
    asking = access or allowed(gateway, view)
    return await create_topics(gateway.context, asking, version, body)


def told_all(answer: Answered, version: int) -> list[Told]:
    """The results of a CreateTopics response."""
    response = messages.parse("CreateTopicsResponse", version, answer.body)
    return [_told(entry) for entry in response.topics]


async def delete(
    gateway: FakeGateway,
    *asked: str | bytes,
    view: View | None = None,
    version: int = 6,
    began: list[str] | None = None,
    access: Access | None = None,
) -> list[Told]:
    """DeleteTopics of these names and ids."""
    cls = messages.message_class("DeleteTopicsRequest", version)
    values: dict[str, object] = {"timeout": timedelta(seconds=10), "topic_names": asked}
    if has_field(cls, "topics"):
        topic_class = element_class(cls, "topics")
        values["topics"] = tuple(
            make(topic_class, {"name": item})
            if isinstance(item, str)
            else make(topic_class, {"name": None, "topic_id": UUID(bytes=item)})
            for item in asked
        )
    body = messages.write(make(cls, values))
    paths: list[str] = [] if began is None else began
    asking = access or allowed(gateway, view)
    answer = await delete_topics(gateway.context, asking, version, body, marked=paths.append)
    response = messages.parse("DeleteTopicsResponse", version, answer.body)
    return [_told(entry) for entry in response.responses]


def codes(told: list[Told]) -> list[int]:
    """The error codes alone."""
    return [each.code for each in told]


def _told(entry: Any) -> Told:
    topic_id = getattr(entry, "topic_id", None)
    message = getattr(entry, "error_message", None) or ""
    raw = None if topic_id is None else topic_id.bytes
    return Told(int(entry.error_code), message, entry.name, raw, entry)


def with_configs(world: World, **configs: str) -> None:
    """Set configs of namespace org, as if they had always been there."""
    values = {key.replace("_", "."): value for key, value in configs.items()}
    world.log.append([Namespace("org", values)])
