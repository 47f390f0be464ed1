"""Whatever pieces a client sends, a broker answers, and a catalog change brings, in any order: a
request is allowed when it reaches the broker, and stays allowed until the broker has answered."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from itertools import pairwise
from typing import Final

from hypothesis import given, settings
from hypothesis import strategies as st

from gateway.catalog.entities import Change, Namespace, TopicEntry
from gateway.names import LogicalName
from protocol.errors import ProtocolError
from tests.examples import examples
from tests.session import samples
from tests.session.allowing import Allowing
from tests.session.mutating import QUICK
from tests.session.pair import request_frame, topic_id
from tests.session.producing import batch, produce
from tests.session.test_decided_late import (
    ALL,
    FLAT,
    GONE,
    IDS,
    MOVED,
    NAME,
    OTHER,
    a_pair,
    named,
    on,
)

NEEDED: Final = {"Produce": "WRITE", "ListOffsets": "DESCRIBE", "DeleteRecords": "DELETE"}
SENT: Final = (
    *(("Produce", version) for version in (3, 9, 13)),
    *(("ListOffsets", 6), ("DeleteRecords", 2), ("Fetch", 12), ("Fetch", 13)),
)
TOPICS: Final = ((NAME, 1), (OTHER, 2), ("plain", 3))


class Story:
    """A session, the requests that its broker has not answered yet, and the operations allowed
    now."""

    def __init__(self) -> None:
        self.pair = a_pair()
        self.allowed = set(ALL)
        self.written = b""  # bytes to the broker that it has not answered
        self.ended = False

    def in_flight(self) -> Iterator[tuple[str, set[str]]]:
        """The API, and the logical names that the broker reads, of each request whose first bytes
        it has got; a request that has not wholly arrived is read as if it had."""
        data = self.written
        while len(data) > 8:
            size = 4 + int.from_bytes(data[:4], "big")
            payload = data[4:size].ljust(size - 4, b"\0")
            data = data[size:]
            api = (
                ["Produce", "Fetch", "ListOffsets"][payload[1]]
                if payload[1] < 3
                else "DeleteRecords"
            )
            yield api, set(map(self._logical, named(payload)))

    def _logical(self, value: bytes) -> str:
        if len(value) == 16:
            value = self.pair.facts.index.name_of(value) or b""
        if value in (b"app", b"tx"):
            return ""
        return str(self.pair.catalog.snapshot.owner(value.decode()))

    def check(self, *, fetches: bool) -> None:
        """Assert that every operation that the broker may still carry out is allowed now."""
        for api, names in self.in_flight():
            if api == "Fetch" and not fetches:
                continue  # its client gets none of the records: see test_access_changes
            needed = NEEDED.get(api, "READ")
            for name in names - {""}:
                assert f"{needed} TOPIC {name}" in self.allowed, (api, name)

    def send(self, data: bytes) -> None:
        """Send bytes from the client; a request is allowed when it reaches the broker."""
        with suppress(ProtocolError):
            self.pair.send(data)
            self.written += self.pair.to_broker()
            self.check(fetches=False)
            return
        self.ended = True

    def answer(self) -> None:
        """Let the broker answer every request that has wholly arrived, and the requests behind
        them."""
        if self.pair.session.streaming:
            return
        try:
            data = self.written = self.pair.let_answer()
        except ProtocolError:
            self.ended = True
            return
        self.check(fetches=True)
        while len(data) >= 4 and len(data) >= (size := 4 + int.from_bytes(data[:4], "big")):
            data = data[size:]
        self.written = data
        self.pair.to_client()

    def change(self, allowed: list[str], changes: list[Change]) -> None:
        """Change the catalog; from here on only ``allowed`` operations may be carried out."""
        self.allowed = set(allowed)
        self.pair.authorizer = Allowing(allowed)
        self.pair.log.append(changes)
        self.pair.catalog_changed()
        self.ended |= self.pair.reset
        if not self.ended:
            self.check(fetches=False)


@st.composite
def requests(draw: st.DrawFn) -> bytes:
    api, version = draw(st.sampled_from(SENT))
    name, number = draw(st.sampled_from(TOPICS))
    if api == "Produce":
        records = batch(1) + bytes(draw(st.sampled_from([0, 5_000])))
        key = name if version < 13 else str(number)
        entity = produce({key: [records]}, version, acks=draw(st.sampled_from([0, 1, -1])))
    else:
        entity = samples.request(api, version, name, topic_id(number))
    return request_frame(api, version, entity)


RIGHTS: Final = st.lists(st.sampled_from(TOPICS), max_size=3).map(
    lambda topics: [*on(*(name for name, _ in topics)), *IDS]
)
MOVES: Final = st.sampled_from(
    [
        [],
        [],
        [MOVED],
        [TopicEntry(FLAT, LogicalName("team-a", "orders"))],
        [GONE],
        [Namespace("team-a")],
    ]
)


@settings(QUICK, max_examples=examples(400))
@given(
    sent=st.lists(requests(), min_size=1, max_size=5),
    cuts=st.lists(st.floats(0, 1), max_size=6),
    events=st.lists(st.tuples(RIGHTS, MOVES) | st.none(), max_size=8),
)
def test_what_reaches_the_broker_is_allowed_then(
    sent: list[bytes], cuts: list[float], events: list[tuple[list[str], list[Change]] | None]
) -> None:
    story, data = Story(), b"".join(sent)
    places = sorted({0, len(data), *(int(cut * len(data)) for cut in cuts)})
    moments = iter(events)
    for begin, end in pairwise(places):
        story.send(data[begin:end])
        for event in (next(moments, None), next(moments, None)):
            if story.ended:
                return
            if event is None:
                story.answer()
            else:
                story.change(*event)
        if story.ended:
            return
