"""Why no request could have made an entity that a file holds: the checks of requests, on imports.

What a request could not have made, clients may not be able to be told: a name of 40,000 bytes fits
in no response, so every DescribeAcls would fail because of it. What an entity must keep to by
itself, whatever else the catalog holds, is checked as the file is read
(``gateway.catalog.schema.file_checks``).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from gateway.acl_model import ResourceType, wrong_acl
from gateway.catalog.entities import (
    Entity,
    Key,
    Link,
    Namespace,
    PrincipalHome,
    ResourceAcls,
    TopicEntry,
    key_of,
)
from gateway.catalog.schema.field_types import OPTIONAL_TIME, TIME
from gateway.catalog.schema.table import kind_of
from gateway.catalog.snapshot import Snapshot
from gateway.changes.base.rejected import Rejected
from gateway.changes.base.virtual_configs import PREFIX, is_virtual
from gateway.changes.namespaces.namespace_settings import read_principals
from gateway.changes.topics.links import MAX_LINKS
from gateway.names import InvalidName, LogicalName, is_reserved_name
from gateway.rules.acl_names import checked_pattern
from gateway.views.spelling import MAX_SPELLED

MAX_STRING: Final = 32_767
"""Bytes of the longest string in Kafka's protocol."""

CLOCKS_APART: Final = 86_400_000
"""Milliseconds by which the clock of the gateway that noted a time may be ahead of this one."""

_NO_TOPIC: Final = frozenset({bytes(16), bytes(15) + b"\1"})
"""The ids that no topic has (org.apache.kafka.common.Uuid.RESERVED)."""


class Reason(NamedTuple):
    """Why no request could have made an entity: ``problem; advice``."""

    text: str
    config: str = ""
    """The config of a namespace that it concerns."""


class Held:
    """The names and topic ids of a catalog, and how many topics and links hold each.

    ``now`` is in milliseconds since the epoch.
    """

    def __init__(self, snapshot: Snapshot, now: int) -> None:
        holders: list[TopicEntry | Link] = [*snapshot.topics.values(), *snapshot.links.values()]
        self.snapshot = snapshot
        self.now = now
        self.ids = Counter(topic_id for one in holders for topic_id in _ids(one))
        self.takers: defaultdict[LogicalName, list[tuple[Key, str]]] = defaultdict(list)
        for one in holders:
            for name in names_of(one):
                self.takers[name].append((key_of(one), _taken_by(one, name)))
        self.captured = {
            captor: name
            for name in snapshot.default_names()
            if (captor := snapshot.captured_by(name)) is not None
        }
        """A name of the default namespace that is a spelling of one in a namespace, by that."""


def names_of(holder: TopicEntry | Link) -> Sequence[LogicalName]:
    """The logical names that a topic's entry or a link takes."""
    return holder.names if isinstance(holder, TopicEntry) else (holder.name,)


def _taken_by(holder: TopicEntry | Link, name: LogicalName) -> str:
    """What a name is already, in words."""
    if isinstance(holder, Link):
        return "a link"
    kind = "the name" if name == holder.name else "an alias"
    return f"{kind} of the topic stored as '{holder.flat}'"


def not_requestable(entity: Entity, held: Held) -> Iterator[Reason]:
    """The reasons why no request could have made an entity of the catalog that ``held`` is of."""
    yield from _wrong_times(entity, held.now)
    match entity:
        case Namespace(path=path):
            yield from _wrong_configs(entity)
            if path in held.captured:
                text = f"would take over the name '{held.captured[path]}' of a topic that was moved"
                yield Reason(f"{text}; move that topic first, or wait until its alias has expired")
        case TopicEntry():
            yield from _wrong_ids(entity, held)
            yield from _wrong_names(entity, held)
            yield from _wrong_keys("own_configs", entity.own_configs)
        case Link():
            yield from _wrong_ids(entity, held)
            yield from _wrong_names(entity, held)
            if len(held.snapshot.links_of(entity.flat)) > MAX_LINKS:
                yield Reason(f"is one of more than {MAX_LINKS} links of a topic; leave some out")
        case ResourceAcls():
            yield from map(Reason, _wrong_acls(entity))
        case PrincipalHome(principal=principal):
            if not _is_principal(principal):
                yield Reason(f"'{principal[:80]}' is no principal; write it like User:alice")
        case _:
            pass


