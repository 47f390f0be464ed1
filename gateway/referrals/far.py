"""A worker's knowledge of the volumes behind other gateways, from their owners' latest responses.

The brokers have the addresses of their gateway's listener for the asker's volume, so there is a
:class:`FarVolume` for each pair of a listener's volume and a far volume. The knowledge is kept
while the owner does not respond, so that clients keep their metadata. Topics are kept by principal,
and rights by principal and host, because owners decide by both.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable, Iterator
from typing import Any, Final, NamedTuple, TypeVar

from gateway.names import InvalidName, LogicalName, encode

MAX_TOPICS: Final = 20_000
"""Remembered topics of a volume, counted once for each principal that has seen the topic."""

MAX_RIGHTS: Final = 20_000
"""Topics of a volume whose rights are remembered, counted once for each principal and host."""

MAX_PRINCIPALS: Final = 10_000
"""Principals of which the gateway remembers whether they may see a volume."""

SOUGHT_SECONDS: Final = 10.0
"""Seconds for which a principal's query for a topic id is not repeated."""

MAX_SOUGHT: Final = 10_000
"""Topic ids, counted once for each principal, whose latest query is remembered."""

NOT_REQUESTED: Final = -(2**31)
"""The value of authorized operations that were not requested (Kafka's Integer.MIN_VALUE)."""

_DESCRIBE: Final = 1 << 8
"""The bit of DESCRIBE (AclOperation) among authorized operations."""

_ANYBODY: Final = ""
"""A name that no principal has."""

_K = TypeVar("_K")
_V = TypeVar("_V")


class FarBroker(NamedTuple):
    """A broker at its gateway's address; ``node_id`` is the virtual id."""

    node_id: int
    host: str
    port: int
    rack: str | None


class FarTopic(NamedTuple):
    """A topic as a principal last saw it: the 16 bytes of its id (None: the version had no id), its
    partition count, and the operations (bits) to which the principal was last authorized, from any
    host (None: never reported)."""

    topic_id: bytes | None
    partitions: int
    operations: int | None


class Rights(NamedTuple):
    """The operations (bits) on a topic to which a principal is authorized from a host, and the
    seconds since the owner reported them."""

    operations: int
    age: float


