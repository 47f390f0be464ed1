"""What the gateway asks of the cluster about topics of its own: are they there, and how."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import Any, Final, Protocol, get_type_hints

from protocol import messages
from protocol.schema import field_type

BROKER_DEFAULT: Final = -1
"""In place of a number of partitions or replicas."""

_UNKNOWN_TOPIC: Final = 3
_TIMED_OUT: Final = 7
_TOPIC_ALREADY_EXISTS: Final = 36
_TOPIC_RESOURCE: Final = 2
_ANSWER_TIME: Final = timedelta(seconds=20)
_NEWEST = {"MetadataRequest": 9, "CreateTopicsRequest": 5, "DescribeConfigsRequest": 4}


class Admin(Protocol):
    """Asks the cluster (gateway/cluster/admin.py)."""

    async def ask(
        self, name: str, make: Callable[[type], Any], *, at_most: int, changes: bool = True
    ) -> Any:
        """The response entity; raises an OSError when nobody answers."""
        ...


class TopicError(Exception):
    """The cluster refuses; the text is its error, by name, with what it says of it."""


class NotInTime(TopicError):
    """The cluster did not do it in time; it may still."""


async def partitions_of(admin: Admin, topic: str) -> int | None:
    """How many partitions a topic has; None: it is not there. Raises TopicError, OSError."""

    def make(cls: type) -> Any:
        wanted = (messages.build(_element(cls, "topics"), name=topic),)
        # Else a missing topic would be made by the broker's defaults.
        return messages.build(cls, topics=wanted, allow_auto_topic_creation=False)

    response = await _ask(admin, "MetadataRequest", make)
    for found in response.topics:
        code = int(found.error_code)
        if found.name == topic and not code:
            return len(found.partitions)
        if found.name == topic and code != _UNKNOWN_TOPIC:
            raise TopicError(_named(found))
    return None


async def config_of(admin: Admin, topic: str, key: str) -> str | None:
    """The value of a topic's config (empty: not told); None: the topic is not there.

    Raises TopicError, OSError.
    """

    def make(cls: type) -> Any:
        resource = messages.build(
            _element(cls, "resources"),
            resource_type=_TOPIC_RESOURCE,
            resource_name=topic,
            configuration_keys=(key,),
        )
        return messages.build(cls, resources=(resource,))

    response = await _ask(admin, "DescribeConfigsRequest", make)
    result = response.results[0]
    code = int(result.error_code)
    if code == _UNKNOWN_TOPIC:
        return None
    if code:
        raise TopicError(_named(result))
    values = {config.name: config.value for config in result.configs}
    return values.get(key) or ""


async def create(
    admin: Admin,
    topic: str,
    configs: Mapping[str, str],
    *,
    partitions: int = BROKER_DEFAULT,
    replication_factor: int = BROKER_DEFAULT,
) -> None:
    """Make a topic; that somebody else has just made it is as good. Raises NotInTime, TopicError,
    OSError."""

    def make(cls: type) -> Any:
        topic_class = _element(cls, "topics")
        config_class = _element(topic_class, "configs")
        wanted = messages.build(
            topic_class,
            name=topic,
            num_partitions=partitions,
            replication_factor=replication_factor,
            configs=tuple(
                messages.build(config_class, name=name, value=value)
                for name, value in configs.items()
            ),
        )
        return messages.build(cls, topics=(wanted,), timeout=_ANSWER_TIME)

    response = await _ask(admin, "CreateTopicsRequest", make)
    for result in response.topics:
        code = int(result.error_code)
        if code == _TIMED_OUT:
            raise NotInTime(_named(result))
        if code not in (0, _TOPIC_ALREADY_EXISTS):
            raise TopicError(_named(result))


async def _ask(admin: Admin, name: str, make: Callable[[type], Any]) -> Any:
    changes = name == "CreateTopicsRequest"
    return await admin.ask(name, make, at_most=_NEWEST[name], changes=changes)


def _element(cls: type, attribute: str) -> Any:
    return field_type(get_type_hints(cls)[attribute])[0]


def _named(result: Any) -> str:
    """What a broker's answer says of its error."""
    code = result.error_code
    text = getattr(result, "error_message", None)
    name = getattr(code, "name", str(int(code))).upper()
    return f"{name} ({text})" if text else name
