"""The view while the catalog's snapshot is too old to decide by."""

from __future__ import annotations

from typing import Final

from gateway.catalog.freezes import NOTHING_FROZEN, Frozen
from gateway.catalog.snapshot import Snapshot
from gateway.decision import Denied, Resolved
from gateway.error_codes import COORDINATOR_NOT_AVAILABLE, LEADER_NOT_AVAILABLE
from gateway.policies.tree import Policies
from gateway.topic_ids import TopicIndex
from gateway.views.view import View


class ClosedView(View):
    """Shows nothing, and denies every name with an error that clients retry, because the catalog
    could not be read for too long and a permission in the old snapshot may have been revoked."""

    closed = True
    _last: View | None = None

    @property
    def last(self) -> View:
        """The view at the last read of the catalog. It serves responses from the memory of a
        cluster that does not respond, and never decides about the present."""
        if self._last is None:
            self._last = View(self.settings, self.snapshot, self.policies)
        return self._last

    def successor(
        self,
        snapshot: Snapshot,
        policies: Policies | None = None,
        frozen: Frozen = NOTHING_FROZEN,
    ) -> View:
        """An open view again, which reuses nothing of this view."""
        return View(self.settings, snapshot, policies or self.policies, frozen)

    def resolve(self, spelled: bytes) -> Resolved | Denied:
        return Denied(LEADER_NOT_AVAILABLE, _STALE, "stale")

    def spell(self, flat: bytes) -> bytes | None:
        return None

    def namespace_named(self, spelled: str, *, existing: bool = True) -> str | None:
        return None

    def directory_named(self, spelled: str) -> str | None:
        return None

    def spell_namespace(self, path: str) -> str | None:
        return None

    def flat_of_id(self, topic_id: bytes, index: TopicIndex) -> bytes | None:
        return None

    def group_to_broker(self, group: bytes) -> bytes | Denied:
        return Denied(COORDINATOR_NOT_AVAILABLE, _STALE, "stale")

    def transactional_id_to_broker(self, transactional_id: bytes) -> bytes | Denied:
        return Denied(COORDINATOR_NOT_AVAILABLE, _STALE, "stale")


_STALE: Final = (
    "The gateway could not read its catalog of namespaces for longer than catalog.max_staleness; "
    "try again when the cluster is reachable."
)
