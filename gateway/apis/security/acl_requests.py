"""DescribeAcls, CreateAcls and DeleteAcls.

Creations and deletions are decided whole, on the newest state of the catalog, in the writer's turn.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from itertools import chain
from typing import Any, Final

from gateway.acl_model import (
    WILDCARD,
    AclBinding,
    AclEntry,
    Operation,
    Permission,
    ResourcePattern,
)
from gateway.apis.security.acl_messages import (
    binding_of,
    creation_response,
    deletion_response,
    description_error,
    description_response,
    filter_of,
    matches_nothing,
)
from gateway.catalog.entities import Change, Removal, ResourceAcls, key_of
from gateway.catalog.snapshot import Snapshot
from gateway.changes.acls.acl_limits import MAX_ENTRIES, AclLimits, is_held, is_too_large
from gateway.changes.acls.acl_rights import CLUSTER, AclRights, admit, commit, to_acls
from gateway.changes.base.catalog_limits import CatalogLimits
from gateway.changes.base.context import Answered, Batch, Context
from gateway.decision import Denied
from gateway.error_codes import POLICY_VIOLATION
from gateway.rules.acl_names import ResolvedFilter
from gateway.views.access import Access
from gateway.views.view import View
from protocol import messages
from protocol.pausing import let_go, paced

log = logging.getLogger(__name__)

MAX_CREATIONS: Final = 10_000
"""ACLs in one request, as in Kafka (QuorumController.MAX_RECORDS_PER_USER_OP)."""

MAX_DELETIONS: Final = 10_000
"""ACLs that one request deletes, as in Kafka (AclControlManager)."""

MAX_OPEN_FILTERS: Final = 100
"""Filters of one request that scan all ACLs."""

_MAX_SHOWN: Final = 10

_FULL: Final = Denied(
    POLICY_VIOLATION,
    f"A pattern has at most {MAX_ENTRIES:,} ACLs, or as many as fit in one record; one that is"
    " PREFIXED, or for User:*, may do in place of many.",
    "request",
)
_TOO_MANY: Final = Denied(
    POLICY_VIOLATION,
    f"One request deletes at most {MAX_DELETIONS:,} ACLs; this filter means more. Delete some of"
    " them first, by principal or resource.",
    "request",
)
_TOO_MANY_FILTERS: Final = Denied(
    POLICY_VIOLATION,
    f"One request has at most {MAX_OPEN_FILTERS:,} filters without a resource name, or of type"
    " MATCH; send the others in requests of their own.",
    "request",
)

Entries = dict[ResourcePattern, set[AclEntry]]


# -- DescribeAcls ----------------------------------------------------------------------------------


async def describe_acls(context: Context, access: Access, version: int, body: bytes) -> Answered:
    """Describe ACLs; whole bodies in the client's names, in and out. Raises ProtocolError."""
    request = messages.parse("DescribeAclsRequest", version, body)
    batch = Batch[str, None, None](context, access, (CLUSTER,))
    rights = await admit(batch, to_acls(batch, Operation.DESCRIBE))
    if isinstance(rights, Denied):
        return batch.answered(description_error(version, rights))
    if matches_nothing(request):
        return Answered(description_response(version, ()))
    wanted = filter_of(batch.view, request)
    if isinstance(wanted, Denied):
        batch.reject(wanted)
        return batch.answered(description_error(version, wanted))
    return Answered(description_response(version, _shown(batch.access, rights, wanted)))


def _shown(access: Access, rights: AclRights, wanted: ResolvedFilter) -> list[AclBinding]:
    """The ACLs, each once, with their patterns in the client's spelling."""
    # Asked for together, before the first pause, so that all ACLs are of the same state.
    asked = [access.acls(one) for one in wanted.filters]
    patterns: dict[ResourcePattern, ResourcePattern | None] = {}
    shown: dict[AclBinding, AclBinding] = {}
    for binding in chain.from_iterable(asked):
        pattern = binding.pattern
        if pattern not in patterns:
            patterns[pattern] = wanted.shown(pattern) if rights.cover(pattern) else None
        as_shown = patterns[pattern]
        if as_shown is not None:
            shown[binding] = AclBinding(as_shown, binding.entry)
    found, keys = list(shown.values()), list(shown)
    shown.clear()
    let_go(keys)
    return found


