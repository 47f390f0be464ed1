"""CreateAcls: decided whole, on the newest state of the catalog, in the writer's turn."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any, Final

from gateway.acl_model import AclBinding, AclEntry, Operation, Permission, ResourcePattern
from gateway.catalog.entities import Change, ResourceAcls
from gateway.catalog.records import encode_value
from gateway.catalog.snapshot import Snapshot
from gateway.changes.acl_rights import NO_AUTHORIZER, AclRights
from gateway.changes.answered import Answered
from gateway.changes.context import Context
from gateway.changes.refused import unavailable
from gateway.changes.resources import renewed
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


class Creations:
    """The ACLs that one request asks for. ``answers`` has one for each, in order, as of the last
    time that :meth:`decide` was asked; ``made`` the ACLs that were new."""

    def __init__(self, access: Access, rights: AclRights, asked: Sequence[Any]) -> None:
        self.answers: list[Denied | None] = []
        self.made: list[AclBinding] = []
        self._access = access
        self._rights = rights
        self._asked = asked

    def decide(self, snapshot: Snapshot) -> Sequence[Change]:
        """The patterns that get entries, each as it is to be."""
        view = View(self._access.view.settings, snapshot)
        bindings = [self._allowed(view, creation) for creation in paced(self._asked)]
        wanted: dict[ResourcePattern, set[AclEntry]] = {}
        for one in paced(bindings):
            if isinstance(one, AclBinding):
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
        self.answers = [_answer(one, full) for one in paced(bindings)]
        return changes

    def denied(self) -> dict[str, Denied]:
        """What may not be done by whoever asks."""
        return {
            creation.resource_name: why
            for creation, why in zip(self._asked, self.answers, strict=True)
            if why is not None and why.code == CLUSTER_AUTHORIZATION_FAILED
        }

    def _allowed(self, view: View, creation: Any) -> AclBinding | Denied:
        found = binding_of(view, creation)
        if isinstance(found, Denied):
            return found
        return self._rights.why_not(found.pattern, creation.resource_name) or found


async def create_acls(context: Context, access: Access, version: int, body: bytes) -> Answered:
    """Whole bodies in the client's names, in and out. Raises ProtocolError."""
    asked = messages.parse("CreateAclsRequest", version, body).creations
    if not access.authorizes:
        return _all(version, asked, NO_AUTHORIZER)
    if len(asked) > MAX_CREATIONS:
        text = f"{len(asked):,} ACLs are too many for one request; {MAX_CREATIONS:,} are not."
        return _all(version, asked, Denied(POLICY_VIOLATION, text, "request"))
    try:
        access = access.over(await renewed(context, access.view))
        rights = AclRights(access, Operation.ALTER)
        denied = rights.why_none()
        if denied is not None:
            return Answered(_all(version, asked, denied).body, {"kafka-cluster": denied})
        creations = Creations(access, rights, asked)
        if asked:
            await context.catalog.change(creations.decide)
    except OSError as error:
        return _all(version, asked, unavailable(error))
    _tell_of_deprecated(context, access, creations.made)
    return Answered(creation_response(version, creations.answers), creations.denied())


def is_too_large(acls: ResourceAcls) -> bool:
    """Whether a pattern has more entries than one record can hold."""
    if len(acls.entries) > MAX_ENTRIES:
        return True
    # Only long names make it worth while to look: an entry takes 60 bytes besides.
    longest = max(len(one.principal) + len(one.host) for one in acls.entries)
    if len(acls.entries) * (60 + 12 * longest) <= MAX_RECORD_BYTES:
        return False
    return len(encode_value(acls) or b"") > MAX_RECORD_BYTES


def _answer(
    one: AclBinding | Denied, full: dict[ResourcePattern, frozenset[AclEntry]]
) -> Denied | None:
    if isinstance(one, Denied):
        return one
    if one.pattern not in full or one.entry in full[one.pattern]:
        return None
    text = (
        f"A pattern has at most {MAX_ENTRIES:,} ACLs, or as many as fit in one record; one that is"
        " PREFIXED, or for User:*, may do in place of many."
    )
    return Denied(POLICY_VIOLATION, text, "request")


def _all(version: int, asked: Sequence[Any], why: Denied) -> Answered:
    return Answered(creation_response(version, [why] * len(asked)))


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
