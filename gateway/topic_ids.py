"""The topics of a cluster and their ids: name to id and id to name (KIP-516).

No I/O: it is filled by listings (``replace``) and, between two listings, by responses that pass
through the gateway (``learn``, ``forget``). Names are the broker's (flat), UTF-8 without a length
prefix; ids are the 16 bytes of the wire. If brokers are older than Kafka 2.8, they have no ids, and
topics are known by name only.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable, Collection, Iterable, Mapping
from functools import partial

from protocol.pausing import paced

ID_LENGTH = 16
_NO_ID = bytes(ID_LENGTH)
# Deleted topics whose id is still resolved, and deleted ids that a late listing cannot bring back.
_RETIRED_LIMIT = 10_000
_DELETED_LIMIT = 10_000
_EVERY = 256
"""Topics between two pause points: 0.2 ms."""


class TopicIndex:
    """The topics of a cluster, as of the last listing and the responses since.

    ``name_of`` also knows topics that were deleted a while ago: the name cannot be wrong, because
    Kafka never reuses an id, and a client that still uses the old id gets the broker's own
    UNKNOWN_TOPIC_ID. ``exists``, ``id_of`` and ``names`` know only topics that exist.

    A broker's listing may lag behind the cluster's last responses, because in KRaft each broker
    follows the metadata log at its own pace. So a topic that was learnt or forgotten less than
    ``settle_time`` seconds before a listing was requested overrides the listing. A known topic that
    is learnt again while a listing is requested and read stays, even if the listing lacks it.

    ``version`` grows if the set of names changes, and only then: results computed from the names
    (the matches of a regex, a listing) are valid until then. ``partitions`` are the counts of the
    last listing, by flat name; the mapping is replaced as a whole.
    """

    __slots__ = (
        "_clock",
        "_confirmed",
        "_deleted_ids",
        "_id_of",
        "_learnt",
        "_listed",
        "_name_of",
        "_recent",
        "_retired",
        "_settle_time",
        "partitions",
        "version",
    )

    def __init__(
        self, settle_time: float = 1.0, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        """``clock`` returns seconds since any fixed point."""
        self.version = 0
        self.partitions: Mapping[bytes, int] = {}
        self._id_of: dict[bytes, bytes | None] = {}
        self._name_of: dict[bytes, bytes] = {}
        # As ordered sets, oldest first: both are cut to their limits from the front.
        self._retired: OrderedDict[bytes, None] = OrderedDict()
        self._deleted_ids: OrderedDict[bytes, None] = OrderedDict()
        self._settle_time = settle_time
        self._clock = clock
        # The last listing, if the index holds exactly its content.
        self._listed: object = None
        # Topics learnt and forgotten while a listing is read into a copy, else None.
        self._learnt: list[Callable[[], None]] | None = None
        self._recent: dict[bytes, float] = {}  # name -> when it was learnt or forgotten last
        # Known topics that were learnt again since the last mark, until its listing is in.
        self._confirmed: dict[bytes, bytes | None] | None = None

    def name_of(self, topic_id: bytes) -> bytes | None:
        """The flat name that has, or lately had, this id, or None if the id is not known."""
        return self._name_of.get(topic_id)

    def id_of(self, flat: bytes) -> bytes | None:
        """The id of an existing topic, or None if there is no such topic or its id is not known."""
        return self._id_of.get(flat)

    def exists(self, flat: bytes) -> bool:
        """Whether the topic was in the last listing or was learnt since."""
        return flat in self._id_of

    def names(self) -> Collection[bytes]:
        """The flat names of all topics: a live, read-only view, in no particular order.

        It changes with the index, until the next listing is in: copy it before an await.
        """
        return self._id_of.keys()

    def mark(self) -> float:
        """This moment, for ``replace``: to be taken before the listing is requested."""
        self._confirmed = {}
        return self._clock()

    def learn(self, flat: bytes, topic_id: bytes | None) -> None:
        """Adds a topic of a response that passes (CreateTopics v7+, Metadata v10+).

        If the version at hand has no ids, ``topic_id`` is None or 16 zero bytes, and an id that is
        known already is kept. A deleted id is not learnt again.
        """
        known = self._id_of.get(flat)
        topic_id = known if topic_id is None or topic_id == _NO_ID else topic_id
        if flat in self._id_of and topic_id == known:
            if self._confirmed is not None and known not in self._deleted_ids:
                self._confirmed[flat] = known
            return
        if topic_id in self._deleted_ids:
            return
        if self._learnt is not None:
            self._learnt.append(partial(self.learn, flat, topic_id))
        self._note(flat)
        if flat not in self._id_of:
            self.version += 1
        self._set(flat, topic_id)

    def forget(self, flat: bytes, topic_id: bytes | None = None) -> None:
        """Removes a topic that was deleted through the gateway.

        With ``topic_id`` (DeleteTopics v6+ responds with it) it is exact: a topic that has been
        created anew under the name stays or may come, and no listing brings the deleted topic back.
        """
        self._listed = None
        if self._learnt is not None:
            self._learnt.append(partial(self.forget, flat, topic_id))
        if topic_id is None or topic_id == _NO_ID:
            self._note(flat)
        else:
            self._deleted_ids[topic_id] = None
            if len(self._deleted_ids) > _DELETED_LIMIT:
                self._deleted_ids.popitem(last=False)
            if self._id_of.get(flat) not in (None, topic_id):
                return
        if self._confirmed:
            self._confirmed.pop(flat, None)
        if flat in self._id_of:
            self._remove(flat)
            self.version += 1

    def replace(
        self,
        listing: Iterable[tuple[bytes, bytes | None]],
        mark: float | None = None,
        partitions: Mapping[bytes, int] | None = None,
    ) -> None:
        """Makes a whole listing the content of the index: (name, id) pairs, and each name's
        partition count.

        ``mark`` was taken before the listing was requested. Without a mark, the listing overrides
        everything learnt or forgotten.
        """
        confirmed = {} if mark is None or self._confirmed is None else self._confirmed
        self._confirmed = None
        if partitions is not None and _differ(partitions, self.partitions):
            self.partitions = partitions
        settled = self._clock() if mark is None else mark - self._settle_time
        newer = {name for name, at in self._recent.items() if at > settled}
        wanted = {
            name: None if topic_id == _NO_ID else topic_id
            for name, topic_id in paced(listing, _EVERY)
            if name not in newer and topic_id not in self._deleted_ids
        }
        known = paced(self._id_of, _EVERY)
        lacking = [name for name in known if name not in wanted and name not in newer]
        gone: list[bytes] = []
        kept: list[bytes] = []
        for name in paced(lacking, _EVERY):
            (kept if name in confirmed else gone).append(name)
        names_before = len(self._id_of)
        for name in paced(gone, _EVERY):
            self._remove(name)
        for name, topic_id in paced(wanted.items(), _EVERY):
            self._set(name, topic_id)
        if gone or len(self._id_of) != names_before:
            self.version += 1
        # A name that has settled now has also settled for later listings.
        self._recent = {name: self._recent[name] for name in newer}
        self._listed = None if newer else listing
        for name in paced(kept, _EVERY):
            self._note(name)

    def replace_in_slices(
        self,
        listing: Collection[tuple[bytes, bytes | None]],
        mark: float,
        partitions: Mapping[bytes, int],
    ) -> None:
        """Like ``replace``, with pause points; 200,000 topics take 0.2 s. The index keeps its
        content, and learns topics, until the whole listing is read. Only for one listing at a time,
        which must not be changed, because the same listing again is skipped."""
        if listing is self._listed and partitions is self.partitions:
            self._confirmed = None
            return
        confirmed = self._confirmed = self._confirmed or {}
        made = self._copied()
        made._confirmed = confirmed
        version = made.version
        learnt = self._learnt = []
        try:
            made.replace(listing, mark, partitions)
            # Some were confirmed after `replace` had come to them, and the last of them meanwhile.
            late = self._confirmed = {}
            made._keep(paced(confirmed.items(), _EVERY))
            made._keep(late.items())
        finally:
            self._learnt = self._confirmed = None
        self.version += made.version - version
        self.partitions = made.partitions
        self._id_of, self._name_of = made._id_of, made._name_of
        self._retired, self._deleted_ids = made._retired, made._deleted_ids
        self._recent, self._listed = made._recent, made._listed
        # Topics learnt meanwhile are newer than the listing.
        for learn in learnt:
            learn()

    def _copied(self) -> TopicIndex:
        """A copy of the index, which takes some ms for 200,000 topics."""
        made = TopicIndex(self._settle_time, clock=self._clock)
        made.version, made.partitions = self.version, self.partitions
        made._id_of, made._name_of = self._id_of.copy(), self._name_of.copy()
        made._retired, made._deleted_ids = self._retired.copy(), self._deleted_ids.copy()
        made._recent = self._recent.copy()
        return made

    def _keep(self, confirmed: Iterable[tuple[bytes, bytes | None]]) -> None:
        """Add the topics that the listing lacks."""
        for flat, topic_id in confirmed:
            if flat not in self._id_of:
                self.learn(flat, topic_id)

    def _note(self, flat: bytes) -> None:
        self._listed = None
        self._recent[flat] = self._clock()

    def _set(self, flat: bytes, topic_id: bytes | None) -> None:
        known = self._id_of.get(flat)
        self._id_of[flat] = topic_id
        if known == topic_id:
            return
        if known is not None:
            self._retire(known)
        if topic_id is not None:
            self._name_of[topic_id] = flat
            self._retired.pop(topic_id, None)

    def _remove(self, flat: bytes) -> None:
        topic_id = self._id_of.pop(flat)
        if topic_id is not None:
            self._retire(topic_id)

    def _retire(self, topic_id: bytes) -> None:
        self._retired[topic_id] = None
        if len(self._retired) > _RETIRED_LIMIT:
            oldest, _ = self._retired.popitem(last=False)
            del self._name_of[oldest]


def _differ(one: Mapping[bytes, int], other: Mapping[bytes, int]) -> bool:
    """Whether two mappings differ, with pause points: large mappings take a while."""
    if one is other:
        return False
    if len(one) != len(other):
        return True
    return any(other.get(name) != count for name, count in paced(one.items(), _EVERY))
