"""gateway.views.closed_view: nothing is shown, and the error for every name is retriable."""

from __future__ import annotations

from gateway.catalog.snapshot import Snapshot
from gateway.decision import Denied, Resolved
from gateway.topic_ids import TopicIndex
from gateway.views.closed_view import ClosedView
from gateway.views.view import View, ViewSettings

SNAPSHOT = Snapshot.of(["team-a"])
SETTINGS = ViewSettings("test")
LEADER_NOT_AVAILABLE, COORDINATOR_NOT_AVAILABLE = 5, 15
TOPIC_ID = bytes(range(16))


def test_nothing_is_shown() -> None:
    closed, index = ClosedView(SETTINGS, SNAPSHOT), TopicIndex()
    index.learn(b"team-a..x", TOPIC_ID)
    assert View(SETTINGS, SNAPSHOT).flat_of_id(TOPIC_ID, index) == b"team-a..x"
    assert closed.flat_of_id(TOPIC_ID, index) is None
    assert closed.spell(b"team-a..x") is None
    assert closed.namespace_named("team-a:") is None
    assert closed.spell_namespace("team-a") is None


def test_what_is_named_is_to_be_tried_again() -> None:
    """By errors that clients retry."""
    closed = ClosedView(SETTINGS, SNAPSHOT)
    for found, code in (
        (closed.resolve(b"team-a:x"), LEADER_NOT_AVAILABLE),
        (closed.group_to_broker(b"app"), COORDINATOR_NOT_AVAILABLE),
        (closed.transactional_id_to_broker(b"tx"), COORDINATOR_NOT_AVAILABLE),
    ):
        assert isinstance(found, Denied)
        assert (found.code, found.rule) == (code, "stale")
        assert "catalog.max_staleness" in found.message


def test_it_opens_with_the_next_snapshot() -> None:
    opened = ClosedView(SETTINGS, SNAPSHOT).successor(SNAPSHOT)
    assert not opened.closed
    assert isinstance(opened.resolve(b"team-a:x"), Resolved)
