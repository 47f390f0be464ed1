"""Links with an end in a catalog's records: before format 6 they stand in their topic's record.

An older gateway reads a moved topic and its former names from one record, so a decision on such a
catalog is written with the links in the topics' records. The record that raises the format is
followed by new records of those topics, and by records of the links.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from gateway.catalog.entities import (
    Alias,
    CatalogFormat,
    Change,
    Key,
    Link,
    Removal,
    TopicEntry,
    key_of,
)
from gateway.catalog.schema.table import END_FORMAT
from gateway.catalog.snapshot import Snapshot
from protocol.pausing import paced


def as_records(before: Snapshot, changes: Sequence[Change]) -> Sequence[Change]:
    """The changes of a decision on ``before``, as records of the catalog's format hold them."""
    if before.format >= END_FORMAT:
        return changes
    for at, change in paced(enumerate(changes)):
        if isinstance(change, CatalogFormat) and change.level >= END_FORMAT:
            former = _in_topics(before, changes[:at])
            return [*former, change, *_apart(before.apply(former, 0)), *changes[at + 1 :]]
    return _in_topics(before, changes)


def _in_topics(before: Snapshot, changes: Sequence[Change]) -> Sequence[Change]:
    """The changes with the links with an end in their topics' records."""
    flats = {flat for change in paced(changes) if (flat := _topic_of_end(before, change))}
    topics = [change for change in changes if key_of(change)[0] == TopicEntry.KIND]
    entries = {key_of(change)[1] for change in topics}
    flats |= {flat for flat in entries if before.ending(flat)}
    if not flats:
        return changes
    after = before.apply(changes, 0)
    records: dict[Key, Change] = {}
    for change in paced(changes):
        key = key_of(change)
        flat = key[1] if key[0] == TopicEntry.KIND else _topic_of_end(before, change)
        if flat not in flats:
            records[key] = change
            continue
        if isinstance(change, Link) and change == before.links.get(change.name):
            if flat in entries:
                continue
            # Only to put a record in place of junk, which has the link's key.
            records[key] = Removal(key)
        records.setdefault((TopicEntry.KIND, flat), _with_ends(after, flat))
    return [*records.values()]


def _topic_of_end(before: Snapshot, change: Change) -> str:
    """The flat name of the topic of a link with an end that is changed; empty for any other
    change."""
    kind, name = key_of(change)
    link = change if isinstance(change, Link) else before.entity((kind, name))
    return link.flat if kind == Link.KIND and isinstance(link, Link) and link.until else ""


def _with_ends(after: Snapshot, flat: str) -> Change:
    entry = after.topics.get(flat)
    if entry is None:
        return Removal((TopicEntry.KIND, flat))
    ends = after.ending(flat)
    return replace(entry, aliases=tuple(Alias(one.name, one.until, one.topic_id) for one in ends))


def _apart(snapshot: Snapshot) -> list[Change]:
    """Records in which the links with an end stand by themselves, and their topics without them."""
    links = [link for link in snapshot.links.values() if link.until]
    flats = dict.fromkeys(link.flat for link in links)
    return [*(snapshot.topics[flat] for flat in flats if flat in snapshot.topics), *links]