def _wrong_times(entity: Entity, now: int) -> Iterator[Reason]:
    """Times at which a gateway noted something, which is never over if it is yet to come."""
    for field in kind_of(entity).fields:
        noted = getattr(entity, field.name) if field.type in (TIME, OPTIONAL_TIME) else None
        if noted is not None and noted > now + CLOCKS_APART:
            yield Reason(f"has '{field.name}' in the future; correct it, or the clock here")


def _wrong_configs(namespace: Namespace) -> Iterator[Reason]:
    for key, value in namespace.configs.items():
        if is_virtual(key):
            text = f"config '{key[:40]}' is the gateway's own ('{PREFIX}'), and none of topics"
            yield Reason(f"{text}; leave it out, or write it below 'settings'", key)
        elif _too_long(key) or _too_long(value):
            text = f"config '{key[:40]}' is longer than {MAX_STRING:,} bytes; shorten it"
            yield Reason(text, key)
    yield from _wrong_keys("apply", namespace.apply)


def _wrong_keys(field: str, keys: Sequence[str]) -> Iterator[Reason]:
    """Reasons why a list names keys that no topic's configs have."""
    for key, times in Counter(keys).items():
        if not key or is_virtual(key) or _too_long(key):
            yield Reason(f"'{key[:40]}' in '{field}' is no config of topics; leave it out")
        elif times > 1:
            yield Reason(f"'{key}' is in '{field}' {times} times; keep one of them")


def _wrong_acls(acls: ResourceAcls) -> Iterator[str]:
    pattern = acls.pattern
    if _too_long(pattern.name):
        yield f"the name of an ACL is longer than {MAX_STRING:,} bytes; shorten it"
        return
    if pattern.type is ResourceType.TOPIC:
        yield from _wrong_pattern(pattern.name)
    found = (
        wrong_acl(pattern.type, pattern.pattern_type, pattern.name, entry) for entry in acls.entries
    )
    yield from sorted({f"is no ACL: {text}" for text in found if text})


def _wrong_pattern(name: str) -> Iterator[str]:
    """The reason why no client can name such topics."""
    if len(name) > 2 * MAX_SPELLED:  # a name of a home, and a name in it
        yield f"'{name[:40]}…' is longer than any name can be; leave the ACL out"
        return
    try:
        checked_pattern(name, name)
    except InvalidName as error:
        yield f"is no ACL: {error}; correct it"


def _ids(holder: TopicEntry | Link) -> list[bytes]:
    aliases = holder.aliases if isinstance(holder, TopicEntry) else ()
    return [each for each in (holder.topic_id, *(one.topic_id for one in aliases)) if each]


def _wrong_ids(holder: TopicEntry | Link, held: Held) -> Iterator[Reason]:
    for topic_id in _ids(holder):
        if topic_id in _NO_TOPIC:
            yield Reason("has the topic id of zeros, or of Kafka's own; leave it out")
        elif held.ids[topic_id] > 1:
            yield Reason("has a topic id that another name has too; correct one of the two")
    if isinstance(holder, TopicEntry) and len(holder.names_under(None)) > 1:
        # Clients confuse two names with one topic id, so a move gives one of them another.
        yield Reason("has several names without a topic id; only one has the broker's own")


def _wrong_names(holder: TopicEntry | Link, held: Held) -> Iterator[Reason]:
    own = Counter(names_of(holder))
    for name in own:
        is_alias = isinstance(holder, TopicEntry) and name != holder.name
        shown = f"alias '{name}'" if is_alias else f"'{name}'"
        captor = held.snapshot.captured_by(name)
        if is_reserved_name(name):
            yield Reason(f"{shown} is a reserved name, which no topic can have; choose another")
        elif captor is not None:
            yield Reason(f"{shown} is a spelling of a name in namespace '{captor}'; correct it")
        for key, what in held.takers[name]:
            if key != key_of(holder):
                yield Reason(f"{shown} is {what}; choose another")
    if max(own.values()) > 1:
        yield Reason("has an alias that is its name, or is there twice; keep one of the two")


def _is_principal(principal: str) -> bool:
    try:
        return read_principals(principal) == {principal}
    except Rejected:
        return False


def _too_long(text: str) -> bool:
    return len(text.encode(errors="surrogatepass")) > MAX_STRING
