"""What a worker knows of the volumes behind other gateways: what it was last told.

Brokers are at the addresses that their gateway's listener for the asker's volume has, so there is
one :class:`FarVolume` for each pair of a listener's volume and a far one. What is known is kept
when the owner does not answer, so clients keep their metadata; it says nothing of who may do what,
but for the operations that a principal was told it is authorized to.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable, Iterator
from typing import Any, Final, NamedTuple

from gateway.names import LogicalName

MAX_TOPICS: Final = 20_000
"""Topics that are remembered of one volume, with the principals that saw them."""

MAX_PRINCIPALS: Final = 10_000
"""Principals of which it is remembered whether they may see a volume at all."""

SOUGHT_SECONDS: Final = 10.0
"""Seconds for which a topic id that is not known is not asked for again."""

MAX_SOUGHT: Final = 1_000

NOT_REQUESTED: Final = -(2**31)
"""Authorized operations where they were not requested (Kafka's Integer.MIN_VALUE)."""


class FarBroker(NamedTuple):
    """A broker at its gateway's address; ``node_id`` is the virtual one."""

    node_id: int
    host: str
    port: int
    rack: str | None


class FarTopic(NamedTuple):
    """A topic as a principal last saw it: the 16 bytes of its id, if the version has them, how many
    partitions it has, and the operations that the principal was authorized to as bits (None: it
    did not ask); ``operations_at`` is when it was told those."""

    topic_id: bytes | None
    partitions: int
    operations: int | None
    operations_at: float


class FarVolume:
    """One volume behind other gateways, as clients of the listeners of one volume see it.

    ``number`` is 0, ``cluster_id`` None and ``brokers`` empty until they are known. ``served`` is
    the ApiVersionsResponse of its cluster. ``reachable``: whether the last question was answered.
    ``version`` grows with every change of what is kept on disk.
    """

    def __init__(self, path: str, clock: Callable[[], float] = time.monotonic) -> None:
        """``clock`` returns seconds from any fixed point."""
        self.path = path
        self.number = 0
        self.brokers: tuple[FarBroker, ...] = ()
        self.cluster_id: str | None = None
        self.controller_id = -1
        self.served: Any = None
        self.reachable = True
        self.version = 0
        self._clock = clock
        self._topics: OrderedDict[tuple[str, LogicalName], FarTopic] = OrderedDict()
        self._names: OrderedDict[bytes, LogicalName] = OrderedDict()
        self._shown: OrderedDict[str, tuple[bool, float]] = OrderedDict()
        self._sought: OrderedDict[bytes, float] = OrderedDict()

    # -- looking up --------------------------------------------------------------------------------

    def topic(self, principal: str, name: LogicalName) -> FarTopic | None:
        """A topic as a principal last saw it; None: it has not."""
        return self._topics.get((principal, name))

    def topics(self) -> Iterator[tuple[str, LogicalName, FarTopic]]:
        """All that is remembered, with the principal that saw it."""
        return ((principal, name, topic) for (principal, name), topic in self._topics.items())

    def name_of(self, topic_id: bytes) -> LogicalName | None:
        """The name of the topic that has an id, as somebody last saw it."""
        return self._names.get(topic_id)

    def is_due(self, topic_id: bytes) -> bool:
        """Whether a topic id that is not known may be asked for: it was not, for some seconds."""
        now = self._clock()
        before = self._sought.get(topic_id)
        if before is not None and now - before < SOUGHT_SECONDS:
            return False
        self._sought[topic_id] = now
        self._sought.move_to_end(topic_id)
        if len(self._sought) > MAX_SOUGHT:
            self._sought.popitem(last=False)
        return True

    def shows(self, principal: str) -> bool:
        """Whether a principal has been shown this volume's brokers."""
        return self._shown.get(principal, (False, 0.0))[0]

    def asked_at(self, principal: str) -> float | None:
        """When a principal was last shown the brokers, or denied them; None: never."""
        found = self._shown.get(principal)
        return None if found is None else found[1]

    # -- learning ----------------------------------------------------------------------------------

    def note_cluster(
        self,
        principal: str,
        number: int,
        brokers: tuple[FarBroker, ...],
        cluster_id: str | None,
        controller_id: int,
    ) -> None:
        """Note what an answer tells a principal of the cluster. Without brokers it may see none."""
        self.note_shown(principal, shown=bool(brokers))
        if not brokers:
            return
        known = self.number, self.brokers, self.cluster_id, self.controller_id
        told = number, brokers, cluster_id or self.cluster_id, controller_id
        if told != known:
            self.number, self.brokers, self.cluster_id, self.controller_id = told
            self.version += 1

    def note_shown(self, principal: str, *, shown: bool) -> None:
        """Note whether the owner shows a principal its brokers."""
        self._shown[principal] = shown, self._clock()
        self._shown.move_to_end(principal)
        if len(self._shown) > MAX_PRINCIPALS:
            self._shown.popitem(last=False)

    def note_topic(
        self,
        principal: str,
        name: LogicalName,
        topic_id: bytes | None,
        partitions: int,
        operations: int | None = None,
    ) -> None:
        """Note a topic that a principal was shown."""
        before = self._topics.pop((principal, name), None)
        at = self._clock() if operations is not None else 0.0
        if before is not None:
            topic_id = topic_id or before.topic_id
            if operations is None:
                operations, at = before.operations, before.operations_at
        self._topics[principal, name] = FarTopic(topic_id, partitions, operations, at)
        if before is None or before[:2] != (topic_id, partitions):
            self.version += 1
        if len(self._topics) > MAX_TOPICS:
            self._topics.popitem(last=False)
        if topic_id is not None:
            self._names[topic_id] = name
            self._names.move_to_end(topic_id)
            if len(self._names) > MAX_TOPICS:
                self._names.popitem(last=False)

    def forget_topic(self, principal: str, name: LogicalName) -> None:
        """Note that the owner knows no such topic for a principal."""
        if self._topics.pop((principal, name), None) is not None:
            self.version += 1
