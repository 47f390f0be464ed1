"""ACLs of groups and transactional ids that are written with the brokers' names:
``team-a..app``."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from gateway.acl_model import ResourcePattern, decided_as, namespace_of
from gateway.catalog.entities import ResourceAcls
from gateway.names import END_OF_NAMESPACE
from protocol.pausing import paced

Acls = Mapping[ResourcePattern, ResourceAcls]


class FlatAcls:
    """The patterns of one state of the catalog, kept until its ACLs change, because many namespaces
    may be created on one state, and there may be 100,000 ACLs."""

    def __init__(self) -> None:
        self._acls: Acls | None = None
        self._by_namespace: dict[str, list[ResourcePattern]] = {}

    def inside(self, acls: Acls, namespaces: Collection[str]) -> Iterable[ResourcePattern]:
        """The patterns that are decided as patterns of these namespaces, which need not exist."""
        if self._acls is not acls:
            found: dict[str, list[ResourcePattern]] = {}
            for pattern in paced(acls):
                decided = decided_as(pattern) if END_OF_NAMESPACE in pattern.name else pattern
                namespace = None if decided is pattern else namespace_of(decided)
                if namespace is not None:
                    found.setdefault(namespace, []).append(pattern)
            self._by_namespace, self._acls = found, acls
        by_namespace = self._by_namespace
        return [one for each in namespaces for one in by_namespace.get(each, ())]
