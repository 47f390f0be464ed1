"""Topics that the gateway keeps for itself: creating and checking them, the catalog's above all."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from datetime import timedelta
from typing import Any, Final

from gateway.brokers.messages import ClusterAdmin, describe_configs
from gateway.catalog.source import CatalogUnavailable
from protocol.messages import Request

BROKER_DEFAULT: Final = -1
"""In place of a number of partitions or replicas."""

_UNKNOWN_TOPIC: Final = 3
_TIMED_OUT: Final = 7
_TOPIC_ALREADY_EXISTS: Final = 36
_ANSWER_TIME: Final = timedelta(seconds=20)


class TopicError(Exception):
    """The cluster rejects a request; the text is its error's name, with its message."""


class NotInTime(TopicError):
    """The cluster did not do it in time; it may still."""


async def partitions_of(admin: ClusterAdmin, topic: str) -> int | None:
    """The number of a topic's partitions; None: no such topic. Raises TopicError, OSError."""
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
    """The error of a broker's response: its name, and its message if there is one."""
    code = result.error_code
    text = getattr(result, "error_message", None)
    name = getattr(code, "name", str(int(code))).upper()
    return f"{name} ({text})" if text else name


CATALOG_TOPIC: Final = "__kafka_gateway_catalog"

CONFIGS: Final = {
    "cleanup.policy": "compact",
    # What a gateway cannot unpack it could not read.
    "compression.type": "uncompressed",
}
"""The topic configs that the catalog's topic is made with."""

_SETTLE_SECONDS: Final = 15.0
_POLL_SECONDS: Final = 0.1
_NO_ANSWER: Final = "The catalog cannot be read now: no broker answers."


class CatalogTopicError(Exception):
    """The catalog's topic cannot serve as it is; the text says what to do about it."""


async def ensure_topic(
    admin: ClusterAdmin, topic: str, replication_factor: int = BROKER_DEFAULT
) -> None:
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


async def check_topic(admin: ClusterAdmin, topic: str) -> bool:
    """True if the topic is there; raises CatalogTopicError when it is not fit for a catalog, and
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


async def _partitions(admin: ClusterAdmin, topic: str) -> int | None:
    try:
        return await partitions_of(admin, topic)
    except TopicError as error:
        raise CatalogUnavailable(f"The catalog's topic is not there yet: {error}.") from None
    except OSError as error:
        raise CatalogUnavailable(_NO_ANSWER) from error


async def _cleanup_policy(admin: ClusterAdmin, topic: str) -> str | None:
    try:
        policy = await config_of(admin, topic, "cleanup.policy")
    except TopicError as error:
        raise CatalogTopicError(
            f"the configs of the catalog's topic '{topic}' cannot be read: {error}"
        ) from None
    except OSError as error:
        raise CatalogUnavailable(_NO_ANSWER) from error
    return "(not told)" if policy == "" else policy


async def _create(admin: ClusterAdmin, topic: str, replication_factor: int) -> None:
    try:
        await create(admin, topic, CONFIGS, partitions=1, replication_factor=replication_factor)
    except NotInTime:
        raise CatalogUnavailable("The catalog's topic was not made in time; try again.") from None
    except TopicError as error:
        raise CatalogTopicError(
            f"the catalog's topic '{topic}' cannot be made: {error}; make it"
            " with 1 partition and cleanup.policy=compact"
        ) from None
    except OSError as error:
        raise CatalogUnavailable(_NO_ANSWER) from error
