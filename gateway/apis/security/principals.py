"""The catalog's entities of principals: DescribeAcls, CreateAcls and DeleteAcls (APIs 29 to 31,
KIP-140), DescribeUserScramCredentials and AlterUserScramCredentials (50 and 51, KIP-554),
DescribeClientQuotas (48, KIP-546).

The gateway answers them itself: by ``gateway.changes``, which checks the rights of the principal
and translates names. It has no quotas, but tools that show users request them as well: the list is
empty, for principals with DESCRIBE_CONFIGS on the cluster.
"""

from __future__ import annotations

from typing import Final

from gateway.acl_model import Operation
from gateway.apis.own_changes import answered_by
from gateway.changes.base.batch import Answered
from gateway.exchanges.api import Api
from gateway.rules.declaration import Do
from gateway.rules.nested import make
from gateway.views.access import Access
from protocol import messages

_DESCRIBE_CONFIGS: Final = int(Operation.DESCRIBE_CONFIGS)


async def _no_quotas(access: Access, version: int, body: bytes) -> Answered:
    cls = messages.message_class("DescribeClientQuotasResponse", version)
    denied = access.cluster(_DESCRIBE_CONFIGS)
    if denied is None:
        return Answered(messages.write(make(cls, {"entries": ()})))
    values = {"error_code": denied.code, "error_message": denied.message, "entries": None}
    return Answered(messages.write(make(cls, values)), {"kafka-cluster": denied})


DESCRIBE_ACLS = Api(
    "DescribeAcls",
    (1, 3),
    Do.ANSWER,
    null=Do.ANSWER,
    request=answered_by(lambda changes: changes.describe_acls),
)
CREATE_ACLS = Api(
    "CreateAcls", (1, 3), Do.ANSWER, request=answered_by(lambda changes: changes.create_acls)
)
DELETE_ACLS = Api(
    "DeleteAcls",
    (1, 3),
    Do.ANSWER,
    null=Do.ANSWER,
    request=answered_by(lambda changes: changes.delete_acls),
)
DESCRIBE_USER_SCRAM_CREDENTIALS = Api(
    "DescribeUserScramCredentials",
    (0, 0),
    Do.ANSWER,
    null=Do.ANSWER,
    request=answered_by(lambda changes: changes.describe_user_scram_credentials),
)
ALTER_USER_SCRAM_CREDENTIALS = Api(
    "AlterUserScramCredentials",
    (0, 0),
    Do.ANSWER,
    request=answered_by(lambda changes: changes.alter_user_scram_credentials),
)
DESCRIBE_CLIENT_QUOTAS = Api(
    "DescribeClientQuotas",
    (0, 1),
    Do.ABSENT,
    null=Do.ANSWER,
    why="there are none",
    request=answered_by(lambda _: _no_quotas),
)
