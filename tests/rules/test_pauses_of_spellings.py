"""Loops over the second spellings of a long request, and over its absolute ids, have pauses."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from gateway.decision import Denied
from gateway.rules import item_lists, partial
from gateway.rules.declaration import DESCRIBE, Needs
from gateway.rules.item_lists import KeptItems, RequestedItem
from gateway.rules.partial import KeptTopics, TopicList
from gateway.rules.rename import GROUP_ID, OF_ID, RequestRenamer
from gateway.rules.topic_entries import SPELLING, RequestedTopic
from gateway.topic_ids import TopicIndex
from gateway.views.access import Access
from protocol import pausing
from protocol.pausing import EVERY
from protocol.walkers import Span
from tests.rules.apis import api_named
from tests.views.trees import mounts, tree_view

MANY = 20 * EVERY
OTHER = Denied(42, "Something else.", SPELLING)
LA = "la:tracking"


@contextmanager
def pauses() -> Iterator[list[None]]:
    counted: list[None] = []
    pausing.on_pause(lambda: counted.append(None))
    try:
        yield counted
    finally:
        pausing.on_pause(None)


@pytest.mark.parametrize("lists", [1, MANY])
def test_contradictory_topics(lists: int) -> None:
    api = api_named("Metadata")
    shape = api.topic_shape(12)
    assert shape is not None
    names = [f"t{number}" for number in range(MANY)]
    topics = tuple(RequestedTopic(name, None, (), OTHER, "t") for name in names)
    in_each = MANY // lists
    kept = KeptTopics(
        api,
        shape,
        12,
        tuple(TopicList(None, topics[at : at + in_each]) for at in range(0, MANY, in_each)),
        answered=True,
    )
    aliases = {name.encode(): b"t" for name in names[1:]}
    with pauses() as counted:
        found = list(partial.contradictions(kept, aliases))
    assert found == [(name.encode(), OTHER) for name in names[1:]]
    assert len(counted) == MANY / EVERY


def test_contradictory_ids() -> None:
    api = api_named("DescribeGroups")
    shape = api.item_shape(5)
    assert shape is not None
    ids = [str(number).encode() for number in range(MANY)]
    items = tuple(RequestedItem(one, b"g", OTHER) for one in ids)
    with pauses() as counted:
        found = list(
            item_lists.contradictions(KeptItems(api, shape, 5, items), dict.fromkeys(ids, b"g"))
        )
    assert found == [(one, OTHER) for one in ids]
    assert len(counted) == MANY / EVERY


def test_absolute_ids() -> None:
    """In a tree each id is decided, and then the client's spelling of it is kept."""
    view = tree_view(mounts(LA, "ny"), LA, LA)
    access, index = Access(view, "", ""), TopicIndex()
    renamer = RequestRenamer(access, Needs(group=DESCRIBE), index, True, {})
    ids = [f":{LA}:g{number}".encode() for number in range(MANY)]
    spans: list[Span] = [(GROUP_ID, 0, 0, one) for one in ids]
    with pauses() as counted:
        renamer.add(spans)
    own = [OF_ID + f"g{number}".encode() for number in range(MANY)]
    assert renamer.spelled_ids == dict(zip(own, ids, strict=True))
    assert len(counted) == 3 * MANY / EVERY
