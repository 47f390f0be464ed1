"""What the gateway asks of the cluster about topics of its own: are they there, and how."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Any, Final

from gateway.brokers.messages import ClusterAdmin, describe_configs
from protocol.messages import Request

BROKER_DEFAULT: Final = -1
"""In place of a number of partitions or replicas."""

_UNKNOWN_TOPIC: Final = 3
_TIMED_OUT: Final = 7
_TOPIC_ALREADY_EXISTS: Final = 36
_ANSWER_TIME: Final = timedelta(seconds=20)


class TopicError(Exception):
    """The cluster refuses; the text is its error, by name, with what it says of it."""


class NotInTime(TopicError):
    """The cluster did not do it in time; it may still."""


async def partitions_of(admin: ClusterAdmin, topic: str) -> int | None:
    """How many partitions a topic has; None: it is not there. Raises TopicError, OSError."""
    # Else a missing topic would be made by the broker's defaults.
    values = {"topics": [{"name": topic}], "allow_auto_topic_creation": False}
    response = await admin.ask(Request("MetadataRequest", 9, values), changes=False)
    for found in response.topics:
        code = int(found.error_code)
        if found.name == topic and not code:
            return len(found.partitions)
        if found.name == topic and code != _UNKNOWN_TOPIC:
            raise TopicError(_named(found))
    return None


async def config_of(admin: ClusterAdmin, topic: str, key: str) -> str | None:
    """The value of a topic's config (empty: not told); None: the topic is not there.

    Raises TopicError, OSError.
    """
    response = await admin.ask(describe_configs([topic], [key]), changes=False)
    result = response.results[0]
    code = int(result.error_code)
    if code == _UNKNOWN_TOPIC:
        return None
    if code:
        raise TopicError(_named(result))
    values = {config.name: config.value for config in result.configs}
    return values.get(key) or ""


async def create(
    admin: ClusterAdmin,
    topic: str,
    configs: Mapping[str, str],
    *,
    partitions: int = BROKER_DEFAULT,
    replication_factor: int = BROKER_DEFAULT,
) -> None:
    """Make a topic; that somebody else has just made it is as good. Raises NotInTime, TopicError,
    OSError."""
    wanted = {
        "name": topic,
        "num_partitions": partitions,
        "replication_factor": replication_factor,
        "configs": [{"name": name, "value": value} for name, value in configs.items()],
    }
    values = {"topics": [wanted], "timeout": _ANSWER_TIME}
    response = await admin.ask(Request("CreateTopicsRequest", 5, values))
    for result in response.topics:
        code = int(result.error_code)
        if code == _TIMED_OUT:
            raise NotInTime(_named(result))
        if code not in (0, _TOPIC_ALREADY_EXISTS):
            raise TopicError(_named(result))


def _named(result: Any) -> str:
    """What a broker's answer says of its error."""
    code = result.error_code
    text = getattr(result, "error_message", None)
    name = getattr(code, "name", str(int(code))).upper()
    return f"{name} ({text})" if text else name
