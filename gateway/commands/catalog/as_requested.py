"""Why no request could have made an entity that a file holds: the checks of requests, on imports.

What a request could not have made, clients may not be able to be told: a name of 40,000 bytes fits
in no response, so every DescribeAcls would fail because of it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Final

from gateway.acl_model import wrong_acl
from gateway.catalog.entities import (
    Entity,
    Link,
    Namespace,
    PrincipalHome,
    ResourceAcls,
    ScramCredential,
    TopicEntry,
)
from gateway.catalog.schema.scram_bounds import wrong_credential
from gateway.catalog.snapshot import Snapshot
from gateway.changes.base.rejected import Rejected
from gateway.changes.namespaces.namespace_settings import read_principals
from gateway.names import is_reserved_name

MAX_STRING: Final = 32_767
"""Bytes of the longest string in Kafka's protocol."""

_ZERO: Final = bytes(16)


class Held:
    """The topic ids and aliases of a catalog, and how many topics and links hold each."""

    def __init__(self, snapshot: Snapshot) -> None:
        holders: list[TopicEntry | Link] = [*snapshot.topics.values(), *snapshot.links.values()]
        self.ids = Counter(topic_id for one in holders for topic_id in _ids(one))
        self.aliases = Counter(
            alias.name for entry in snapshot.topics.values() for alias in entry.aliases
        )


def not_requestable(entity: Entity, held: Held) -> Iterator[str]:
    """The reasons why no request could have made an entity of the catalog that ``held`` is of."""
    match entity:
        case Namespace():
            yield from _wrong_configs(entity)
        case TopicEntry() | Link():
            yield from _wrong_ids(entity, held)
            yield from _wrong_names(entity, held)
        case ResourceAcls():
            yield from _wrong_acls(entity)
        case ScramCredential():
            wrong = wrong_credential(entity)
            if wrong:
                yield f"is no credential: {wrong}"
        case PrincipalHome(principal=principal):
            if not _is_principal(principal):
                yield f"'{principal[:80]}' is no principal; write it like User:alice"
        case _:
            pass


def _wrong_configs(namespace: Namespace) -> Iterator[str]:
    for key, value in namespace.configs.items():
        if _too_long(key) or _too_long(value):
            yield f"config '{key[:40]}' is longer than {MAX_STRING:,} bytes; shorten it"


def _wrong_acls(acls: ResourceAcls) -> Iterator[str]:
    pattern = acls.pattern
    if _too_long(pattern.name):
        yield f"the name of an ACL is longer than {MAX_STRING:,} bytes; shorten it"
        return
    found = (
        wrong_acl(pattern.type, pattern.pattern_type, pattern.name, entry) for entry in acls.entries
    )
    yield from sorted({f"is no ACL: {text}" for text in found if text})


def _ids(holder: TopicEntry | Link) -> list[bytes]:
    aliases = holder.aliases if isinstance(holder, TopicEntry) else ()
    return [each for each in (holder.topic_id, *(one.topic_id for one in aliases)) if each]


def _wrong_ids(holder: TopicEntry | Link, held: Held) -> Iterator[str]:
    for topic_id in _ids(holder):
        if topic_id == _ZERO:
            yield "has the topic id of zeros, which stands for none; leave it out"
        elif held.ids[topic_id] > 1:
            yield "has a topic id that another name has too; correct one of the two"


def _wrong_names(holder: TopicEntry | Link, held: Held) -> Iterator[str]:
    if is_reserved_name(holder.name):
        yield f"'{holder.name}' is a reserved name, which no topic can have; choose another"
    for alias in holder.aliases if isinstance(holder, TopicEntry) else ():
        if held.aliases[alias.name] > 1:
            yield f"alias '{alias.name}' is another topic's too; keep one of the two"


def _is_principal(principal: str) -> bool:
    try:
        return read_principals(principal) == {principal}
    except Rejected:
        return False


def _too_long(text: str) -> bool:
    return len(text.encode(errors="surrogatepass")) > MAX_STRING
