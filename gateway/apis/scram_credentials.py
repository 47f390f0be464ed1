"""DescribeUserScramCredentials and AlterUserScramCredentials: the catalog's, as ACLs are."""

from __future__ import annotations

from gateway.apis.acls import Change, answered_by
from gateway.exchanges.api import Api, declare
from gateway.exchanges.exchange import Exchange, Outcome
from gateway.exchanges.state import ConnectionState
from gateway.rules.declaration import Do


def request(
    state: ConnectionState, exchange: Exchange, buf: bytes, start: int, end: int
) -> Outcome:
    """Either of the two."""
    changes = state.worker.changes
    change: dict[str, Change] = {
        "DescribeUserScramCredentials": changes.describe_user_scram_credentials,
        "AlterUserScramCredentials": changes.alter_user_scram_credentials,
    }
    return answered_by(change[exchange.plan.name], state, exchange, buf, start, end)


DESCRIBE_USER_SCRAM_CREDENTIALS = declare(
    Api(
        "DescribeUserScramCredentials",
        (0, 0),
        Do.ANSWER,
        null=Do.ANSWER,
        request=request,
    )
)


ALTER_USER_SCRAM_CREDENTIALS = declare(
    Api(
        "AlterUserScramCredentials",
        (0, 0),
        Do.ANSWER,
        request=request,
    )
)
