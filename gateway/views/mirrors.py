"""Mirrors: namespaces that a listener shows as MirrorMaker 2 names a source cluster's topics.

Where alias ``A`` is namespace ``dr:a``, the relative name ``A.team-a:orders`` is
``dr:a:team-a:orders``: DefaultReplicationPolicy puts the alias and its separator before a topic.
What follows them is read as under a home ``dr:a``, and in legal spelling, too. MirrorMaker 2's own
topics (``A.checkpoints.internal``) are not mapped. Pure functions; ``spelling`` decides which names
are relative, and ``:`` stands for ``/`` in them already.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final, NamedTuple

from gateway.catalog.snapshot import Snapshot
from gateway.mirror_maker import ReplicationPolicy
from gateway.names import (
    DELIMITER,
    END_OF_NAMESPACE,
    LogicalName,
    NoTopicHere,
    check_namespace,
    decode,
    flat_prefix,
)

_REST: Final = "t"
"""Stands for the rest of a name: a legal spelling can only be read with a topic."""


class Mirror(NamedTuple):
    """The alias of a source cluster, its namespace, and ``prefix``: the alias with the separator,
    by which names in the namespace begin."""

    alias: str
    namespace: str
    prefix: str

    def __str__(self) -> str:
        return f"{self.prefix} is namespace {self.namespace}"


@dataclass(frozen=True, slots=True)
class Mirrors:
    """The mirrors of one listener, at least one. ``separator`` is MirrorMaker 2's
    ``replication.policy.separator``; no alias contains it, so that no prefix begins another."""

    all: tuple[Mirror, ...]
    separator: str = "."

    @classmethod
    def of_aliases(cls, aliases: Iterable[tuple[str, str]], separator: str) -> Mirrors | None:
        """The mirrors of ``(alias, namespace)``; None without any."""
        found = tuple(Mirror(alias, path, alias + separator) for alias, path in aliases)
        return cls(found, separator) if found else None

    def within(self, home: str) -> Mirrors | None:
        """Those at or below a home."""
        inside = [
            (one.alias, one.namespace)
            for one in self.all
            if one.namespace == home or one.namespace.startswith(home + DELIMITER)
        ]
        return Mirrors.of_aliases(inside, self.separator)

    def of(self, name: str) -> Mirror | None:
        """The mirror that a relative name, or the beginning of one, is in by its alias."""
        alias, separator, _ = name.partition(self.separator)
        if not separator:
            return None
        for mirror in self.all:
            if mirror.alias == alias:
                policy = ReplicationPolicy(separator=self.separator)
                return None if policy.is_mm2_internal_topic(name) else mirror
        return None

    def holding(self, namespace: str) -> tuple[Mirror, str] | None:
        """The mirror that a namespace is in, and its path there (``""``: the mirror itself)."""
        for mirror in self.all:
            if namespace == mirror.namespace:
                return mirror, ""
            inside = namespace.removeprefix(mirror.namespace + DELIMITER)
            if inside != namespace:
                return mirror, inside
        return None


def parse_topic(mirror: Mirror, snapshot: Snapshot, name: str, written: str) -> LogicalName:
    """The topic of a name in a mirror; ``written`` is what the client wrote.

    Raises :class:`gateway.names.InvalidName` for what names no topic there.
    """
    rest = _rest(mirror, name, written)
    if DELIMITER not in rest:
        return _read(mirror, snapshot, rest)
    inside, _, topic = rest.rpartition(DELIMITER)
    if not topic:
        check_namespace(inside)
        raise NoTopicHere(f"'{written}' names a namespace, not a topic in it")
    return LogicalName(f"{mirror.namespace}{DELIMITER}{inside}", topic)


def parse_path(mirror: Mirror, path: str, written: str) -> str:
    """The namespace of a path in a mirror, ``A.team-a``, without a final delimiter.

    Raises :class:`gateway.names.InvalidName`.
    """
    return f"{mirror.namespace}{DELIMITER}{_rest(mirror, path, written)}"


def parse_text(
    mirror: Mirror, snapshot: Snapshot, name: str, written: str, *, prefixed: bool
) -> str:
    """The text of the catalog, in colon spelling, for the name of an ACL's pattern. The prefix
    alone, ``A.``, is all in the mirror, if the pattern is ``prefixed``.

    Raises :class:`gateway.names.InvalidName`.
    """
    if prefixed and name == mirror.prefix:
        return mirror.namespace + DELIMITER
    rest = _rest(mirror, name, written)
    if DELIMITER in rest:
        return f"{mirror.namespace}{DELIMITER}{rest}"
    return str(_read(mirror, snapshot, rest + _REST)).removesuffix(_REST)


def spell_text(mirrors: Mirrors, text: str, *, legal: bool) -> Iterator[str]:
    """The spellings by mirror, with colons, of a name in the catalog, or the beginning of one:
    the ``legal`` one first, if that is wanted. Those which do not read back are among them."""
    namespace, _, rest = text.rpartition(DELIMITER)
    found = mirrors.holding(namespace)
    if found is not None:
        mirror, inside = found
        if legal and inside:
            yield mirror.prefix + flat_prefix(inside) + rest
        yield mirror.prefix + (f"{inside}{DELIMITER}" if inside else "") + rest


def spell_resource(mirrors: Mirrors, text: str) -> str | None:
    """A topic or namespace as error messages name it, with colons; None for one that has no name
    by mirror."""
    shown = next(spell_text(mirrors, text, legal=False), None)
    mirror = None if shown is None else mirrors.of(shown)
    return None if mirror is None or shown == mirror.prefix else shown


def spell_namespace(mirrors: Mirrors, path: str, *, legal: bool) -> str | None:
    """The spelling by mirror, with colons, of a namespace below one; None for another one. A
    mirror's own namespace has none: ``A.`` alone names nothing."""
    found = mirrors.holding(path)
    if found is None or not found[1]:
        return None
    mirror, inside = found
    return mirror.prefix + (flat_prefix(inside) if legal else inside + DELIMITER)


