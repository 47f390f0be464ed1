"""DescribeUserScramCredentials and AlterUserScramCredentials (KIP-554): the catalog's too."""

from __future__ import annotations

from gateway.apis.own_changes import answered_by
from gateway.exchanges.api import Api, declare
from gateway.rules.declaration import Do

DESCRIBE_USER_SCRAM_CREDENTIALS = declare(
    Api(
        "DescribeUserScramCredentials",
        (0, 0),
        Do.ANSWER,
        null=Do.ANSWER,
        request=answered_by(lambda changes: changes.describe_user_scram_credentials),
    )
)

ALTER_USER_SCRAM_CREDENTIALS = declare(
    Api(
        "AlterUserScramCredentials",
        (0, 0),
        Do.ANSWER,
        request=answered_by(lambda changes: changes.alter_user_scram_credentials),
    )
)
