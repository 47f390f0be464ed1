"""Where a topic goes: fresh flat names, and the catalog's entry once it was made."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.catalog.entities import Removal, TopicEntry
from gateway.catalog.snapshot import Snapshot
from gateway.changes.base.rejected import Rejected
from gateway.changes.topics.create_plan import Planned, fresh_flat, plan, reserved, settled
from gateway.names import MAX_FLAT_LENGTH, LogicalName, flat_prefix
from gateway.views.view import View, ViewSettings
from protocol import messages
from protocol.messages import element_class, make

NOW = 1_700_000_000_000
TOPIC = element_class(messages.message_class("CreateTopicsRequest", 7), "topics")
HELD = TopicEntry("org..x", LogicalName("", "moved"))


def planned(snapshot: Snapshot, name: str) -> Planned:
    asked: Any = make(TOPIC, {"name": name})
    return plan(View(ViewSettings("test"), snapshot), asked, NOW, lambda _: False)


def code_of(rejected: pytest.ExceptionInfo[Rejected]) -> int:
    return rejected.value.why.code


@given(st.text("ab._-", min_size=1, max_size=249), st.sampled_from(["", "a", "a:b", "b" * 240]))
def test_a_fresh_name_is_legal_and_in_nobodys_way(topic: str, namespace: str) -> None:
    snapshot = Snapshot.of(["a:b", "b", "b" * 240])
    topic = topic[: MAX_FLAT_LENGTH - len(flat_prefix(namespace))]
    if topic in {".", ".."}:
        topic += "a"
    flat = fresh_flat(snapshot, LogicalName(namespace, topic), lambda _: False)
    assert 0 < len(flat) <= MAX_FLAT_LENGTH
    assert snapshot.folds_into(flat) in (None, namespace)
    assert snapshot.owner(flat).namespace in ("", namespace)


def test_a_fresh_name_is_none_that_exists() -> None:
    asked: list[str] = []

    def exists(flat: str) -> bool:
        asked.append(flat)
        return len(asked) < 3

    flat = fresh_flat(Snapshot.of(["org"]), LogicalName("org", "x"), exists)
    assert flat == asked[-1]
    assert len(set(asked)) == 3
    assert flat.startswith("org..x.")


def test_a_reservation_is_rejected_when_the_name_has_changed_hands() -> None:
    before = Snapshot.of(["org"], topics=[HELD])
    item = planned(before, "org:x")
    assert item.reserve
    assert reserved(before, item) == item.entry
    with pytest.raises(Rejected) as rejected:
        reserved(before.apply([Removal(("topic", "org..x"))], 2), item)
    assert code_of(rejected) == 7
    with pytest.raises(Rejected) as rejected:
        reserved(before.apply([TopicEntry("f", LogicalName("org", "x"))], 2), item)
    assert code_of(rejected) == 36


def test_a_reservation_that_was_cleared_away_is_made_again() -> None:
    before = Snapshot.of(["org"], topics=[HELD])
    item = planned(before, "org:x")
    assert item.entry is not None
    made = replace(item.entry, creating=False)
    assert settled(before, item, NOW) == made
    assert settled(before.apply([item.entry], 2), item, NOW) == made
    assert settled(before.apply([made], 2), item, NOW) is None
    with pytest.raises(Rejected) as rejected:
        settled(before.apply([Removal(("topic", "org..x"))], 2), item, NOW)
    assert code_of(rejected) == 7


def test_nothing_is_said_of_a_topic_that_its_name_says_all_of() -> None:
    snapshot = Snapshot.of(["org"])
    assert settled(snapshot, planned(snapshot, "org:x"), NOW) is None
    assert planned(snapshot, "org:x").needs_check
    assert not planned(snapshot, "x").needs_check


def test_a_leftover_entry_goes() -> None:
    stale = TopicEntry("org..x", LogicalName("org", "x"), bytes(16), own_configs=("a",), since=NOW)
    snapshot = Snapshot.of(["org"], topics=[stale])
    assert settled(snapshot, planned(snapshot, "org:x"), NOW) == Removal(("topic", "org..x"))
