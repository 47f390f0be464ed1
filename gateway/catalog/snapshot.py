"""One immutable state of the catalog, and who owns a flat name in it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from types import MappingProxyType

from gateway.names import (
    END_OF_NAMESPACE,
    LogicalName,
    check_namespace,
    decode,
    encode,
    flat_prefix,
    fold,
    parents,
)

_NO_ENTRIES: Mapping[LogicalName, str] = MappingProxyType({})


@dataclass(frozen=True)
class Snapshot:
    """What every worker that has read the catalog up to ``version`` agrees on.

    ``namespaces`` holds each tier path that exists, the default namespace (``""``) left out.
    ``entries`` holds the topics whose flat name is not the one their logical name encodes to
    (moved or adopted ones). A flat name held by an entry is reachable by that logical name and
    by no other.
    """

    version: int = 0
    namespaces: frozenset[str] = frozenset()
    entries: Mapping[LogicalName, str] = field(default_factory=lambda: _NO_ENTRIES)

    @classmethod
    def of(cls, namespaces: Iterable[str], version: int = 1) -> Snapshot:
        """A snapshot with these namespaces and every tier above them (KIP-37: Create).

        Raises :class:`gateway.names.InvalidName` for a malformed path.
        """
        tiers: set[str] = set()
        for namespace in namespaces:
            check_namespace(namespace)
            tiers.update(parents(namespace))
        return cls(version=version, namespaces=frozenset(tiers))

    def missing_tier(self, namespace: str) -> str | None:
        """The outermost tier path of ``namespace`` that does not exist; None when all do."""
        for tier in parents(namespace):
            if tier not in self.namespaces:
                return tier
        return None

    def owner(self, flat: str) -> LogicalName:
        """The logical name of a flat name: by entry, else by spelling, else the default one's."""
        held = self._holders.get(flat)
        return held if held is not None else self.spelled(flat)

    def spelled(self, text: str) -> LogicalName:
        """What a legal spelling names here: a namespace's topic if that namespace exists."""
        name = decode(text)
        return name if not name.namespace or name.namespace in self.namespaces else _default(text)

    def flat_of(self, name: LogicalName) -> str | None:
        """Where a topic of an existing namespace is, or would be, stored.

        None when its natural flat name is held by another logical name and it has no entry of
        its own, so that it cannot exist. Raises :class:`gateway.names.InvalidName`.
        """
        entry = self.entries.get(name)
        if entry is not None:
            return entry
        flat = encode(name)
        return None if flat in self._holders else flat

    def captured_by(self, name: LogicalName) -> str | None:
        """The namespace whose flat names a default-namespace topic would fold into, if any.

        Kafka refuses two topics that are equal after ``.`` and ``_`` are folded; such a name
        would take a topic away from a namespace that exists.
        """
        if name.namespace:
            return None
        folded = fold(name.topic)
        at = folded.find(_FOLDED_END)
        while at > 0:
            namespace = self._folded_prefixes.get(folded[: at + 2])
            if namespace is not None:
                return namespace
            at = folded.find(_FOLDED_END, at + 1)
        return None

    @cached_property
    def _holders(self) -> dict[str, LogicalName]:
        return {flat: name for name, flat in self.entries.items()}

    @cached_property
    def _folded_prefixes(self) -> dict[str, str]:
        return {fold(flat_prefix(namespace)): namespace for namespace in self.namespaces}


_FOLDED_END = fold(END_OF_NAMESPACE)


def _default(topic: str) -> LogicalName:
    return LogicalName("", topic)
