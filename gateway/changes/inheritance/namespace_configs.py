"""The configs of namespaces (KIP-37: Namespace Configs), changed by operations, and the cluster's
defaults: what holds where no namespace and no topic sets any.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from gateway.changes.base.broker import describe, new_topic_configs
from gateway.changes.base.context import Context
from gateway.changes.base.refused import Refused
from gateway.changes.base.resources import APPEND, DEFAULT, DELETE, OWN, SET, SUBTRACT, Operation
from gateway.changes.base.virtual_configs import is_virtual, refuse_on_namespace
from gateway.error_codes import INVALID_CONFIG, INVALID_REQUEST
from gateway.names import RESERVED_PREFIX
from protocol.pausing import eased, paced

LIST_TYPE = 7
"""LIST (DescribeConfigsResponse.ConfigType)."""


def split_virtual(
    configs: Mapping[str, str | None],
) -> tuple[dict[str, str | None], dict[str, str | None]]:
    """The configs that the broker knows, and those that are the gateway's (``gateway.*``)."""
    broker = {key: value for key, value in paced(configs.items()) if not is_virtual(key)}
    return broker, {key: value for key, value in paced(configs.items()) if is_virtual(key)}


def altered(
    own: Mapping[str, str],
    operations: Sequence[Operation],
    above: Mapping[str, str],
    defaults: Mapping[str, tuple[str, int]],
) -> dict[str, str]:
    """A namespace's own configs after ``operations`` (IncrementalAlterConfigs on it).

    ``above`` is what it inherits, ``defaults`` the cluster's (value, config type) by key: what is
    appended to a key that the namespace does not set is appended to these, as a broker does for
    topics. Whether key and value are any good is the broker's to say. Raises :class:`Refused`.
    """
    new = dict(own)
    seen: set[str] = set()
    for one in eased(operations):
        if is_virtual(one.key):
            raise refuse_on_namespace(one.key)
        if one.key in seen:
            raise Refused(INVALID_REQUEST, f"Config key '{one.key}' is in the request twice.")
        seen.add(one.key)
        if one.operation == DELETE:
            new.pop(one.key, None)
        elif one.value is None:
            raise Refused(INVALID_REQUEST, f"Config '{one.key}' has no value.")
        elif one.operation == SET:
            new[one.key] = one.value
        elif one.operation not in (APPEND, SUBTRACT):
            message = f"Operation {one.operation} on config '{one.key}' is none of Kafka's."
            raise Refused(INVALID_REQUEST, message)
        else:
            default, config_type = defaults.get(one.key, ("", LIST_TYPE))
            if config_type != LIST_TYPE:
                message = f"Config '{one.key}' is no list, so nothing is added to it or taken off."
                raise Refused(INVALID_CONFIG, message)
            present = new.get(one.key, above.get(one.key, default))
            new[one.key] = _with(present, one)
    return new


def _with(present: str, one: Operation) -> str:
    items = [item.strip() for item in present.split(",") if item.strip()]
    named = [item.strip() for item in (one.value or "").split(",") if item.strip()]
    if one.operation == SUBTRACT:
        return ",".join(item for item in items if item not in named)
    return ",".join([*items, *(item for item in named if item not in items)])


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
    told = {config.name: _told(config) for config in await new_topic_configs(context)}
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
