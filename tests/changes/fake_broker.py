"""A broker in memory: topics and their configs, requested through real message classes."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

from gateway.cluster.link import ClusterUnreachable
from gateway.names import MAX_FLAT_LENGTH, InvalidName, check_topic, fold
from protocol import messages
from protocol.messages import Request, element_class, has_field, make
from protocol.schema import api_key_of, message_versions, response_name
from tests.changes.fake_coordinators import FakeCoordinators
from tests.changes.fake_partitions import FakePartitions

DYNAMIC_TOPIC_CONFIG = 1
DEFAULT_CONFIG = 5
SET, DELETE, APPEND, SUBTRACT = range(4)

DEFAULTS: Mapping[str, str] = {
    "cleanup.policy": "delete",
    "compression.type": "producer",
    "max.message.bytes": "1048588",
    "min.insync.replicas": "1",
    "retention.bytes": "-1",
    "retention.ms": "604800000",
    "segment.bytes": "1073741824",
}
"""Every topic config that the broker knows, with its default."""

_WORDS = {
    "cleanup.policy": {"delete", "compact"},
    "compression.type": {"producer", "gzip", "snappy", "lz4", "zstd", "uncompressed"},
}
_LISTS = {"cleanup.policy"}
_STRING, _INT, _LONG, _LIST = 2, 3, 5, 7
_TYPES = {"cleanup.policy": _LIST, "compression.type": _STRING, "min.insync.replicas": _INT}

Step = Callable[[str], Awaitable[None]]
"""Called at every step with its name; it may do something in between, or raise (a crash)."""


class Rejected(Exception):
    """The error of an item: its code and the broker's message."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


@dataclass
class FakeTopic:
    """A topic: ``configs`` are the dynamic configs, ``topic_id`` the broker's 16 bytes.
    ``assigned`` has the brokers of some partitions; the others are on broker 1 alone. All have the
    same ``leader``."""

    topic_id: bytes
    configs: dict[str, str]
    partitions: int = 1
    assigned: dict[int, tuple[int, ...]] = field(default_factory=dict)
    leader: int = 1


async def no_step(_: str) -> None:
    """Do nothing at a step."""