class FarVolume:
    """A volume behind other gateways, as the clients of one volume's listeners see it.

    ``number`` is 0, ``cluster_id`` None and ``brokers`` empty until they are known. ``served`` is
    the ApiVersionsResponse of the cluster. ``reachable``: whether the latest query was answered.
    ``version`` grows with every change of the state that is kept on disk.
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
        self._names: OrderedDict[tuple[str, bytes], LogicalName] = OrderedDict()
        self._rights: OrderedDict[tuple[str, str, LogicalName], tuple[int, float]] = OrderedDict()
        self._missing: OrderedDict[tuple[str, str, LogicalName], float] = OrderedDict()
        self._shown: OrderedDict[str, tuple[bool, float]] = OrderedDict()
        self._denied: OrderedDict[str, None] = OrderedDict()
        self._sought: OrderedDict[tuple[str, bytes], float] = OrderedDict()

    # -- looking up --------------------------------------------------------------------------------

    def topic(self, principal: str, name: LogicalName) -> FarTopic | None:
        """A topic as a principal last saw it; None if it never saw the topic, or is denied the
        volume."""
        return None if principal in self._denied else self._topics.get((principal, name))

    def topics(self) -> Iterator[tuple[str, LogicalName, FarTopic]]:
        """Every remembered topic, with the principal that saw it."""
        return (
            (principal, name, topic)
            for (principal, name), topic in self._topics.items()
            if principal not in self._denied
        )

    def name_of(self, topic_id: bytes, principal: str = _ANYBODY) -> LogicalName | None:
        """The name of the topic with an id, as a principal last saw it; if the principal never saw
        the topic, as any other principal did."""
        own = self._names.get((principal, topic_id))
        return own or self._names.get((_ANYBODY, topic_id))

    def rights(self, principal: str, host: str, name: LogicalName) -> Rights | None:
        """A principal's operations on a topic from a host; None if they were not reported yet."""
        found = self._rights.get((principal, host, name))
        if found is None or principal in self._denied:
            return None
        return Rights(found[0], self._clock() - found[1])

    def missing_age(self, principal: str, host: str, name: LogicalName) -> float | None:
        """The seconds since the owner reported that a topic does not exist, as it reports to a
        principal that might describe the topic; None if it has not."""
        found = self._missing.get((principal, host, name))
        return None if found is None or principal in self._denied else self._clock() - found

    def describes(self, principal: str, host: str, name: LogicalName) -> FarTopic | None:
        """A topic that a principal has seen, unless the owner has denied it DESCRIBE since."""
        topic, rights = self.topic(principal, name), self.rights(principal, host, name)
        if topic is None:
            return None
        operations = topic.operations if rights is None else rights.operations
        return topic if operations is None or operations & _DESCRIBE else None

    def is_due(self, principal: str, topic_id: bytes) -> bool:
        """Whether a principal's query for a topic id has not been sent for some seconds. The call
        counts as a query."""
        now = self._clock()
        before = self._sought.get((principal, topic_id))
        if before is not None and now - before < SOUGHT_SECONDS:
            return False
        _put(self._sought, (principal, topic_id), now, MAX_SOUGHT)
        return True

    def shows(self, principal: str) -> bool:
        """Whether a principal has been shown this volume's brokers."""
        return principal not in self._denied and self._shown.get(principal, (False, 0.0))[0]

    def shown_to(self) -> list[str]:
        """The principals that have been shown this volume's brokers."""
        return [principal for principal in self._shown if self.shows(principal)]

    def is_denied(self, principal: str) -> bool:
        """Whether a gateway on the way did not accept a principal at the latest query."""
        return principal in self._denied

    def shown_age(self, principal: str) -> float | None:
        """The seconds since the owner decided whether a principal is shown its brokers, or was
        queried for that; None: never."""
        found = self._shown.get(principal)
        return None if found is None else self._clock() - found[1]

    # -- learning ----------------------------------------------------------------------------------

    def note_cluster(
        self,
        principal: str,
        number: int,
        brokers: tuple[FarBroker, ...],
        cluster_id: str | None,
        controller_id: int,
    ) -> None:
        """Note the cluster in an answer to a principal; without brokers the principal sees
        nothing."""
        self.note_shown(principal, shown=bool(brokers))
        if not brokers:
            return
        known = self.number, self.brokers, self.cluster_id, self.controller_id
        found = number, brokers, cluster_id or self.cluster_id, controller_id
        if found != known:
            self.number, self.brokers, self.cluster_id, self.controller_id = found
            self.version += 1

    def note_shown(self, principal: str, *, shown: bool, at: float | None = None) -> None:
        """Note whether the owner shows a principal its brokers; ``at`` is a time of the clock
        (None: now)."""
        at = self._clock() if at is None else at
        if shown != self._shown.get(principal, (False, 0.0))[0]:
            self.version += 1
        _put(self._shown, principal, (shown, at), MAX_PRINCIPALS)

    def note_denied(self, principal: str) -> None:
        """Note that a gateway on the way does not accept a principal. From now on the principal
        sees nothing, not even topics that it has seen before."""
        if principal not in self._denied:
            self.version += 1
        self.note_shown(principal, shown=False)
        _put(self._denied, principal, None, MAX_PRINCIPALS)

    def note_accepted(self, principal: str) -> None:
        """Note that the owner answers a principal's requests."""
        if principal in self._denied:
            del self._denied[principal]
            self.version += 1

    def note_topic(
        self,
        principal: str,
        name: LogicalName,
        topic_id: bytes | None,
        partitions: int,
        operations: int | None = None,
        *,
        host: str | None = None,
    ) -> None:
        """Note a topic that a principal was shown. ``operations`` (bits; None: not reported) are
        allowed from ``host`` (None: the host is no longer known)."""
        before = self._topics.pop((principal, name), None)
        if host is not None:
            self._missing.pop((principal, host, name), None)
            self._note_rights(principal, host, name, operations)
        if before is not None:
            topic_id = topic_id or before.topic_id
            if operations is None and (before.operations or 0) & _DESCRIBE:
                operations = before.operations
        topic = self._topics[principal, name] = FarTopic(topic_id, partitions, operations)
        if len(self._topics) > MAX_TOPICS:
            self._topics.popitem(last=False)
        if topic != before:
            self.version += 1
        if topic_id is not None:
            self._note_name(principal, topic_id, name)

    def deny_topic(self, principal: str, host: str, name: LogicalName) -> None:
        """Note that the owner does not authorize a principal to DESCRIBE a topic, even a topic that
        does not exist."""
        _put(self._rights, (principal, host, name), (0, self._clock()), MAX_RIGHTS)
        self._missing.pop((principal, host, name), None)
        seen = self._topics.get((principal, name))
        if seen is not None and seen.operations != 0:
            self._topics[principal, name] = seen._replace(operations=0)
            self.version += 1

    def forget_topic(self, principal: str, name: LogicalName) -> None:
        """Note that the owner knows no topic of this name for a principal."""
        if self._topics.pop((principal, name), None) is not None:
            self.version += 1

    def note_missing(self, principal: str, host: str, name: LogicalName) -> None:
        """Note that the owner has no such topic, so that its earlier reports of rights are void."""
        self._rights.pop((principal, host, name), None)
        _put(self._missing, (principal, host, name), self._clock(), MAX_RIGHTS)
        self.forget_topic(principal, name)

    def forget_id(self, principal: str, topic_id: bytes) -> None:
        """Note that the owner knows no topic of this id for a principal. If the topic was made anew
        under the same name, it has another id, and stays."""
        name = self._names.pop((principal, topic_id), None)
        topic = None if name is None else self._topics.get((principal, name))
        if name is not None and topic is not None and topic.topic_id == topic_id:
            self.forget_topic(principal, name)

    def _note_rights(
        self, principal: str, host: str, name: LogicalName, operations: int | None
    ) -> None:
        key = (principal, host, name)
        if operations is not None:
            _put(self._rights, key, (operations, self._clock()), MAX_RIGHTS)
        elif key in self._rights and not self._rights[key][0] & _DESCRIBE:
            del self._rights[key]  # the topic was described, so the principal has more rights now

    def _note_name(self, principal: str, topic_id: bytes, name: LogicalName) -> None:
        before = self._names.get((principal, topic_id))
        if before is not None and before != name and not _is_one_topic(before, name):
            seen = self._topics.get((principal, before))
            if seen is not None and seen.topic_id == topic_id:
                self.forget_topic(principal, before)  # the topic was moved
        for key in ((principal, topic_id), (_ANYBODY, topic_id)):
            _put(self._names, key, name, 2 * MAX_TOPICS)


def _is_one_topic(one: LogicalName, other: LogicalName) -> bool:
    """Whether two names are spellings of one flat name (``search..clicks`` may be read as a topic
    of the default namespace, see :mod:`gateway.tree.far_names`)."""
    try:
        return encode(one) == encode(other)
    except InvalidName:
        return False


def _put(found: OrderedDict[_K, _V], key: _K, value: _V, most: int) -> None:
    """Set a value as the newest; the oldest values beyond ``most`` are dropped."""
    found[key] = value
    found.move_to_end(key)
    if len(found) > most:
        found.popitem(last=False)
