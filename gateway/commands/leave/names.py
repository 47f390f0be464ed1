"""The names that topics, groups and transactional ids have at the brokers
after the gateway is left.

Either they keep their flat names, and nothing is copied, or names spelled after a namespace become
plain names: the tiers and the rest, joined by dots (``org:apache:orders``: ``org.apache.orders``).
If a topic has a flat name of its own, as an adopted topic has, it keeps that name in any case.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass

from gateway.catalog.snapshot import Snapshot
from gateway.mirror_maker import EXCLUDE, EXCLUDE_BEFORE, excluded
from gateway.names import (
    DELIMITER,
    MAX_FLAT_LENGTH,
    InvalidName,
    decode,
    encode,
    flat_prefix,
    fold,
    is_reserved,
    owner_of_id,
)
from gateway.names import LogicalName as Name


@dataclass(frozen=True, slots=True)
class LeftTopic:
    """A topic that clients know by another name than the brokers."""

    name: Name
    """Its logical name."""
    flat: str
    becomes: str
    """Its name after the gateway is left: ``flat``, or another name, to which it is copied."""
    aliases: tuple[Name, ...] = ()
    links: tuple[Name, ...] = ()
    kept: str = ""
    """The reason why the topic keeps a flat name that belongs to a namespace although plain names
    were requested; else empty."""

    @property
    def is_copied(self) -> bool:
        """Whether the topic gets another name, so that its records have to be copied."""
        return self.flat != self.becomes


@dataclass(frozen=True, slots=True)
class LeftId:
    """A group, or a transactional id, of a home: ``stored`` is its name at the brokers now.
    ``kept`` is as for a topic."""

    namespace: str
    name: str
    stored: str
    becomes: str
    kept: str = ""


class Names:
    """Names after a gateway is left. If ``plain``, names spelled after a
    namespace become plain names."""

    def __init__(self, snapshot: Snapshot, flats: Iterable[str], *, plain: bool) -> None:
        self.plain = plain
        self._snapshot = snapshot
        self._all = [flat for flat in flats if not is_reserved(flat)]
        self.topics = {topic.flat: topic for topic in self._left_topics()}

    @property
    def flats(self) -> Collection[str]:
        """The flat names of all topics of clients, also of topics whose name does not change."""
        return self._all

    def prefix(self, namespace: str) -> str:
        """The prefix of the names of a namespace."""
        if not namespace or not self.plain:
            return flat_prefix(namespace)
        return namespace.replace(DELIMITER, ".") + "."

    def of_topic(self, flat: str) -> str:
        """The name of a topic that exists."""
        topic = self.topics.get(flat)
        return flat if topic is None else topic.becomes

    def of_named(self, name: Name) -> str:
        """The name of a topic by its logical name, whether or not the topic exists."""
        try:
            flat = self._snapshot.flat_of(name) or encode(name)
        except InvalidName:  # an ACL may have a name that no topic can have
            return self.prefix(name.namespace) + name.topic
        if flat in self.topics or flat in self._snapshot.topics:
            return self.of_topic(flat)
        return self.prefix(name.namespace) + name.topic

    def of_ids(self, stored: Iterable[str]) -> list[LeftId]:
        """The ids among these that belong to a home; all are groups, or all are transactional ids.

        Clients choose ids. So if another id has, or gets, an id's plain name, the id keeps its own
        name, because both would be members of the same group, or fence each other.
        """
        found = []
        taken = set(stored)
        for each in sorted(taken):
            owned = owner_of_id(each)
            if owned is None or owned[0] not in self._snapshot.namespaces:
                continue
            wanted = self.prefix(owned[0]) + owned[1] if self.plain else each
            kept = f"'{wanted}' is taken" if wanted != each and wanted in taken else ""
            becomes = each if kept else wanted
            taken.add(becomes)
            found.append(LeftId(*owned, each, becomes, kept))
        return found

    def _left_topics(self) -> Iterable[LeftTopic]:
        taken = {fold(flat): flat for flat in self._all}
        for flat in sorted(self._all):
            name = self._snapshot.owner(flat)
            entry = self._snapshot.topics.get(flat)
            links = self._snapshot.links_of(flat)
            aliases = () if entry is None else tuple(one.name for one in entry.aliases)
            if str(name) == flat and not links and not aliases:
                continue
            becomes, why = flat, ""
            if self.plain and name.namespace and decode(flat).namespace:
                wanted = self.prefix(name.namespace) + name.topic
                why = _why_not(flat, wanted, taken)
                if not why:
                    becomes = wanted
                    taken[fold(wanted)] = flat
            yield LeftTopic(name, flat, becomes, aliases, links, why)


def _why_not(flat: str, wanted: str, taken: dict[str, str]) -> str:
    """The reason why a topic cannot be copied to a name; empty if it can."""
    there = taken.get(fold(wanted))
    if there is not None:
        return f"'{wanted}' is taken, by '{there}'"
    if len(wanted) > MAX_FLAT_LENGTH:
        return f"'{wanted}' has over {MAX_FLAT_LENGTH} characters"
    if excluded(flat, EXCLUDE) or excluded(flat, EXCLUDE_BEFORE):
        return "MirrorMaker takes it for an internal topic, and copies none"
    return ""