def reads_as_namespace(mirrors: Mirrors, name: str, meant: LogicalName) -> LogicalName | None:
    """The topic that a legal spelling would name if its namespace were there: the mirror's own one
    ``meant`` is what it names as it is not."""
    mirror = mirrors.of(name)
    if mirror is None or DELIMITER in name or meant.namespace != mirror.namespace:
        return None
    inside, topic = decode(meant.topic)
    return LogicalName(f"{mirror.namespace}{DELIMITER}{inside}", topic) if inside else None


def advice(mirror: Mirror) -> str:
    """What to do about a namespace that is missing in a mirror."""
    return (
        "MirrorMaker 2 creates no namespaces; carry those of the source over: kafka-gateway"
        f" catalog export --namespaces there, and catalog import --under {mirror.namespace} here"
    )


def _rest(mirror: Mirror, name: str, written: str) -> str:
    rest = name.removeprefix(mirror.prefix)
    if not rest:
        raise NoTopicHere(
            f"'{written}' names nothing: names in namespace '{mirror.namespace}' begin so here"
        )
    if rest.startswith((DELIMITER, END_OF_NAMESPACE)):
        raise NoTopicHere(
            f"'{written}' is outside namespace '{mirror.namespace}', in which names that begin"
            f" '{mirror.prefix}' are here"
        )
    return rest


def _read(mirror: Mirror, snapshot: Snapshot, rest: str) -> LogicalName:
    """A name without colons: a legal spelling, if its namespace exists, as everywhere."""
    inside, topic = decode(rest)
    path = f"{mirror.namespace}{DELIMITER}{inside}"
    if inside and path in snapshot.namespaces:
        return LogicalName(path, topic)
    return LogicalName(mirror.namespace, rest)
