"""Which patterns have ACLs, of whomever (``allow.everyone.if.no.acl.found``)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from gateway.acl_model import WILDCARD, PatternType, ResourcePattern, ResourceType
from gateway.acls.patterns import NAMESPACED, name_of, tiers_of
from gateway.names import DELIMITER


class Presence:
    """The patterns of one type of resource that have ACLs."""

    __slots__ = ("_kind", "_lengths", "_literals", "_prefixes")

    def __init__(self, kind: ResourceType) -> None:
        self._kind = kind
        self._literals: set[str] = set()
        self._prefixes: set[str] = set()
        self._lengths: dict[str, Counter[int]] = {}
        """How many prefixes have a length, by the namespace that they stay in. Those that are
        whole namespaces have none."""

    def put(self, pattern: ResourcePattern, *, there: bool) -> None:
        """A pattern has ACLs from now on, or has none any more."""
        name = pattern.name
        if pattern.pattern_type is PatternType.LITERAL:
            (self._literals.add if there else self._literals.discard)(name)
            return
        (self._prefixes.add if there else self._prefixes.discard)(name)
        if self._is_namespace(name):
            return
        head = name_of(self._kind, name).head
        lengths = self._lengths.get(head)
        if lengths is None:
            lengths = self._lengths[head] = Counter()
        lengths[len(name)] += 1 if there else -1
        if not lengths[len(name)]:
            del lengths[len(name)]
        if not lengths:
            del self._lengths[head]

    def covers(self, text: str) -> bool:
        """Whether one of them covers a name."""
        if text in self._literals or WILDCARD in self._literals:
            return True
        return any(True for _ in self.prefixes_of(text))

    def prefixes_of(self, text: str) -> Iterator[str]:
        """The names of the PREFIXED ones that cover a name."""
        prefixes = self._prefixes
        if self._kind in NAMESPACED:
            yield from (tier for tier in tiers_of(text) if tier in prefixes)
        if self._is_namespace(text):
            return
        for length in self._lengths.get(name_of(self._kind, text).head, ()):
            if length <= len(text) and text[:length] in prefixes:
                yield text[:length]

    def _is_namespace(self, text: str) -> bool:
        return self._kind in NAMESPACED and text.endswith(DELIMITER)
