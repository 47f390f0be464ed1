"""ACLs (KIP-140) and SCRAM credentials (KIP-554): DescribeAcls, CreateAcls, DeleteAcls,
DescribeUserScramCredentials and AlterUserScramCredentials (APIs 29 to 31, 50 and 51).

They are the catalog's, so the gateway answers them itself, by ``gateway.changes``, which checks the
rights of the principal and translates names; no broker is asked.
"""

from __future__ import annotations

from gateway.apis.own_changes import answered_by
from gateway.exchanges.api import Api
from gateway.rules.declaration import Do

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