@dataclass
class FakeBroker(FakePartitions, FakeCoordinators):
    """Answers the queries that gateway/cluster/admin.py sends to a cluster.

    ``step`` is awaited before and after every request that changes something (``"ask
    CreateTopicsRequest"``, ``"asked CreateTopicsRequest"``). ``sent`` is awaited once a request is
    made and not carried out yet. ``down`` makes it unreachable.
    ``newest`` lowers the newest version that it serves of a request. ``asked`` holds its requests:
    name and entity. ``rejections`` are the topics that it does not delete, ``uncreatable`` the
    topics that it does not create, with error code and message. ``throttled`` are throttle times
    (ms) by request. ``new_id`` gives the ids of topics. ``late`` is the number of descriptions of a
    topic that still have the configs from before an alteration; ``late_of`` are the topics with
    such descriptions, all if empty.
    """

    topics: dict[str, FakeTopic] = field(default_factory=dict)
    step: Step = no_step
    sent: Step = no_step
    down: bool = False
    newest: dict[str, int] = field(default_factory=dict)
    asked: list[tuple[str, Any]] = field(default_factory=list)
    rejections: dict[str, tuple[int, str]] = field(default_factory=dict)
    uncreatable: dict[str, tuple[int, str]] = field(default_factory=dict)
    throttled: dict[str, int] = field(default_factory=dict)
    new_id: Callable[[], UUID] = uuid4
    groups: list[str] = field(default_factory=list)
    ids: list[str] = field(default_factory=list)
    coordinator_error: int = 0
    silent: bool = False
    late: int = 0
    late_of: set[str] = field(default_factory=set)
    _former: dict[str, list[dict[str, str]]] = field(default_factory=dict)

    def make(self, *names: str, **configs: str) -> None:
        """Create topics as another client would; ``retention_ms="1"`` is ``retention.ms``."""
        for name in names:
            chosen = {key.replace("_", "."): value for key, value in configs.items()}
            self.topics[name] = FakeTopic(self.new_id().bytes, chosen)

    def requests(self, name: str) -> list[Any]:
        """The request entities of one API so far."""
        return [entity for asked, entity in self.asked if asked == name]

    async def ask(self, request: Request, *, changes: bool = True) -> Any:
        """Respond as BrokerAdmin.ask does."""
        await self.step(f"ask {request.name}")
        if self.down:
            raise ClusterUnreachable("main", {("10.0.0.1", 9092): "refused the connection"})
        newest = min(request.at_most, self.newest.get(request.name, request.at_most))
        version = max(v for v in message_versions(request.name) if v <= newest)
        entity = request.entity(version)
        # Written and parsed as on the wire, so that an entity that cannot be written is found.
        entity = messages.parse(request.name, version, messages.write(entity))
        self.asked.append((request.name, entity))
        await self.sent(f"sent {request.name}")
        answer = response_name(api_key_of(request.name))
        cls = messages.message_class(answer, version)
        response = getattr(self, "_" + request.name)(entity, cls)
        await self.step(f"asked {request.name}")
        if request.name in self.throttled:
            throttle_time = timedelta(milliseconds=self.throttled[request.name])
            response = replace(response, throttle_time=throttle_time)
        return messages.parse(answer, version, messages.write(response))

    # -- CreateTopics ---------------------------------------------------------------------------

    def _CreateTopicsRequest(self, request: Any, cls: type) -> Any:
        counts = Counter(topic.name for topic in request.topics)
        topic_class = element_class(cls, "topics")
        results: list[Any] = []
        for topic in {topic.name: topic for topic in request.topics}.values():
            values: dict[str, object] = {"name": topic.name, "num_partitions": -1}
            values |= {"replication_factor": -1}
            try:
                if counts[topic.name] > 1:
                    raise Rejected(42, "Duplicate topic name.")
                values |= self._create(topic, request.validate_only, topic_class)
            except Rejected as rejected:
                values |= {"error_code": rejected.code, "error_message": rejected.message}
                values |= {"configs": ()}
            results.append(make(topic_class, values))
        return make(cls, {"topics": tuple(results)})

    def _create(self, topic: Any, validate_only: bool, cls: type) -> dict[str, object]:
        if topic.name in self.uncreatable:
            raise Rejected(*self.uncreatable[topic.name])
        if topic.name in self.topics:
            raise Rejected(36, f"Topic '{topic.name}' already exists.")
        self._check_name(topic.name)
        if topic.num_partitions == 0 or topic.num_partitions < -1:
            raise Rejected(37, "Number of partitions was set to an invalid non-positive value.")
        if topic.replication_factor not in (-1, 1) and not topic.assignments:
            raise Rejected(38, "Unable to replicate the partition 1 times: only 1 broker.")
        configs: dict[str, str] = {}
        for config in topic.configs:
            configs |= _checked(config.name, config.value)
        partitions = len(topic.assignments) or max(topic.num_partitions, 1)
        made = FakeTopic(self.new_id().bytes, configs, partitions)
        if not validate_only:
            self.topics[topic.name] = made
        shown: tuple[Any, ...] = ()
        if has_field(cls, "configs"):
            config_class = element_class(cls, "configs")
            shown = tuple(make(config_class, values) for values in _described(made, None))
        return {
            "topic_id": None if validate_only else UUID(bytes=made.topic_id),
            "num_partitions": partitions,
            "replication_factor": 1,
            "configs": shown,
        }

    def _check_name(self, name: str) -> None:
        try:
            check_topic(name)
        except InvalidName as error:
            raise Rejected(17, str(error)) from None
        if len(name) > MAX_FLAT_LENGTH:
            raise Rejected(17, "Topic name is too long")
        for other in self.topics:
            if fold(other) == fold(name):
                raise Rejected(17, f"Topic '{name}' collides with existing topic: {other}")

    # -- DeleteTopics ---------------------------------------------------------------------------

    def _DeleteTopicsRequest(self, request: Any, cls: type) -> Any:
        result_class = element_class(cls, "responses")
        results: list[Any] = []
        for name, topic_id in _deletions(request):
            known = name
            if topic_id is not None:
                matching = (n for n, t in self.topics.items() if t.topic_id == topic_id)
                known = next(matching, None)
            values: dict[str, object] = {
                "name": known,
                "topic_id": None if topic_id is None else UUID(bytes=topic_id),
            }
            if known is None:
                values |= {"error_code": 100, "error_message": "This server has no such id."}
            elif known in self.rejections:
                code, text = self.rejections[known]
                values |= {"error_code": code, "error_message": text}
            elif known not in self.topics:
                text = "This server does not host this topic-partition."
                values |= {"error_code": 3, "error_message": text}
            else:
                values["topic_id"] = UUID(bytes=self.topics.pop(known).topic_id)
            results.append(make(result_class, values))
        return make(cls, {"responses": tuple(results)})

    # -- configs --------------------------------------------------------------------------------

    def _DescribeConfigsRequest(self, request: Any, cls: type) -> Any:
        result_class = element_class(cls, "results")
        config_class = element_class(result_class, "configs")
        synonym_class = element_class(config_class, "synonyms")
        results: list[Any] = []
        for resource in request.resources:
            values = {"resource_type": resource.resource_type}
            values |= {"resource_name": resource.resource_name}
            topic = self.topics.get(resource.resource_name)
            if topic is None:
                results.append(make(result_class, values | {"error_code": 3}))
                continue
            configs = []
            former = self._former.get(resource.resource_name)
            told = replace(topic, configs=former.pop()) if former else topic
            for config in _described(told, resource.configuration_keys):
                if request.include_synonyms:
                    synonyms = _synonyms(config)
                    config["synonyms"] = tuple(make(synonym_class, s) for s in synonyms)
                configs.append(make(config_class, config))
            results.append(make(result_class, values | {"configs": tuple(configs)}))
        return make(cls, {"results": tuple(results)})

    def _IncrementalAlterConfigsRequest(self, request: Any, cls: type) -> Any:
        result_class = element_class(cls, "responses")
        results: list[Any] = []
        for resource in request.resources:
            values: dict[str, object] = {"resource_type": resource.resource_type}
            values |= {"resource_name": resource.resource_name}
            try:
                self._alter(resource, request.validate_only)
            except Rejected as rejected:
                values |= {"error_code": rejected.code, "error_message": rejected.message}
            results.append(make(result_class, values))
        return make(cls, {"responses": tuple(results)})

    def _alter(self, resource: Any, validate_only: bool) -> None:
        topic = self.topics.get(resource.resource_name)
        if topic is None:
            raise Rejected(3, "This server does not host this topic-partition.")
        configs = dict(topic.configs)
        for config in resource.configs:
            key, value = config.name, config.value
            listed = configs.get(key, DEFAULTS.get(key, "")).split(",")
            match config.config_operation:
                case 0:
                    configs |= _checked(key, value)
                case 1:
                    configs.pop(key, None)
                case 2:
                    configs |= _checked(key, ",".join(dict.fromkeys([*listed, value])))
                case 3:
                    configs |= _checked(key, ",".join(v for v in listed if v != value))
        if not validate_only:
            if not self.late_of or resource.resource_name in self.late_of:
                self._former[resource.resource_name] = [topic.configs] * self.late
            topic.configs = configs