# -- CreateAcls ------------------------------------------------------------------------------------


async def create_acls(context: Context, access: Access, version: int, body: bytes) -> Answered:
    """Create ACLs; whole bodies in the client's names, in and out. Raises ProtocolError."""
    creations = messages.parse("CreateAclsRequest", version, body).creations
    numbers = range(len(creations))
    batch = Batch[int, AclBinding, None](
        context, access, numbers, spelled=lambda number: creations[number].resource_name
    )
    limits = AclLimits(CatalogLimits(context, access))
    made: list[AclBinding] = []
    if access.authorizes and len(creations) > MAX_CREATIONS:
        text = f"{len(creations):,} ACLs are too many for one request; {MAX_CREATIONS:,} are not."
        batch.reject(Denied(POLICY_VIOLATION, text, "request"))
    else:
        alters = to_acls(
            batch, Operation.ALTER, lambda view, number: _pattern_of(view, creations[number])
        )

        def rights_on(access: Access) -> AclRights | Denied:
            made.clear()
            limits.restart(access.view.snapshot)
            return alters(access)

        def decide(rights: AclRights, view: View) -> Sequence[Change]:
            return _creation(batch, rights, creations, view, made, limits)

        if isinstance(await admit(batch, rights_on), AclRights) and creations:
            await commit(batch, rights_on, decide)
            limits.answer(batch, creations)
    _warn_of_deprecated(context, access, made)
    answers = [answer for _, answer in batch.results()]
    return batch.answered(creation_response(version, answers))


def _pattern_of(view: View, creation: Any) -> ResourcePattern | None:
    """The pattern of the ACL that a creation requests; None if the pattern is not valid."""
    found = binding_of(view, creation)
    return None if isinstance(found, Denied) else found.pattern


def _creation(
    batch: Batch[int, AclBinding, None],
    rights: AclRights,
    creations: Sequence[Any],
    view: View,
    made: list[AclBinding],
    limits: AclLimits,
) -> Sequence[Change]:
    """The patterns that get entries, in their new state; ``made`` collects the new ACLs. ACLs over
    the limits stay without an answer. May be decided more than once."""
    snapshot = view.snapshot
    wanted: Entries = {}
    for number, creation in enumerate(paced(creations)):
        found = binding_of(view, creation)
        if isinstance(found, AclBinding):
            why = rights.why_not(found.pattern, creation.resource_name)
            if why is None:
                batch.left[number] = found
                wanted.setdefault(found.pattern, set()).add(found.entry)
                continue
            found = why
        batch.answer(number, found)
    changes: list[Change] = []
    full: dict[ResourcePattern, frozenset[AclEntry]] = {}
    for pattern, entries in paced(wanted.items()):
        known = snapshot.acls.get(pattern)
        before: frozenset[AclEntry] = frozenset() if known is None else known.entries
        after = ResourceAcls(pattern, before.union(entries))
        if len(after.entries) == len(before):
            continue
        if is_too_large(after):
            full[pattern] = before
            continue
        if limits.exceeded(snapshot, after):
            continue
        changes.append(after)
        made += [AclBinding(pattern, entry) for entry in entries - before]
    for number, one in paced(list(batch.left.items())):
        if one.pattern not in limits.found or is_held(snapshot, one):
            fits = one.pattern not in full or one.entry in full[one.pattern]
            batch.answer(number, None if fits else _FULL)
    return changes


