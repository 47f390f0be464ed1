"""The memory of a broker for what the gateway forwards: what has been done to each topic, group and
transactional id, and what a request names.

It knows messages by kio's schema, not by the product's tables.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, is_dataclass
from typing import Any, Final
from uuid import UUID
from zlib import crc32

from protocol.schema import FieldSpec, StructSpec
from tests.changes.fake_broker import FakeBroker

READS: Final = re.compile("Describe|List|Metadata|Fetch|Find|ApiVersions|OffsetF|.*Describe$")
"""The APIs that change nothing at a broker."""


@dataclass
class Named:
    """What a request names, in its order."""

    topics: list[str | UUID] = field(default_factory=list)
    groups: list[str] = field(default_factory=list)
    ids: list[str] = field(default_factory=list)
    keys: list[str] = field(default_factory=list)
    resources: list[tuple[int, str]] = field(default_factory=list)
    members: list[bytes] = field(default_factory=list)
    everything: bool = False  # nothing is named, or null


@dataclass
class Memory:
    """What a broker has of all tenants: ``done`` maps a name to a checksum of all that changed it;
    ``groups`` and ``ids`` map groups and transactional ids to their topics. ``hidden`` are topics
    of both tenants that stand in every group and error text."""

    topics: FakeBroker
    hidden: Sequence[str]
    done: dict[str, int] = field(default_factory=dict)
    groups: dict[str, set[str]] = field(default_factory=dict)
    ids: dict[str, set[str]] = field(default_factory=dict)

    def flat(self, topic: str | UUID) -> str | None:
        """The topic of a name or id, if it exists."""
        if isinstance(topic, str):
            return topic if topic in self.topics.topics else None
        ids = {each.topic_id: name for name, each in self.topics.topics.items()}
        return ids.get(topic.bytes)

    def id_of(self, flat: str | None) -> UUID | None:
        """The id of a topic that exists."""
        found = self.topics.topics.get(flat or "")
        return None if found is None else UUID(bytes=found.topic_id)

    def change(self, api: str, named: Named, body: bytes) -> None:
        """Remember what a request does to all that it names."""
        if READS.match(api):
            return
        flats = [flat for topic in named.topics if (flat := self.flat(topic)) is not None]
        resources = [name for _, name in named.resources]
        for name in (*flats, *named.groups, *named.ids, *named.keys, *resources):
            self.done[name] = crc32(body, self.done.get(name, 0))
        for group in named.groups:
            self.groups.setdefault(group, set()).update(flats)
        for transactional_id in named.ids:
            self.ids.setdefault(transactional_id, set()).update(flats)


def collect(named: Named, spec: StructSpec, entity: Any) -> None:
    """Add what a request, or a struct in it, names."""
    resource_type = 2
    for each in (*spec.fields, *spec.tagged):
        value = getattr(entity, each.name)
        of_topics = each.nominal == "TopicName" or (
            each.struct is not None
            and any(inner.nominal == "TopicName" for inner in each.struct.fields)
        )
        if value is None and each.array and of_topics:
            named.everything = True
        for one in value or () if each.array else (value,):
            if each.struct is not None:
                if is_dataclass(one):
                    collect(named, each.struct, one)
            elif each.name == "resource_type":
                resource_type = int(one)
            elif each.name == "resource_name":
                named.resources.append((resource_type, one))
            elif each.type == "bytes" and one:
                named.members.append(bytes(one))
            elif one is not None and one != "":
                _collect_name(named, each, one)


def _collect_name(named: Named, of: FieldSpec, value: Any) -> None:
    if of.nominal == "TopicName" or of.name == "topic_id":
        named.topics.append(value)
    elif of.nominal == "GroupId":
        named.groups.append(str(value))
    elif of.nominal == "TransactionalId":
        named.ids.append(str(value))
    elif of.name in ("key", "coordinator_keys"):
        named.keys.append(str(value))
