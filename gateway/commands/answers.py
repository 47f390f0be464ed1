"""Responses to the admin requests of the commands, without versions, and configs as text."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from enum import IntEnum
from typing import Any, NamedTuple

from gateway.commands.client import Answer
from gateway.commands.errors import Outcome
from protocol.schema import error_name


class Synonym(NamedTuple):
    """A value that a config has, or would fall back to; ``source`` is as in Config."""

    name: str
    value: str | None
    source: int


class Config(NamedTuple):
    """A config of a topic or namespace; ``source`` is DescribeConfigsResponse.ConfigSource."""

    name: str
    value: str | None
    source: int
    sensitive: bool
    read_only: bool
    synonyms: tuple[Synonym, ...] = ()


@dataclass(frozen=True, slots=True)
class Created(Outcome):
    """The outcome for a topic to create, and the topic's properties as created or validated. If the
    response leaves a number out, it is None; if it leaves the configs out, they are empty."""

    partitions: int | None = None
    replication_factor: int | None = None
    configs: tuple[Config, ...] = ()


@dataclass(frozen=True, slots=True)
class Described:
    """The configs of one resource, by key, if ``outcome.code`` is 0."""

    outcome: Outcome
    configs: Mapping[str, Config]

    def value(self, key: str) -> str:
        """The value of a key; empty if the key has no value."""
        return (self.configs[key].value or "") if key in self.configs else ""


@dataclass(frozen=True, slots=True)
class Partition:
    """A partition in Metadata, with node ids."""

    index: int
    leader: int
    replicas: tuple[int, ...]
    isr: tuple[int, ...]


class Topic(NamedTuple):
    """A topic in Metadata; ``name`` is in the listener's spelling."""

    name: str
    outcome: Outcome
    topic_id: uuid.UUID | None
    internal: bool
    partitions: tuple[Partition, ...]


def outcome_of(answer: Answer, name: str, item: Any) -> Outcome:
    """The outcome for ``name``; ``item`` is its part of the response, or None if the
    response leaves it out."""
    if item is None:
        return Outcome(name, -1, "UNKNOWN_SERVER_ERROR", "The response leaves it out.")
    message = getattr(item, "error_message", None) or ""
    code = int(item.error_code)
    return Outcome(name, code, error_name(code), message, answer.repeated)


def created_of(outcome: Outcome, entity: Any) -> Created:
    """The outcome for a topic to create, with the properties that CreateTopics returns."""
    partitions = int(getattr(entity, "num_partitions", -1))
    replicas = int(getattr(entity, "replication_factor", -1))
    return Created(
        **asdict(outcome),
        partitions=partitions if partitions > 0 else None,
        replication_factor=replicas if replicas > 0 else None,
        configs=tuple(config_of(one) for one in getattr(entity, "configs", None) or ()),
    )


def config_of(entity: Any) -> Config:
    """The config in an item of DescribeConfigs or CreateTopics."""
    return Config(
        entity.name,
        entity.value,
        int(entity.config_source),
        bool(entity.is_sensitive),
        bool(entity.read_only),
        tuple(  # CreateTopics returns no synonyms
            Synonym(one.name, one.value, int(one.source)) for one in getattr(entity, "synonyms", ())
        ),
    )


def topic_of(answer: Answer, entity: Any) -> Topic:
    """The topic in an item of Metadata."""
    return Topic(
        name=str(entity.name),
        outcome=outcome_of(answer, str(entity.name), entity),
        topic_id=getattr(entity, "topic_id", None),
        internal=bool(getattr(entity, "is_internal", False)),
        partitions=tuple(
            Partition(
                int(one.partition_index),
                int(one.leader_id),
                tuple(map(int, one.replica_nodes)),
                tuple(map(int, one.isr_nodes)),
            )
            for one in sorted(entity.partitions, key=lambda one: int(one.partition_index))
        ),
    )


# -- configs as text, close to what kafka-configs prints, and as JSON -----------------------------


class ConfigSource(IntEnum):
    """DescribeConfigsResponse.ConfigSource. A namespace's own configs are DYNAMIC_TOPIC_CONFIG
    there; a config that is inherited from a namespace is DYNAMIC_DEFAULT_BROKER_CONFIG."""

    UNKNOWN = 0
    DYNAMIC_TOPIC_CONFIG = 1
    DYNAMIC_BROKER_CONFIG = 2
    DYNAMIC_DEFAULT_BROKER_CONFIG = 3
    STATIC_BROKER_CONFIG = 4
    DEFAULT_CONFIG = 5
    DYNAMIC_BROKER_LOGGER_CONFIG = 6
    DYNAMIC_CLIENT_METRICS_CONFIG = 7
    DYNAMIC_GROUP_CONFIG = 8


def source_name(source: int) -> str:
    """The name of a source, as Kafka's tools write it."""
    return ConfigSource(source if source in set(ConfigSource) else 0).name


def not_defaults(configs: Iterable[Config]) -> list[Config]:
    """The configs that are set anywhere, sorted by key."""
    found = [one for one in configs if one.source != ConfigSource.DEFAULT_CONFIG]
    return sorted(found, key=lambda config: config.name)


def config_lines(configs: Iterable[Config]) -> list[str]:
    """A line for each config: `` retention.ms=60000 sensitive=false source=... synonyms={...}``."""
    return [
        f"  {one.name}={'null' if one.sensitive else one.value}"
        f" sensitive={str(one.sensitive).lower()} source={source_name(one.source)} synonyms={{"
        + ", ".join(f"{source_name(s.source)}:{s.name}={s.value}" for s in one.synonyms)
        + "}"
        for one in configs
    ]


def configs_json(configs: Iterable[Config]) -> list[dict[str, object]]:
    """Configs for programs."""
    return [
        {
            **one._asdict(),
            "value": None if one.sensitive else one.value,
            "source": source_name(one.source),
            "synonyms": [
                {**synonym._asdict(), "source": source_name(synonym.source)}
                for synonym in one.synonyms
            ],
        }
        for one in configs
    ]
