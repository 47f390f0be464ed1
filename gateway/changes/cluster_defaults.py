"""The cluster's defaults of topic configs: what holds where no namespace and no topic sets any."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from gateway.changes.context import Context
from gateway.changes.namespace_configs import probe
from gateway.changes.topic_configs import DEFAULT, OWN, describe
from gateway.names import RESERVED_PREFIX

STRING_TYPE: Final = 2
"""STRING (DescribeConfigsResponse.ConfigType)."""

_TRIES: Final = 3


@dataclass(frozen=True, slots=True)
class Default:
    """One config as a topic has it that sets none: ``synonyms`` are (name, value, source), the
    first in force. Sources and types are those of DescribeConfigsResponse."""

    key: str
    value: str | None
    source: int = DEFAULT
    config_type: int = STRING_TYPE
    documentation: str | None = None
    is_sensitive: bool = False
    read_only: bool = False
    synonyms: tuple[tuple[str, str | None, int], ...] = ()


async def cluster_defaults(
    context: Context, *, documentation: bool = False
) -> Mapping[str, Default]:
    """Every topic config of the cluster by key, in the broker's order.

    They are read off some topic, since only so are types and documentation told. What that topic
    sets itself may hide a default; for this, and where there is no topic at all, the cluster is
    asked what a new one would get. Raises OSError.
    """
    read: dict[str, Default] = {}
    for flat in _some_topics(context):
        response = await describe(context, [flat], synonyms=True, documentation=documentation)
        (result,) = response.results
        if not result.error_code:
            read = {config.name: _default(config) for config in result.configs}
            break
    hidden = [default for default in read.values() if default.source == OWN]
    if read and not hidden:
        return read
    fresh = getattr(await probe(context, {}), "configs", None) or ()
    told = {config.name: _told(config) for config in fresh}
    for default in hidden:
        better = told.get(default.key, Default(default.key, None))
        read[default.key] = replace(default, value=better.value, source=better.source)
    return read or told


def _some_topics(context: Context) -> Sequence[str]:
    """The gateway's own topics first: nobody deletes them meanwhile."""
    names = (name.decode() for name in list(context.cluster.index.names()))
    return sorted(names, key=lambda name: (not name.startswith(RESERVED_PREFIX), name))[:_TRIES]


def _told(config: Any) -> Default:
    """A config of a CreateTopics response."""
    return Default(
        config.name,
        config.value,
        config.config_source,
        is_sensitive=config.is_sensitive,
        read_only=config.read_only,
    )


def _default(config: Any) -> Default:
    """A config of a topic; the source is still the topic where its own value hides what it is."""
    synonyms = tuple((s.name, s.value, s.source) for s in config.synonyms if s.source != OWN)
    value, source = config.value, config.config_source
    if source == OWN and synonyms:
        _, value, source = synonyms[0]
    return Default(
        config.name,
        value,
        source,
        getattr(config, "config_type", STRING_TYPE),
        getattr(config, "documentation", None),
        config.is_sensitive,
        config.read_only,
        synonyms,
    )
