"""DescribeAcls: the ACLs that a filter means, and that whoever asks may see."""

from __future__ import annotations

import asyncio
from typing import Final

from gateway.acl_model import AclBinding, Operation, ResourcePattern
from gateway.changes.acl_rights import NO_AUTHORIZER, AclRights
from gateway.changes.answered import Answered
from gateway.changes.context import Context
from gateway.changes.refused import unavailable
from gateway.changes.resources import renewed
from gateway.decision import Denied
from gateway.rules.acl_filters import Meant
from gateway.rules.acl_messages import description_error, description_response, filter_of
from gateway.views.access import Access
from protocol import messages

_AT_ONCE: Final = 1_000
"""ACLs that are looked at in one go."""


async def describe_acls(context: Context, access: Access, version: int, body: bytes) -> Answered:
    """Whole bodies in the client's names, in and out. Raises ProtocolError."""
    asked = messages.parse("DescribeAclsRequest", version, body)
    if not access.authorizes:
        return Answered(description_error(version, NO_AUTHORIZER))
    try:
        access = access.over(await renewed(context, access.view))
    except OSError as error:
        return Answered(description_error(version, unavailable(error)))
    rights = AclRights(access, Operation.DESCRIBE)
    denied = rights.why_none()
    if denied is not None:
        return Answered(description_error(version, denied), {"kafka-cluster": denied})
    wanted = filter_of(access.view, asked)
    if isinstance(wanted, Denied):
        return Answered(description_error(version, wanted))
    shown = await _shown(access, rights, wanted)
    if len(shown) <= _AT_ONCE:
        return Answered(description_response(version, shown))
    # Seconds for 100,000 of them, in which others want to go on.
    return Answered(await asyncio.to_thread(description_response, version, shown))


async def _shown(access: Access, rights: AclRights, wanted: Meant) -> list[AclBinding]:
    """The ACLs, once each, with their patterns as they are shown."""
    # All at once, before anyone changes them.
    found = dict.fromkeys(binding for one in wanted.filters for binding in access.acls(one))
    patterns: dict[ResourcePattern, ResourcePattern | None] = {}
    shown: list[AclBinding] = []
    for number, binding in enumerate(found, 1):
        if not number % _AT_ONCE:
            await asyncio.sleep(0)
        pattern = binding.pattern
        if pattern not in patterns:
            patterns[pattern] = wanted.shown(pattern) if rights.cover(pattern) else None
        as_shown = patterns[pattern]
        if as_shown is not None:
            shown.append(AclBinding(as_shown, binding.entry))
    return shown
