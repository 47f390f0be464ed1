"""Limits on namespaces, ACLs, links and aliases, checked while the catalog's writer decides.

They are checked against the numbers after the changes of one decision. Nothing is counted anew for
that (``Snapshot.tally``).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field

from gateway.catalog.entities import Change
from gateway.catalog.snapshot import Snapshot
from gateway.catalog.tallies import Grown
from gateway.changes.base.context import Context
from gateway.decision import Denied
from gateway.names import DELIMITER
from gateway.policies.catalog_limits import catalog_violations
from gateway.policies.violation import Violation
from gateway.views.access import ALTER, Access


@dataclass(slots=True)
class CatalogLimits:
    """The limits for one request of one client, which may be decided more than once.

    The default limits do not apply to a principal that may ALTER the cluster, because it could
    change everything that they protect.
    """

    context: Context
    access: Access
    _defaults: bool = field(init=False)
    _reported: set[Violation] = field(default_factory=set)

    def __post_init__(self) -> None:
        self._defaults = self.access.cluster(ALTER) is not None

    def why_not(
        self, newest: Snapshot, changes: Iterable[Change], subject: str, name: str
    ) -> Denied | None:
        """Why these changes of the newest catalog exceed a limit. The message calls their
        ``subject`` (``namespace 'a'``) by the client's name; ``name`` is the full name, such as
        ``org:a:``."""
        grown = Grown(newest.entity, changes)
        return self.verdict(self.violations(newest, grown, grown.namespaces, subject), name)

    def violations(
        self, newest: Snapshot, grown: Grown, namespaces: Collection[str], subject: str
    ) -> list[Violation]:
        """The limits that ``grown`` exceeds, or nearly reaches, in these namespaces. Pure."""
        if not namespaces:
            return []
        policies = self.context.judge.policies
        return catalog_violations(
            policies, newest.tally, grown.tally, namespaces, subject, defaults=self._defaults
        )

    def verdict(self, found: Collection[Violation], name: str) -> Denied | None:
        """Report the violations, each warning once per request. Returns the denial, or None if all
        violations only warn."""
        new = [one for one in found if one.rejects or one not in self._reported]
        self._reported.update(found)
        namespace = name.rpartition(DELIMITER)[0]
        return self.context.judge.verdict(namespace, self.access.principal, new, name)
