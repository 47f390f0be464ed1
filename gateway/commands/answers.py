"""What comes back of the admin requests that the commands send, without versions."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Final

from gateway.commands.client import Answer


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one named thing. ``code`` 0: done; ``error`` is the code's Kafka name."""

    name: str
    code: int
    error: str
    message: str
    repeated: bool = False


@dataclass(frozen=True, slots=True)
class Synonym:
    """A value that a config has, or would fall back to; ``source`` as in Config."""

    name: str
    value: str | None
    source: int


@dataclass(frozen=True, slots=True)
class Config:
    """One config of a topic or namespace; ``source`` is DescribeConfigsResponse.ConfigSource."""

    name: str
    value: str | None
    source: int
    sensitive: bool
    read_only: bool
    synonyms: tuple[Synonym, ...] = ()


@dataclass(frozen=True, slots=True)
class Created(Outcome):
    """What became of a topic that was asked for, and what it is, or would be: None, and no configs,
    where that is not told."""

    partitions: int | None = None
    replication_factor: int | None = None
    configs: tuple[Config, ...] = ()


@dataclass(frozen=True, slots=True)
class Described:
    """The configs of one resource, by key, if ``outcome.code`` is 0."""

    outcome: Outcome
    configs: Mapping[str, Config]

    def value(self, key: str) -> str:
        """The value of a key; empty when there is none."""
        config = self.configs.get(key)
        return (config.value or "") if config is not None else ""


@dataclass(frozen=True, slots=True)
class Partition:
    """A partition as Metadata tells of it: node ids."""

    index: int
    leader: int
    replicas: tuple[int, ...]
    isr: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Topic:
    """A topic as Metadata tells of it; ``name`` is in the listener's spelling."""

    name: str
    outcome: Outcome
    topic_id: uuid.UUID | None
    internal: bool
    partitions: tuple[Partition, ...]


def outcome_of(answer: Answer, name: str, item: Any) -> Outcome:
    """What became of ``name``; ``item`` None: the answer says nothing of it."""
    if item is None:
        return Outcome(name, -1, "UNKNOWN_SERVER_ERROR", "The answer says nothing of it.")
    message = getattr(item, "error_message", None) or ""
    code = item.error_code
    return Outcome(name, int(code), code.name.upper(), message, answer.repeated)


def created_of(outcome: Outcome, entity: Any) -> Created:
    """The same of a topic that was asked for."""
    partitions = int(getattr(entity, "num_partitions", -1))
    replicas = int(getattr(entity, "replication_factor", -1))
    return Created(
        **asdict(outcome),
        partitions=partitions if partitions > 0 else None,
        replication_factor=replicas if replicas > 0 else None,
        configs=tuple(config_of(one) for one in getattr(entity, "configs", None) or ()),
    )


def config_of(entity: Any) -> Config:
    """One config of DescribeConfigs or CreateTopics."""
    return Config(
        entity.name,
        entity.value,
        int(entity.config_source),
        bool(entity.is_sensitive),
        bool(entity.read_only),
        tuple(
            Synonym(one.name, one.value, int(one.source))
            for one in getattr(entity, "synonyms", ())  # CreateTopics tells none
        ),
    )


def topic_of(answer: Answer, entity: Any) -> Topic:
    """One topic of Metadata."""
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

DYNAMIC_TOPIC_CONFIG: Final = 1
DYNAMIC_DEFAULT_BROKER_CONFIG: Final = 3
DEFAULT_CONFIG: Final = 5

SOURCES: Final[Mapping[int, str]] = {
    0: "UNKNOWN",
    DYNAMIC_TOPIC_CONFIG: "DYNAMIC_TOPIC_CONFIG",
    2: "DYNAMIC_BROKER_CONFIG",
    DYNAMIC_DEFAULT_BROKER_CONFIG: "DYNAMIC_DEFAULT_BROKER_CONFIG",
    4: "STATIC_BROKER_CONFIG",
    DEFAULT_CONFIG: "DEFAULT_CONFIG",
    6: "DYNAMIC_BROKER_LOGGER_CONFIG",
    7: "DYNAMIC_CLIENT_METRICS_CONFIG",
    8: "DYNAMIC_GROUP_CONFIG",
}
"""DescribeConfigsResponse.ConfigSource. A namespace's own configs are DYNAMIC_TOPIC_CONFIG there;
what is inherited from a namespace is DYNAMIC_DEFAULT_BROKER_CONFIG."""


def source_name(source: int) -> str:
    """The name of a source, as Kafka's tools write it."""
    return SOURCES.get(source, SOURCES[0])


def lines(configs: Iterable[Config]) -> list[str]:
    """A line each: ``  retention.ms=60000 sensitive=false source=... synonyms={...}``."""
    found = []
    for config in configs:
        value = "null" if config.sensitive else config.value
        synonyms = ", ".join(
            f"{source_name(one.source)}:{one.name}={one.value}" for one in config.synonyms
        )
        found.append(
            f"  {config.name}={value} sensitive={str(config.sensitive).lower()} "
            f"source={source_name(config.source)} synonyms={{{synonyms}}}"
        )
    return found


def as_json(configs: Iterable[Config]) -> list[dict[str, object]]:
    """The same for programs."""
    return [
        {
            "name": config.name,
            "value": None if config.sensitive else config.value,
            "source": source_name(config.source),
            "sensitive": config.sensitive,
            "read_only": config.read_only,
            "synonyms": [
                {"name": one.name, "value": one.value, "source": source_name(one.source)}
                for one in config.synonyms
            ],
        }
        for config in configs
    ]
