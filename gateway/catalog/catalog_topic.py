"""The topic that holds the catalog: made when it is missing, checked when it is there."""

from __future__ import annotations

import asyncio
from typing import Final

from gateway.brokers.messages import ClusterAdmin
from gateway.catalog import own_topic
from gateway.catalog.own_topic import BROKER_DEFAULT, NotInTime, TopicError
from gateway.catalog.source import CatalogUnavailable

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


async def _partitions(admin: ClusterAdmin, topic: str) -> int | None:
    try:
        return await own_topic.partitions_of(admin, topic)
    except TopicError as error:
        raise CatalogUnavailable(f"The catalog's topic is not there yet: {error}.") from None
    except OSError as error:
        raise CatalogUnavailable(_NO_ANSWER) from error


async def _cleanup_policy(admin: ClusterAdmin, topic: str) -> str | None:
    try:
        policy = await own_topic.config_of(admin, topic, "cleanup.policy")
    except TopicError as error:
        raise CatalogTopicError(
            f"the configs of the catalog's topic '{topic}' cannot be read: {error}"
        ) from None
    except OSError as error:
        raise CatalogUnavailable(_NO_ANSWER) from error
    return "(not told)" if policy == "" else policy


async def _create(admin: ClusterAdmin, topic: str, replication_factor: int) -> None:
    try:
        await own_topic.create(
            admin, topic, CONFIGS, partitions=1, replication_factor=replication_factor
        )
    except NotInTime:
        raise CatalogUnavailable("The catalog's topic was not made in time; try again.") from None
    except TopicError as error:
        raise CatalogTopicError(
            f"the catalog's topic '{topic}' cannot be made: {error}; make it"
            " with 1 partition and cleanup.policy=compact"
        ) from None
    except OSError as error:
        raise CatalogUnavailable(_NO_ANSWER) from error
