"""Limits on ACLs: of one catalog record, and of the policies for a client's CreateAcls requests.

All new ACLs that a request has for a pattern are allowed or rejected together; the patterns are
decided in the order of the request.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from gateway.acl_model import AclBinding, ResourcePattern, namespace_of
from gateway.catalog.entities import ResourceAcls
from gateway.catalog.log.records import encode_value
from gateway.catalog.snapshot import Snapshot
from gateway.catalog.tallies import Grown
from gateway.changes.base.catalog_limits import CatalogLimits
from gateway.changes.base.context import Batch
from gateway.changes.base.rejected import respelled
from gateway.decision import Denied
from gateway.policies.violation import Violation, enforced
from protocol.pausing import paced

MAX_ENTRIES: Final = 5_000
"""ACLs of one pattern: all ACLs of a pattern are one record."""

MAX_RECORD_BYTES: Final = 900_000
"""Bytes of a record's value; a broker accepts 1 MiB with the batch around it
(message.max.bytes)."""


def is_held(snapshot: Snapshot, binding: AclBinding) -> bool:
    """Whether the catalog has this ACL already."""
    known = snapshot.acls.get(binding.pattern)
    return known is not None and binding.entry in known.entries


def is_too_large(acls: ResourceAcls) -> bool:
    """Whether a pattern has more entries than one record can hold."""
    if len(acls.entries) > MAX_ENTRIES:
        return True
    # Encoding is slow, so only patterns with long names are encoded: an entry takes 60 bytes
    # besides.
    longest = max(len(one.principal) + len(one.host) for one in acls.entries)
    if len(acls.entries) * (60 + 12 * longest) <= MAX_RECORD_BYTES:
        return False
    return len(encode_value(acls) or b"") > MAX_RECORD_BYTES


class AclLimits:
    """The limits on ACLs in one request's decision. ``found``: by pattern, the violations for which
    its new ACLs are rejected."""

    def __init__(self, limits: CatalogLimits) -> None:
        self.found: dict[ResourcePattern, list[Violation]] = {}
        self._limits = limits
        self._grown = Grown(Snapshot().entity)
        self._allowed: dict[tuple[str, str], tuple[str, Violation]] = {}

    def restart(self, snapshot: Snapshot) -> None:
        """Start the decision again on this state of the catalog."""
        self.found.clear()
        self._allowed.clear()
        self._grown = Grown(snapshot.entity)

    def exceeded(self, snapshot: Snapshot, after: ResourceAcls) -> bool:
        """Whether a pattern may not have these entries; if it may, later patterns count them
        too."""
        pattern = after.pattern
        known = snapshot.acls.get(pattern)
        self._grown.exchange(known, after)
        place, subject = namespace_of(pattern) or "", f"the ACLs of '{pattern.name}'"
        found = self._limits.violations(snapshot, self._grown, [place], subject)
        if enforced(found):
            self.found[pattern] = found
            self._grown.exchange(after, known)
            return True
        # If thousands of patterns warn, the last warning has the final number.
        self._allowed.update({(one.rule, one.source): (pattern.name, one) for one in found})
        return False

    def answer(self, batch: Batch[int, AclBinding, None], creations: Sequence[Any]) -> None:
        """Reject the items of patterns with violations, once the decision is final; all other items
        have their answers already."""
        for name, allowed in self._allowed.values():
            self._limits.verdict([allowed], name)
        denied: dict[ResourcePattern, Denied] = {}
        for number, one in paced(list(batch.left.items())):
            pattern, shown = one.pattern, creations[number].resource_name
            if pattern not in denied:
                why = self._limits.verdict(self.found[pattern], pattern.name)
                assert why is not None, "they reject"
                denied[pattern] = respelled(why, pattern.name, shown)
            batch.answer(number, denied[pattern])
