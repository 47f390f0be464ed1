"""The shadow topics of one volume: created when a group needs them, and grown with their topics.

Several workers and gateways do this at once; a shadow that another worker has created serves as
well.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from time import monotonic
from typing import Any, Final

from gateway.changes.base.broker import query_each
from gateway.changes.base.context import Context
from gateway.changes.base.own_topics import (
    BROKERS_DEFAULT,
    ONE_REPLICA,
    TIMEOUT,
    make_topics,
)
from gateway.changes.base.told_everywhere import late_somewhere
from gateway.decision import Denied
from gateway.error_codes import TOPIC_ALREADY_EXISTS
from protocol.messages import Request

log = logging.getLogger(__name__)

AT_ONCE: Final = 50
"""Shadows in one request to the broker."""

ENSURE_SECONDS: Final = 5.0
"""Seconds that a request waits at most for its shadows."""

FAILURE_HOLDS: Final = 5.0
"""Seconds for which a shadow that could not be created is not tried again."""

SETTLED_SECONDS: Final = 10.0
"""Seconds for which a shadow is not looked up again after a doubt about it was checked."""

KNOWN_SECONDS: Final = 2.0
"""Seconds that a request waits at most until the brokers know its shadows, once they are
created."""

TOO_LARGE_SECONDS: Final = 600.0
"""Seconds for which a topic that has too many partitions is not logged again."""

TOO_LARGE_REMEMBERED: Final = 1_000
"""Topics with too many partitions that were logged lately; if there are more, further ones are not
logged."""

_CREATE_PARTITIONS: Final = 3
_METADATA: Final = 9
_CONFIGS: Final = ({"name": "cleanup.policy", "value": "delete"},)


class ShadowTopics:
    """The shadow topics of one volume, as one worker knows them, on one event loop.

    Names are flat; a topic's shadow has at least as many partitions as the topic.
    """

    def __init__(self, context: Context, clock: Callable[[], float] = monotonic) -> None:
        """``context``: the volume's. ``clock`` returns seconds from any fixed point."""
        self._context = context
        self._clock = clock
        self._lock = asyncio.Lock()
        self._partitions: dict[bytes, int] = {}
        self._held_until: dict[bytes, float] = {}
        self._doubted: set[bytes] = set()
        self._fresh: dict[bytes, int] = {}
        self._settled: dict[bytes, float] = {}
        self._log_at = clock()
        self._too_large: dict[bytes, float] = {}

    def has(self, shadow: bytes, partitions: int = 1) -> bool:
        """Whether a shadow is known to have at least this number of partitions."""
        index = self._context.cluster.index
        if shadow in self._doubted or not index.exists(shadow):
            return False
        return max(self._partitions.get(shadow, 0), index.partitions.get(shadow, 0)) >= partitions

    def exists(self, shadow: bytes) -> bool:
        """Whether a shadow exists, perhaps with too few partitions."""
        return self._context.cluster.index.exists(shadow)

    def due(self, shadow: bytes) -> bool:
        """Whether to create or grow a shadow now: False just after a failure."""
        return self._held_until.get(shadow, 0.0) <= self._clock()

    def doubt(self, shadow: bytes) -> bool:
        """Note that the coordinator did not know a partition, so the shadow is looked up before the
        next request that needs it. Returns False if it was looked up just before."""
        now = self._clock()
        self._settled = {name: until for name, until in self._settled.items() if until > now}
        if shadow in self._settled:
            return False
        self._doubted.add(shadow)
        return True

    def is_doubted(self, shadow: bytes) -> bool:
        """Whether a shadow is to be looked up again."""
        return shadow in self._doubted

    def note_too_large(self, topic_id: bytes, name: str, partitions: int, most: int) -> None:
        """Log that a topic has more than ``most`` partitions, so that it gets no shadow: nothing
        else shows why a group is assigned none of them."""
        now = self._clock()
        if self._too_large.get(topic_id, now) > now:
            return
        self._too_large = {key: until for key, until in self._too_large.items() if until > now}
        if len(self._too_large) >= TOO_LARGE_REMEMBERED:
            return
        self._too_large[topic_id] = now + TOO_LARGE_SECONDS
        log.warning(
            "groups are assigned no partition of topic %s, and keep no offset of it: it has %d"
            " partitions, and a topic behind another gateway may have %d",
            name,
            partitions,
            most,
        )

    async def ensure(self, wanted: Mapping[bytes, int]) -> None:
        """Create the shadows that are missing and grow the shadows that are too small. ``wanted``:
        names to partition counts. Failures are logged and left out; :meth:`has` returns False for
        these shadows."""
        try:
            async with asyncio.timeout(ENSURE_SECONDS), self._lock:
                await self._ensure(wanted)
        except (OSError, TimeoutError) as error:
            self._failed(wanted, str(error) or f"no answer within {ENSURE_SECONDS:g} s")
        # After the lock is released, because one slow broker would make all other groups wait.
        await self._await_known(wanted)

    async def _ensure(self, wanted: Mapping[bytes, int]) -> None:
        doubted = self._doubted.intersection(wanted)
        if doubted:
            await self._look_again(doubted)
        # Another request may have created them while this request waited for its turn.
        missing = {name: count for name, count in wanted.items() if not self.exists(name)}
        for batch in _batches(missing):
            await self._create({name: missing[name] for name in batch})
        small = {
            name: count
            for name, count in wanted.items()
            if self.exists(name) and not self.has(name, count)
        }
        for batch in _batches(small):
            await self._grow({name: small[name] for name in batch})
        made = (name for name in (*missing, *small) if self.has(name, wanted[name]))
        self._fresh |= {name: wanted[name] for name in made}

    async def _await_known(self, wanted: Iterable[bytes]) -> None:
        """Wait until every broker knows the shadows that were just created. A broker that does not
        know a shadow rejects its group's commits, which clients send again two or three times."""
        fresh = self._fresh
        counts = {name.decode(): fresh[name] for name in wanted if name in fresh}

        def requests(names: Collection[str]) -> list[Request]:
            topics = [{"name": name} for name in sorted(names)]
            values = {"topics": topics, "allow_auto_topic_creation": False}
            return [Request("MetadataRequest", _METADATA, values)]

        late = partial(_not_known, counts)
        await late_somewhere(self._context, counts, requests, late, KNOWN_SECONDS)
        for name in counts:
            fresh.pop(name.encode(), None)

    async def _look_again(self, doubted: Iterable[bytes]) -> None:
        await self._context.cluster.refresh()
        until = self._clock() + SETTLED_SECONDS
        for name in doubted:
            self._partitions.pop(name, None)
            self._settled[name] = until
            self._doubted.discard(name)

    async def _create(self, wanted: Mapping[bytes, int]) -> None:
        results = await self._ask_to_create(wanted, ONE_REPLICA)
        again = [name for name, found in results.items() if _may_want_replicas(found)]
        if again:  # a policy of the cluster may want more replicas
            counts = {name: wanted[name] for name in again}
            results |= await self._ask_to_create(counts, BROKERS_DEFAULT)
        index = self._context.cluster.index
        there = False
        for name, found in results.items():
            if not isinstance(found, Denied):
                topic_id = getattr(found, "topic_id", None)
                index.learn(name, None if topic_id is None else topic_id.bytes)
                self._partitions[name] = wanted[name]
            elif found.code == TOPIC_ALREADY_EXISTS:
                there = True
            else:
                self._failed([name], found.message)
        if there or any(index.id_of(name) is None for name in wanted):
            await self._context.cluster.refresh()

    async def _ask_to_create(
        self, wanted: Mapping[bytes, int], replicas: int
    ) -> dict[bytes, Any | Denied]:
        counts = {name.decode(): count for name, count in wanted.items()}
        found = await make_topics(self._context, counts, replicas, _CONFIGS)
        return {name.encode(): each for name, each in found.items()}

    async def _grow(self, wanted: Mapping[bytes, int]) -> None:
        topics = [
            {"name": name.decode(), "count": count, "assignments": None}
            for name, count in wanted.items()
        ]
        values = {"topics": topics, "timeout": TIMEOUT, "validate_only": False}
        request = Request("CreatePartitionsRequest", _CREATE_PARTITIONS, values)
        results = await self._ask(request, wanted, "results")
        rejected = {name: found for name, found in results.items() if isinstance(found, Denied)}
        self._partitions |= {name: wanted[name] for name in results.keys() - rejected.keys()}
        if rejected:  # another worker may have grown them
            await self._context.cluster.refresh()
        for name, found in rejected.items():
            if not self.has(name, wanted[name]):
                self._failed([name], found.message)

    async def _ask(
        self, request: Request, wanted: Iterable[bytes], results: str
    ) -> dict[bytes, Any | Denied]:
        names = [name.decode() for name in wanted]
        found = await query_each(self._context, request, names, results)
        return {name.encode(): each for name, each in found.items()}

    def _failed(self, shadows: Iterable[bytes], why: str) -> None:
        now = self._clock()
        self._held_until = {name: until for name, until in self._held_until.items() if until > now}
        names = list(shadows)
        self._held_until |= dict.fromkeys(names, now + FAILURE_HOLDS)
        if names and now >= self._log_at:
            self._log_at = now + FAILURE_HOLDS
            log.warning(
                "offsets of topics in other volumes cannot be kept: topic %s could not be made or"
                " grown: %s",
                names[0].decode(errors="replace"),
                why,
            )


def _may_want_replicas(found: Any | Denied) -> bool:
    return isinstance(found, Denied) and found.code != TOPIC_ALREADY_EXISTS


def _not_known(made: Mapping[str, int], response: Any) -> list[str]:
    """The topics that a Metadata response does not have, or has with too few partitions."""
    found = {topic.name: len(topic.partitions) for topic in response.topics}
    return [name for name in found if found[name] < made.get(name, 0)]


def _batches(wanted: Iterable[bytes]) -> Iterator[Sequence[bytes]]:
    names = list(wanted)
    for start in range(0, len(names), AT_ONCE):
        yield names[start : start + AT_ONCE]
