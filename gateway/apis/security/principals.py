"""The catalog's entities of principals: DescribeAcls, CreateAcls and DeleteAcls (APIs 29 to 31,
KIP-140), DescribeUserScramCredentials and AlterUserScramCredentials (50 and 51, KIP-554),
DescribeClientQuotas (48, KIP-546).

The gateway answers them itself: by ``gateway.changes``, which checks the rights of the principal
and translates names. It has no quotas, but tools that show users request them as well: the list is
empty, for principals with DESCRIBE_CONFIGS on the cluster.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from gateway.acl_model import Operation
from gateway.apis.own_changes import Change, answered_by
from gateway.changes.acls.copied_acls import (
    copies_acls,
    creating_none_of_namespaces,
    describing_none_of_namespaces,
)
from gateway.changes.base.context import Answered
from gateway.exchanges.api import Api
from gateway.exchanges.exchange import Exchange, Outcome, RequestHandler
from gateway.exchanges.state import ConnectionState
from gateway.exchanges.worker_state import Changes
from gateway.rules.declaration import Do
from gateway.views.access import Access
from protocol import messages
from protocol.messages import make

_DESCRIBE_CONFIGS: Final = int(Operation.DESCRIBE_CONFIGS)


async def _no_quotas(access: Access, version: int, body: bytes) -> Answered:
    cls = messages.message_class("DescribeClientQuotasResponse", version)
    denied = access.cluster(_DESCRIBE_CONFIGS)
    if denied is None:
        return Answered(messages.write(make(cls, {"entries": ()})))
    values = {"error_code": denied.code, "error_message": denied.message, "entries": None}
    return Answered(messages.write(make(cls, values)), {"kafka-cluster": denied})


def _api(
    name: str,
    span: tuple[int, int],
    change_of: Callable[[Changes], Change],
    null: Do = Do.ABSENT,
    copied: Callable[[Change], Change] | None = None,
) -> Api:
    """``copied``: what the change is for MirrorMaker's admin clients, which copy ACLs."""
    request = answered_by(change_of)
    if copied is not None:
        request = _or_copying(request, answered_by(lambda changes: copied(change_of(changes))))
    return Api(name, span, Do.ANSWER, null=null, request=request)


def _or_copying(plain: RequestHandler, copying: RequestHandler) -> RequestHandler:
    def request(
        state: ConnectionState, exchange: Exchange, buf: bytes, start: int, end: int
    ) -> Outcome:
        handler = copying if copies_acls(state.client_id) else plain
        return handler(state, exchange, buf, start, end)

    return request


DESCRIBE_ACLS = _api(
    "DescribeAcls",
    (1, 3),
    lambda changes: changes.describe_acls,
    Do.ANSWER,
    describing_none_of_namespaces,
)
CREATE_ACLS = _api(
    "CreateAcls",
    (1, 3),
    lambda changes: changes.create_acls,
    copied=creating_none_of_namespaces,
)
DELETE_ACLS = _api("DeleteAcls", (1, 3), lambda changes: changes.delete_acls, Do.ANSWER)
DESCRIBE_USER_SCRAM_CREDENTIALS = _api(
    "DescribeUserScramCredentials",
    (0, 0),
    lambda changes: changes.describe_user_scram_credentials,
    Do.ANSWER,
)
ALTER_USER_SCRAM_CREDENTIALS = _api(
    "AlterUserScramCredentials", (0, 0), lambda changes: changes.alter_user_scram_credentials
)
DESCRIBE_CLIENT_QUOTAS = Api(
    "DescribeClientQuotas",
    (0, 1),
    Do.ABSENT,
    null=Do.ANSWER,
    why="there are none",
    request=answered_by(lambda _: _no_quotas),
)