def _deletions(request: Any) -> Iterator[tuple[str | None, bytes | None]]:
    for name in getattr(request, "topic_names", ()):
        yield name, None
    for topic in getattr(request, "topics", ()):
        yield topic.name, None if topic.topic_id is None else topic.topic_id.bytes


def _checked(key: str, value: str | None) -> dict[str, str]:
    if key not in DEFAULTS:
        raise Rejected(40, f"Unknown topic config name: {key}")
    if value is None:
        raise Rejected(40, f"Null value not supported for topic configs: {key}")
    words = _WORDS.get(key)
    read = _read(key, value)
    if words is not None:
        fits = set(read.split(",")) <= words if key in _LISTS else read in words
    else:
        fits = read.lstrip("-").isdigit()
    if not fits:
        raise Rejected(40, f"Invalid value {value} for configuration {key}")
    return {key: value}


def _read(key: str, value: str) -> str:
    """The value that the broker returns for a value, as Kafka does: ConfigDef.parseType, then
    convertToString."""
    if key in _LISTS:
        return ",".join(item.strip() for item in value.split(","))
    text = value.strip()
    return str(int(text)) if re.fullmatch(r"[+-]?[0-9]+", text) else text


def _described(topic: FakeTopic, keys: tuple[str, ...] | None) -> list[dict[str, object]]:
    return [
        {
            "name": key,
            "value": _read(key, topic.configs.get(key, default)),
            "config_source": DYNAMIC_TOPIC_CONFIG if key in topic.configs else DEFAULT_CONFIG,
            "config_type": _TYPES.get(key, _LONG),
        }
        for key, default in DEFAULTS.items()
        if keys is None or key in keys
    ]


def _synonyms(config: Mapping[str, object]) -> list[dict[str, object]]:
    key, source = str(config["name"]), config["config_source"]
    synonyms: list[dict[str, object]] = []
    if source == DYNAMIC_TOPIC_CONFIG:
        synonyms.append({"name": key, "value": config["value"], "source": source})
    default = {"name": f"log.{key}", "value": DEFAULTS[key], "source": DEFAULT_CONFIG}
    return [*synonyms, default]
