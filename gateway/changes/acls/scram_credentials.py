"""The SCRAM credentials of users (KIP-554): told, and changed on the catalog's newest state.

Users are the whole gateway's, so they are not managed from a home namespace.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gateway.acl_model import Operation
from gateway.catalog.entities import Change
from gateway.catalog.snapshot import Snapshot
from gateway.changes.base.batch import Answered
from gateway.changes.base.context import Context
from gateway.changes.base.refused import MAX_CHANGES, TOO_MANY_CHANGES, unavailable
from gateway.changes.base.resources import renewed
from gateway.decision import Denied
from gateway.error_codes import CLUSTER_AUTHORIZATION_FAILED
from gateway.rules import scram_messages
from gateway.rules.scram_messages import Alteration
from gateway.views.access import Access
from protocol import messages
from protocol.pausing import paced

_CLUSTER = "kafka-cluster"


async def describe_user_scram_credentials(
    context: Context, access: Access, version: int, body: bytes
) -> Answered:
    """Whole bodies in the client's names, in and out. Raises ProtocolError."""
    asked = messages.parse("DescribeUserScramCredentialsRequest", version, body)
    users = [user.name for user in paced(asked.users or ())]
    try:
        access = access.over(await renewed(context, access.view))
    except OSError as error:
        return Answered(scram_messages.description_error(version, unavailable(error), users))
    denied = _denied(access, Operation.DESCRIBE)
    if denied is not None:
        told = scram_messages.description_error(version, denied, users)
        return Answered(told, {_CLUSTER: denied})
    return Answered(scram_messages.description_response(version, access.view.snapshot, users))


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

    try:
        access = access.over(await renewed(context, access.view))
        denied = _denied(access, Operation.ALTER)
        if denied is not None:
            return Answered(_all(version, asked, denied), {_CLUSTER: denied})
        await context.catalog.change(decide)
    except OSError as error:
        return Answered(_all(version, asked, unavailable(error)))
    return Answered(scram_messages.alteration_response(version, decided[-1].answers))


def _all(version: int, asked: Any, why: Denied) -> bytes:
    return scram_messages.alteration_response(
        version, dict.fromkeys(scram_messages.users_of(asked), why)
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
