"""Configs as text, close to what kafka-configs prints, and as JSON."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from gateway.commands.answers import Config

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
