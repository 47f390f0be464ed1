"""Topics that the gateway writes records to: made if they are missing, and checked."""

from __future__ import annotations

import asyncio
from typing import Final

from gateway.catalog import own_topic
from gateway.catalog.own_topic import Admin, NotInTime, TopicError

CONFIGS: Final = {"cleanup.policy": "delete"}
"""The topic's configs. Compaction would keep one record for each key."""

_SETTLE_SECONDS: Final = 5.0
_POLL_SECONDS: Final = 0.2


class TopicUnusable(TopicError):
    """The topic that a configuration names cannot be used; the text says why."""


async def ensure_topic(
    key: str, kept: str, admin: Admin, topic: str, replication_factor: int
) -> None:
    """Make a topic if it is missing, and check it; several gateways may do so at once.

    ``key`` is that of the configuration which names it, and ``kept`` what would be left of it if it
    were compacted. Raises TopicUnusable, and OSError when the cluster does not answer.
    """
    try:
        if await _is_there(admin, topic):
            policy = await own_topic.config_of(admin, topic, "cleanup.policy")
            if policy not in (None, CONFIGS["cleanup.policy"]):
                raise TopicUnusable(
                    f"{key} '{topic}' has cleanup.policy={policy or '(not told)'} and must "
                    f"have exactly 'delete', else the broker keeps {kept}: "
                    f"kafka-configs --alter --entity-type topics --entity-name {topic} "
                    "--add-config cleanup.policy=delete"
                )
        else:
            await own_topic.create(admin, topic, CONFIGS, replication_factor=replication_factor)
    except TopicUnusable:
        raise
    except NotInTime:
        return  # if it is missing, the next write will tell
    except TopicError as error:
        raise TopicUnusable(
            f"{key} '{topic}' cannot be used: {error}; make it with cleanup.policy=delete, "
            "and let the gateway describe and write it"
        ) from None


async def _is_there(admin: Admin, topic: str) -> bool:
    """What is just being made has no leader for a moment, which passes."""
    loop = asyncio.get_running_loop()
    deadline = loop.time() + _SETTLE_SECONDS
    while True:
        try:
            return await own_topic.partitions_of(admin, topic) is not None
        except TopicError:
            if loop.time() >= deadline:
                raise
            await asyncio.sleep(_POLL_SECONDS)
