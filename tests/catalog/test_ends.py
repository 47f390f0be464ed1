"""Links with an end in a log: written as every gateway of its format reads them, and read again."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, cast

from hypothesis import given, settings
from hypothesis import strategies as st

from gateway.catalog.entities import (
    Alias,
    CatalogFormat,
    Change,
    Link,
    Removal,
    TopicEntry,
    key_of,
)
from gateway.catalog.log.batch import Batch, Waiting
from gateway.catalog.log.records import Record, decode, encode
from gateway.catalog.log.replay import Replay
from gateway.catalog.log.signatures import Place
from gateway.catalog.members import raise_format
from gateway.catalog.schema.table import END_FORMAT, FREEZE_FORMAT
from gateway.catalog.snapshot import Snapshot
from gateway.changes.base.inherited import removed_topic
from gateway.names import LogicalName
from tests.examples import examples

A, B, C = (LogicalName("org", letter) for letter in "abc")
NAMES = [A, B, C]
FLATS = ["org..a", "org..b"]
IDS = [bytes([number]) * 16 for number in range(9)]

Step = tuple[str, str, LogicalName, int]
steps = st.tuples(
    st.sampled_from(["topic", "end", "end", "link", "cut", "delete", "raise"]),
    st.sampled_from(FLATS),
    st.sampled_from(NAMES),
    st.integers(0, 8),
)


def changes_of(snapshot: Snapshot, step: Step) -> list[Change]:
    """A decision of a gateway: a link has one topic, and a topic's links with an end go with it."""
    what, flat, name, number = step
    there = snapshot.links.get(name)
    if what == "raise":
        return [] if snapshot.format >= END_FORMAT else [CatalogFormat(END_FORMAT)]
    named = any(each.name == name for each in snapshot.topics.values())
    free_id = IDS[number] if snapshot.by_topic_id(IDS[number]) is None else None
    if what == "topic":
        if named or (there is not None and not (there.until and there.flat == flat)):
            return []
        back: list[Change] = [] if there is None else [Removal(key_of(there))]
        topic_id = free_id if there is None else there.topic_id
        return [*back, TopicEntry(flat, name, topic_id, since=snapshot.version)]
    if what == "delete":
        entry = snapshot.topics.get(flat)
        return [] if entry is None else removed_topic(snapshot, entry)
    if what == "cut":
        return [] if there is None else [Removal(key_of(there))]
    if named or there is not None or flat not in snapshot.topics:
        return []
    if what == "end":
        return [Link(name, flat, free_id, until=number + 1)]
    return [] if free_id is None else [Link(name, flat, free_id)]


def written(decisions: Sequence[Step]) -> tuple[Batch, list[Record]]:
    """A writer's batch of these decisions, and its records at their offsets."""
    batch = Batch(Snapshot(), "", 0)
    decide(batch, [CatalogFormat(FREEZE_FORMAT)])
    for step in decisions:
        decide(batch, changes_of(batch.draft, step))
    assert not batch.rejections
    return batch, [record._replace(offset=at) for at, record in enumerate(batch.records)]


def decide(batch: Batch, changes: Sequence[Change]) -> None:
    batch.decide(Waiting(lambda _: changes, cast(Any, None), 0.0))


def read(records: Sequence[Record]) -> Replay:
    replay = Replay()
    replay.take(records)
    replay.reach_end()
    return replay


def compacted(records: Sequence[Record]) -> list[Record]:
    """The log once the broker has kept the newest record of each key, and no tombstone."""
    newest = {record.key: record for record in records}
    kept = (record for record in records if newest[record.key] is record)
    return [record for record in kept if record.value is not None]


def meaning(snapshot: Snapshot) -> tuple[object, ...]:
    names = [(name, snapshot.flat_of(name), snapshot.decides(name)) for name in NAMES]
    ids = [snapshot.by_topic_id(topic_id) for topic_id in IDS]
    return (snapshot.held, names, ids, snapshot.size)


def test_an_older_gateway_reads_them_in_the_record_of_their_topic() -> None:
    decisions: list[Step] = [("topic", "org..a", B, 1), ("end", "org..a", A, 4)]
    _, records = written(decisions)
    assert {record.key for record in records} == {b"format", b"topic/org..a"}
    value = json.loads(records[-1].value or b"")
    (alias,) = value["aliases"]
    assert alias == {"namespace": "org", "topic": "a", "until": 5, "topic_id": IDS[4].hex()}
    _, records = written([*decisions, ("cut", "org..a", A, 0)])
    assert "aliases" not in json.loads(records[-1].value or b"")


def test_raising_the_format_gives_them_records_of_their_own() -> None:
    decisions: list[Step] = [("topic", "org..a", B, 1), ("end", "org..a", A, 4)]
    batch, records = written(decisions)
    decide(batch, raise_format(END_FORMAT)(batch.draft))
    raised, topic, link = batch.records[len(records) :]
    assert [one.key for one in (raised, topic, link)] == [b"format", b"topic/org..a", b"link/org:a"]
    assert "aliases" not in json.loads(topic.value or b"")
    assert json.loads(link.value or b"") == {"flat": "org..a", "topic_id": IDS[4].hex(), "until": 5}


def test_a_record_of_a_topic_replaces_only_what_such_records_held() -> None:
    place = Place(1, 1, "0a", "09")
    change, _ = decode(encode(TopicEntry("org..a", B, None, (Alias(A, 5),)), place))
    snapshot = Snapshot().apply([change], 1)
    assert snapshot.links == {A: Link(A, "org..a", None, until=5)}
    own = snapshot.apply([Link(A, "org..a", None, until=6), TopicEntry("org..a", C, aliases=())], 2)
    assert own.links == {A: Link(A, "org..a", None, until=6)}
    assert not snapshot.apply([TopicEntry("org..a", C, aliases=())], 2).links
    assert not snapshot.apply([Removal(("topic", "org..a"))], 2).links


def test_a_link_of_an_older_catalog_is_no_link_without_an_end() -> None:
    entry = TopicEntry("org..a", B, None, (Alias(A, 0),))
    assert Snapshot().apply([entry], 1).links[A].until == 1


def test_junk_at_a_link_s_key_is_replaced() -> None:
    batch, records = written([("topic", "org..a", B, 1), ("end", "org..a", A, 4)])
    decide(batch, [batch.draft.links[A]])
    again = batch.records[len(records) :]
    assert [(one.key, one.value is None) for one in again] == [
        (b"link/org:a", True),
        (b"topic/org..a", False),
    ]
    assert A in batch.draft.links


@settings(max_examples=examples(200), deadline=None)
@given(st.lists(steps, max_size=12))
def test_every_reader_comes_to_the_writer_s_state(decisions: list[Step]) -> None:
    batch, records = written(decisions)
    for log in (records, compacted(records)):
        replay = read(log)
        assert meaning(replay.snapshot) == meaning(batch.draft)
        assert log is not records or not replay.missing
    raised = next((at for at, step in enumerate(decisions) if step[0] == "raise"), len(decisions))
    for record in written(decisions[:raised])[1]:
        assert not (record.key or b"").startswith(b"link/") or b"until" not in (record.value or b"")
