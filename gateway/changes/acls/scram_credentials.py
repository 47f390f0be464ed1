"""The SCRAM credentials of users (KIP-554): told, and changed on the catalog's newest state.

Users are the whole gateway's, so they are not managed from a home namespace.
"""

from __future__ import annotations

from collections.abc import Sequence

from gateway.acl_model import Operation
from gateway.catalog.entities import Change
from gateway.catalog.snapshot import Snapshot
from gateway.changes.acls.acl_rights import admitted
from gateway.changes.base.batch import Answered
from gateway.changes.base.context import Context
from gateway.changes.base.refused import MAX_CHANGES, TOO_MANY_CHANGES
from gateway.decision import Denied
from gateway.error_codes import CLUSTER_AUTHORIZATION_FAILED
from gateway.rules import scram_messages
from gateway.rules.scram_messages import Alteration
from gateway.views.access import Access
from protocol import messages
from protocol.pausing import paced


async def describe_user_scram_credentials(
    context: Context, access: Access, version: int, body: bytes
) -> Answered:
    """Whole bodies in the client's names, in and out. Raises ProtocolError."""
    asked = messages.parse("DescribeUserScramCredentialsRequest", version, body)
    users = [user.name for user in paced(asked.users or ())]

    async def describe(access: Access, _: None) -> Answered:
        snapshot = access.view.snapshot
        return Answered(scram_messages.description_response(version, snapshot, users))

    return await admitted(
        context,
        access,
        lambda newest: _denied(newest, Operation.DESCRIBE),
        lambda why: scram_messages.description_error(version, why, users),
        describe,
    )


async def alter_user_scram_credentials(
    context: Context, access: Access, version: int, body: bytes
) -> Answered:
    """Whole bodies in the client's names, in and out. Raises ProtocolError."""
    asked = messages.parse("AlterUserScramCredentialsRequest", version, body)
    decided: list[Alteration] = []

    def decide(snapshot: Snapshot) -> Sequence[Change]:
        alteration = scram_messages.alter(snapshot, asked)
        if len(alteration.changes) > MAX_CHANGES:
            alteration = Alteration(dict.fromkeys(alteration.answers, TOO_MANY_CHANGES), ())
        decided.append(alteration)
        return alteration.changes

    async def alter(access: Access, _: None) -> Answered:
        await context.catalog.change(decide)
        return Answered(scram_messages.alteration_response(version, decided[-1].answers))

    def reject(why: Denied) -> bytes:
        users = scram_messages.users_of(asked)
        return scram_messages.alteration_response(version, dict.fromkeys(users, why))

    return await admitted(
        context, access, lambda newest: _denied(newest, Operation.ALTER), reject, alter
    )


def _denied(access: Access, operation: Operation) -> Denied | None:
    home = access.view.settings.home
    if home:
        text = (
            "Users are the whole gateway's; they are managed where no home namespace is in force,"
            f" and '{home}' is here."
        )
        return Denied(CLUSTER_AUTHORIZATION_FAILED, text, "access")
    return access.cluster(operation)
