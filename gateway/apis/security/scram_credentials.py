"""The SCRAM credentials of users (KIP-554): described, and altered on the catalog's newest state.

Users belong to the whole gateway, so they cannot be managed from a home namespace.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from gateway.acl_model import Operation
from gateway.apis.security import scram_messages
from gateway.catalog.entities import Change
from gateway.changes.acls.acl_rights import CLUSTER, admit, commit
from gateway.changes.base.context import Answered, Batch, Context
from gateway.changes.base.rejected import MAX_CHANGES, TOO_MANY_CHANGES
from gateway.decision import Denied
from gateway.error_codes import CLUSTER_AUTHORIZATION_FAILED
from gateway.views.access import Access
from gateway.views.view import View
from protocol import messages
from protocol.pausing import paced


async def describe_user_scram_credentials(
    context: Context, access: Access, version: int, body: bytes
) -> Answered:
    """Describe credentials; whole bodies, in and out. Raises ProtocolError."""
    request = messages.parse("DescribeUserScramCredentialsRequest", version, body)
    users = [user.name for user in paced(request.users or ())]
    batch = Batch[str, None, None](context, access, (CLUSTER,))
    why = await admit(batch, _denial(Operation.DESCRIBE))
    if why is not None and why.code == CLUSTER_AUTHORIZATION_FAILED and access.view.settings.home:
        # Only the named users get the error, because an error of the whole request ends the process
        # of every client of librdkafka (2.x: an assertion fails).
        response = scram_messages.description_error(version, why, users, whole=False)
        return Answered(response, [(user, why) for user in dict.fromkeys(paced(users))])
    if why is not None:
        return batch.answered(scram_messages.description_error(version, why, users))
    return Answered(scram_messages.description_response(version, batch.view.snapshot, users))


async def alter_user_scram_credentials(
    context: Context, access: Access, version: int, body: bytes
) -> Answered:
    """Alter credentials; whole bodies, in and out. A request of more than ``MAX_CHANGES`` items is
    rejected before its items are decided. Raises ProtocolError."""
    request = messages.parse("AlterUserScramCredentialsRequest", version, body)
    batch = Batch[str, None, None](context, access, scram_messages.users_of(request))

    def decide(_: None, view: View) -> Sequence[Change]:
        alteration = scram_messages.alter(view.snapshot, request)
        batch.answers.update(alteration.answers)
        return alteration.changes

    rights_on = _denial(Operation.ALTER)
    if await admit(batch, rights_on) is None:
        if len(request.deletions) + len(request.upsertions) > MAX_CHANGES:
            batch.reject(TOO_MANY_CHANGES)
        else:
            await commit(batch, rights_on, decide)
    answers = dict(batch.results())
    return batch.answered(scram_messages.alteration_response(version, answers))


def _denial(operation: Operation) -> Callable[[Access], Denied | None]:
    """A function: access of the request -> the denial of an operation on users, or None."""

    def denial(access: Access) -> Denied | None:
        home = access.view.settings.home
        if not home:
            return access.cluster(operation)
        text = (
            "Users are the whole gateway's; they are managed where no home namespace is in force,"
            f" and '{home}' is here."
        )
        return Denied(CLUSTER_AUTHORIZATION_FAILED, text, "access")

    return denial
