"""The topic that holds the catalog: made when it is missing, checked when it is there."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import timedelta
from typing import Any, Final, Protocol, get_type_hints

from gateway.catalog.source import CatalogUnavailable
from protocol import messages
from protocol.schema import field_type

CATALOG_TOPIC: Final = "__kafka_gateway_catalog"

CONFIGS: Final = {
    "cleanup.policy": "compact",
    # What a gateway cannot unpack it could not read.
    "compression.type": "uncompressed",
}
"""The topic configs that the catalog's topic is made with."""

_UNKNOWN_TOPIC: Final = 3
_TIMED_OUT: Final = 7
_TOPIC_ALREADY_EXISTS: Final = 36
_TOPIC_RESOURCE: Final = 2
_BROKER_DEFAULT: Final = -1
_ANSWER_TIME: Final = timedelta(seconds=20)
_SETTLE_SECONDS: Final = 15.0
_POLL_SECONDS: Final = 0.1
_NEWEST = {"MetadataRequest": 9, "CreateTopicsRequest": 5, "DescribeConfigsRequest": 4}


class CatalogTopicError(Exception):
    """The catalog's topic cannot serve as it is; the text says what to do about it."""


class Admin(Protocol):
    """Asks the cluster (gateway/broker_admin.py)."""

    async def ask(
        self, name: str, make: Callable[[type], Any], *, at_most: int, changes: bool = True
    ) -> Any:
        """The response entity; raises an OSError when nobody answers."""
        ...


async def ensure_topic(admin: Admin, topic: str, replication_factor: int = _BROKER_DEFAULT) -> None:
    """Make the catalog's topic if it is missing, and check it.

    Several gateways may do so at once. ``replication_factor`` -1 is the broker's default. Raises
    CatalogTopicError, and CatalogUnavailable when the cluster does not answer.
    """
    try:
        async with asyncio.timeout(_SETTLE_SECONDS):
            if await check_topic(admin, topic):
                return
            await _create(admin, topic, replication_factor)
            # Brokers answer that a topic is made before all of them know it.
            while not await check_topic(admin, topic):
                await asyncio.sleep(_POLL_SECONDS)
    except TimeoutError:
        raise CatalogUnavailable(
            f"The catalog's topic '{topic}' was made, and no broker knows it yet; try again."
        ) from None


async def check_topic(admin: Admin, topic: str) -> bool:
    """Whether the topic is there; raises CatalogTopicError when it is not fit for a catalog, and
    CatalogUnavailable when the cluster does not answer."""
    partitions = await _partitions(admin, topic)
    if partitions is None:
        return False
    if partitions != 1:
        raise CatalogTopicError(
            f"the catalog's topic '{topic}' has {partitions} partitions and must have exactly 1:"
            " delete it if nothing needs it, and it is made anew"
        )
    policy = await _cleanup_policy(admin, topic)
    if policy is None:
        return False
    if policy != "compact":
        raise CatalogTopicError(
            f"the catalog's topic '{topic}' has cleanup.policy={policy} and must have exactly"
            " 'compact', else the broker deletes namespaces: kafka-configs --alter --entity-type"
            f" topics --entity-name {topic} --add-config cleanup.policy=compact"
        )
    return True


async def _partitions(admin: Admin, topic: str) -> int | None:
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
            raise CatalogUnavailable(f"The catalog's topic is not there yet: {_named(found)}.")
    return None


async def _cleanup_policy(admin: Admin, topic: str) -> str | None:
    def make(cls: type) -> Any:
        resource = messages.build(
            _element(cls, "resources"),
            resource_type=_TOPIC_RESOURCE,
            resource_name=topic,
            configuration_keys=("cleanup.policy",),
        )
        return messages.build(cls, resources=(resource,))

    response = await _ask(admin, "DescribeConfigsRequest", make)
    result = response.results[0]
    code = int(result.error_code)
    if code == _UNKNOWN_TOPIC:
        return None
    if code:
        raise CatalogTopicError(
            f"the configs of the catalog's topic '{topic}' cannot be read: {_named(result)}"
        )
    values = {config.name: config.value for config in result.configs}
    return values.get("cleanup.policy") or "(not told)"


async def _create(admin: Admin, topic: str, replication_factor: int) -> None:
    def make(cls: type) -> Any:
        topic_class = _element(cls, "topics")
        config_class = _element(topic_class, "configs")
        configs = tuple(
            messages.build(config_class, name=name, value=value) for name, value in CONFIGS.items()
        )
        wanted = messages.build(
            topic_class,
            name=topic,
            num_partitions=1,
            replication_factor=replication_factor,
            configs=configs,
        )
        return messages.build(cls, topics=(wanted,), timeout=_ANSWER_TIME)

    response = await _ask(admin, "CreateTopicsRequest", make)
    for result in response.topics:
        code = int(result.error_code)
        if code == _TIMED_OUT:
            raise CatalogUnavailable("The catalog's topic was not made in time; try again.")
        if code not in (0, _TOPIC_ALREADY_EXISTS):
            raise CatalogTopicError(
                f"the catalog's topic '{topic}' cannot be made: {_named(result)}; make it"
                " with 1 partition and cleanup.policy=compact"
            )


async def _ask(admin: Admin, name: str, make: Callable[[type], Any]) -> Any:
    changes = name == "CreateTopicsRequest"
    try:
        return await admin.ask(name, make, at_most=_NEWEST[name], changes=changes)
    except OSError as error:
        raise CatalogUnavailable("The catalog cannot be read now: no broker answers.") from error


def _element(cls: type, attribute: str) -> Any:
    return field_type(get_type_hints(cls)[attribute])[0]


def _named(result: Any) -> str:
    """What a broker's answer says of its error."""
    code = result.error_code
    text = getattr(result, "error_message", None)
    name = getattr(code, "name", str(int(code))).upper()
    return f"{name} ({text})" if text else name
