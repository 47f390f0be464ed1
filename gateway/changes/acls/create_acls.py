"""CreateAcls: decided whole, on the newest state of the catalog, in the writer's turn."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any, Final

from gateway.acl_model import AclBinding, AclEntry, Operation, Permission, ResourcePattern
from gateway.catalog.entities import Change, ResourceAcls
from gateway.catalog.log.records import encode_value
from gateway.catalog.snapshot import Snapshot
from gateway.changes.acls.acl_rights import NO_AUTHORIZER, AclRights, admitted
from gateway.changes.base.batch import Answered, Batch
from gateway.changes.base.context import Context
from gateway.decision import Denied
from gateway.error_codes import CLUSTER_AUTHORIZATION_FAILED, POLICY_VIOLATION
from gateway.rules.acl_messages import binding_of, creation_response
from gateway.views.access import Access
from gateway.views.view import View
from protocol import messages
from protocol.pausing import paced

log = logging.getLogger(__name__)

MAX_CREATIONS: Final = 10_000
"""ACLs in one request, as in Kafka (QuorumController.MAX_RECORDS_PER_USER_OP)."""

MAX_ENTRIES: Final = 5_000
"""ACLs of one pattern: they are one record."""

MAX_RECORD_BYTES: Final = 900_000
"""A record's value; a broker takes 1 MiB with what is around it (message.max.bytes)."""

_SHOWN: Final = 10


class Creations(Batch[int, AclBinding, None]):
    """The ACLs that one request asks for; the answer None: it is there. They are decided anew each
    time that :meth:`decide` is called. ``made`` are the ACLs that were new."""

    def __init__(
        self, context: Context, access: Access, rights: AclRights, creations: Sequence[Any]
    ) -> None:
        super().__init__(context, access, range(len(creations)))
        self.made: list[AclBinding] = []
        self._rights = rights
        self._creations = creations

    def decide(self, snapshot: Snapshot) -> Sequence[Change]:
        """The patterns that get entries, each as it is to be."""
        self.clear()
        self._read(View(self.view.settings, snapshot))
        wanted: dict[ResourcePattern, set[AclEntry]] = {}
        for one in paced(self.left.values()):
            wanted.setdefault(one.pattern, set()).add(one.entry)
        changes: list[Change] = []
        full: dict[ResourcePattern, frozenset[AclEntry]] = {}
        self.made = []
        for pattern, entries in paced(wanted.items()):
            known = snapshot.acls.get(pattern)
            before: frozenset[AclEntry] = frozenset() if known is None else known.entries
            after = ResourceAcls(pattern, before.union(entries))
            if len(after.entries) == len(before):
                continue
            if is_too_large(after):
                full[pattern] = before
                continue
            changes.append(after)
            self.made += [AclBinding(pattern, entry) for entry in entries - before]
        for number, one in paced(list(self.left.items())):
            fits = one.pattern not in full or one.entry in full[one.pattern]
            self.answer(number, None if fits else _FULL)
        return changes

    def _read(self, view: View) -> None:
        for number, creation in enumerate(paced(self._creations)):
            found = binding_of(view, creation)
            why = found if isinstance(found, Denied) else None
            if isinstance(found, AclBinding):
                why = self._rights.why_not(found.pattern, creation.resource_name)
                self.left[number] = found
            if why is not None and why.code == CLUSTER_AUTHORIZATION_FAILED:
                self.deny(number, why, creation.resource_name)
            elif why is not None:
                self.answer(number, why)


async def create_acls(context: Context, access: Access, version: int, body: bytes) -> Answered:
    """Whole bodies in the client's names, in and out. Raises ProtocolError."""
    asked = messages.parse("CreateAclsRequest", version, body).creations

    def reject(why: Denied) -> bytes:
        return creation_response(version, [why] * len(asked))

    async def create(access: Access, rights: AclRights) -> Answered:
        creations = Creations(context, access, rights, asked)
        if asked:
            await context.catalog.change(creations.decide)
        _tell_of_deprecated(context, access, creations.made)
        answers = [answer for _, answer in creations.results()]
        return Answered(creation_response(version, answers), creations.denied)

    if not access.authorizes:
        return Answered(reject(NO_AUTHORIZER))
    if len(asked) > MAX_CREATIONS:
        text = f"{len(asked):,} ACLs are too many for one request; {MAX_CREATIONS:,} are not."
        return Answered(reject(Denied(POLICY_VIOLATION, text, "request")))
    return await admitted(
        context, access, lambda newest: AclRights.some(newest, Operation.ALTER), reject, create
    )


def is_too_large(acls: ResourceAcls) -> bool:
    """Whether a pattern has more entries than one record can hold."""
    if len(acls.entries) > MAX_ENTRIES:
        return True
    # Only long names make it worth while to look: an entry takes 60 bytes besides.
    longest = max(len(one.principal) + len(one.host) for one in acls.entries)
    if len(acls.entries) * (60 + 12 * longest) <= MAX_RECORD_BYTES:
        return False
    return len(encode_value(acls) or b"") > MAX_RECORD_BYTES


_FULL: Final = Denied(
    POLICY_VIOLATION,
    f"A pattern has at most {MAX_ENTRIES:,} ACLs, or as many as fit in one record; one that is"
    " PREFIXED, or for User:*, may do in place of many.",
    "request",
)


def _tell_of_deprecated(context: Context, access: Access, made: Sequence[AclBinding]) -> None:
    """KIP-679 deprecates IDEMPOTENT_WRITE: whoever may write to a topic needs it no more."""
    deprecated = Operation.IDEMPOTENT_WRITE
    entries = [one.entry for one in made if one.entry.operation is deprecated]
    granted = [one for one in entries if one.permission is Permission.ALLOW]
    if not granted:
        return
    context.deprecated_grants[deprecated.name] += len(granted)
    shown = sorted({one.principal for one in granted})
    more = f" and {len(shown) - _SHOWN} more" if len(shown) > _SHOWN else ""
    log.warning(
        "%r grants IDEMPOTENT_WRITE, which is deprecated (KIP-679: WRITE on a topic is enough),"
        " to %s%s",
        access.principal,
        ", ".join(map(repr, shown[:_SHOWN])),
        more,
    )