def _warn_of_deprecated(context: Context, access: Access, made: Sequence[AclBinding]) -> None:
    """Log grants of IDEMPOTENT_WRITE: KIP-679 deprecates it, because WRITE on a topic is enough."""
    deprecated = Operation.IDEMPOTENT_WRITE
    entries = [one.entry for one in made if one.entry.operation is deprecated]
    granted = [one for one in entries if one.permission is Permission.ALLOW]
    if not granted:
        return
    context.deprecated_grants[deprecated.name] += len(granted)
    shown = sorted({one.principal for one in granted})
    more = f" and {len(shown) - _MAX_SHOWN} more" if len(shown) > _MAX_SHOWN else ""
    log.warning(
        "%r grants IDEMPOTENT_WRITE, which is deprecated (KIP-679: WRITE on a topic is enough),"
        " to %s%s",
        access.principal,
        ", ".join(map(repr, shown[:_MAX_SHOWN])),
        more,
    )


# -- DeleteAcls ------------------------------------------------------------------------------------


async def delete_acls(context: Context, access: Access, version: int, body: bytes) -> Answered:
    """Delete ACLs; whole bodies in the client's names, in and out. Raises ProtocolError."""
    filters = messages.parse("DeleteAclsRequest", version, body).filters
    batch = Batch[int, None, list[AclBinding]](
        context,
        access,
        range(len(filters)),
        spelled=lambda number: filters[number].resource_name_filter or WILDCARD,
    )
    rights_on = to_acls(
        batch, Operation.ALTER, lambda view, number: _pattern_named(view, filters[number])
    )
    if isinstance(await admit(batch, rights_on), AclRights) and filters:
        await commit(batch, rights_on, lambda rights, view: _deletion(batch, rights, filters, view))
    results = [result for _, result in batch.results()]
    return batch.answered(deletion_response(version, results))


def _pattern_named(view: View, requested: Any) -> ResourcePattern | None:
    """The first pattern that a filter names; None for a filter without a name."""
    found = filter_of(view, requested)
    if isinstance(found, Denied) or not found.names:
        return None
    return next(iter(found.patterns()), None)


def _deletion(
    batch: Batch[int, None, list[AclBinding]],
    rights: AclRights,
    filters: Sequence[Any],
    view: View,
) -> Sequence[Change]:
    """The patterns that lose entries; a pattern without entries is removed. All filters apply to
    the same state. May be decided more than once."""
    snapshot = view.snapshot
    gone: Entries = {}
    still_open = MAX_OPEN_FILTERS
    for number, one in enumerate(paced(filters)):
        wanted = filter_of(view, one)
        if isinstance(wanted, ResolvedFilter) and wanted.scans:
            still_open -= 1
        if still_open < 0:
            wanted = _TOO_MANY_FILTERS
        if isinstance(wanted, Denied):
            batch.answer(number, wanted)
            continue
        why = None
        if wanted.names:
            # A filter without a name deletes only the ACLs that the principal may delete.
            name = one.resource_name_filter
            denials = [rights.why_not(pattern, name) for pattern in wanted.patterns()]
            why = denials[0] if denials and all(denials) else None
        batch.answer(number, why or _delete(rights, snapshot, wanted, gone))
    changes: list[Change] = []
    for pattern, entries in paced(gone.items()):
        known = snapshot.acls[pattern]
        left = known.entries - entries
        changes.append(ResourceAcls(pattern, left) if left else Removal(key_of(known)))
    return changes


def _delete(
    rights: AclRights, snapshot: Snapshot, wanted: ResolvedFilter, gone: Entries
) -> list[AclBinding] | Denied:
    """The ACLs that one filter deletes, in the client's spelling; they are added to ``gone``."""
    found: dict[ResourcePattern, frozenset[AclEntry]] = {}
    result: list[AclBinding] = []
    count = sum(map(len, gone.values()))
    for pattern, shown, entries in wanted.in_catalog(snapshot):
        if rights.cover(pattern):
            count += len(entries - gone.get(pattern, set()))
            if count > MAX_DELETIONS:
                return _TOO_MANY
            found[pattern] = entries
            result += [AclBinding(shown, entry) for entry in entries]
    for pattern, entries in found.items():
        gone.setdefault(pattern, set()).update(entries)
    return result
