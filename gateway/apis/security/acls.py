"""CreateAcls, DescribeAcls and DeleteAcls (KIP-140): the catalog's, so no broker is asked."""

from __future__ import annotations

from gateway.apis.own_changes import answered_by
from gateway.exchanges.api import Api, declare
from gateway.rules.declaration import Do

DESCRIBE_ACLS = declare(
    Api(
        "DescribeAcls",
        (1, 3),
        Do.ANSWER,
        null=Do.ANSWER,
        request=answered_by(lambda changes: changes.describe_acls),
    )
)

CREATE_ACLS = declare(
    Api(
        "CreateAcls",
        (1, 3),
        Do.ANSWER,
        request=answered_by(lambda changes: changes.create_acls),
    )
)

DELETE_ACLS = declare(
    Api(
        "DeleteAcls",
        (1, 3),
        Do.ANSWER,
        null=Do.ANSWER,
        request=answered_by(lambda changes: changes.delete_acls),
    )
)
