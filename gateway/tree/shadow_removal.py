"""Removal of shadow topics whose topic was deleted (``gateway.rules.shadows``).

Offsets are deleted with a shadow. So it is removed only if the topic's own cluster responds that no
topic has this id, some minutes after the topic was first seen to be missing. If a volume does not
respond, or this gateway does not know the volume, the shadow stays.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterator, Mapping
from time import monotonic
from typing import Any, Final
from uuid import UUID

from gateway.brokers.one_each import one_each
from gateway.catalog.snapshot import Snapshot
from gateway.changes.base.broker import delete_at_broker
from gateway.changes.base.context import Context
from gateway.changes.jobs.job_runner import Task
from gateway.error_codes import UNKNOWN_TOPIC_ID
from gateway.rules.shadows import Origin, is_shadow, origin_of
from protocol.messages import Request

log = logging.getLogger(__name__)

SHADOWS: Final = "removal of shadow topics"

GONE_SECONDS: Final = 300.0
"""Seconds for which a topic has to be missing before its shadow is removed."""

LOOK_AGAIN: Final = 30.0
"""Seconds between two checks of all topics."""

_METADATA_BY_ID: Final = 12  # the first version in which brokers serve ids (KIP-516)


class ShadowRemoval:
    """Removes the shadows of one volume. ``context``: that volume's. ``volumes``: the volumes that
    this gateway serves, by number; they may be filled in later."""

    def __init__(
        self,
        context: Context,
        volumes: Mapping[int, Context],
        clock: Callable[[], float] = monotonic,
    ) -> None:
        """``clock`` returns seconds from any fixed point."""
        self._context = context
        self._clock = clock
        self._volumes = volumes
        self._look_at = clock()
        self._gone_since: dict[bytes, float] = {}

    def tasks(self, snapshot: Snapshot) -> Iterator[Task]:
        """One task while there are shadows whose topics have been missing for long enough."""
        now = self._clock()
        if now >= self._look_at:
            self._look_at = now + LOOK_AGAIN
            gone = {flat for flat, origin in self._shadows() if not self._known(origin)}
            self._gone_since = {flat: self._gone_since.get(flat, now) for flat in gone}
        if self._due():
            yield Task(SHADOWS, "", 0)

    async def run(self, task: Task) -> None:
        """Remove the shadows whose topics are unknown to the topics' own clusters. Raises
        OSError."""
        by_number: dict[int, dict[bytes, bytes]] = {}
        for flat in self._due():
            self._gone_since.pop(flat)  # if it stays, it is seen again later
            origin = origin_of(flat)
            assert origin is not None
            by_number.setdefault(origin.number, {})[origin.topic_id] = flat
        for number, shadows in by_number.items():
            confirmed = await _gone(self._volumes[number], shadows.keys())
            await self._delete([shadows[topic_id] for topic_id in confirmed])

    async def _delete(self, flats: Collection[bytes]) -> None:
        index = self._context.cluster.index
        ids = {flat.decode(): topic_id for flat in flats if (topic_id := index.id_of(flat))}
        for flat, outcome in (await delete_at_broker(self._context, ids)).items():
            if outcome.gone:
                log.info("removed shadow topic %s: its topic is gone", flat)

    def _shadows(self) -> Iterator[tuple[bytes, Origin]]:
        for flat in list(self._context.cluster.index.names()):
            origin = origin_of(flat) if is_shadow(flat) else None
            if origin is not None and origin.topic_id:
                yield flat, origin

    def _known(self, origin: Origin) -> bool:
        """Whether the topic exists, or it is unknown whether it exists."""
        volume = self._volumes.get(origin.number)
        if volume is None or volume is self._context:
            return True
        name = volume.cluster.index.name_of(origin.topic_id)
        return name is not None and volume.cluster.index.id_of(name) == origin.topic_id

    def _due(self) -> list[bytes]:
        latest = self._clock() - GONE_SECONDS
        return [flat for flat, since in self._gone_since.items() if since <= latest]


async def _gone(volume: Context, topic_ids: Collection[bytes]) -> list[bytes]:
    """The topic ids that the volume's cluster reports as unknown. A listing would not do, because
    it also leaves out topics that the gateway may not describe. Raises OSError."""
    await volume.cluster.refresh()
    topics = [{"topic_id": UUID(bytes=topic_id), "name": None} for topic_id in topic_ids]
    values = {"topics": topics, "allow_auto_topic_creation": False}
    request = Request("MetadataRequest", _METADATA_BY_ID, values)
    response = await volume.admin.ask(request, changes=False)
    answers = one_each(topic_ids, response.topics, _topic_id)
    return [
        topic_id
        for topic_id, topic in answers.items()
        if topic is not None and topic.error_code == UNKNOWN_TOPIC_ID
    ]


def _topic_id(topic: Any) -> bytes | None:
    topic_id: bytes | None = None if topic.topic_id is None else topic.topic_id.bytes
    return topic_id
