"""DescribeClientQuotas (API 48, KIP-546): answered here with an empty list.

The gateway has no quotas, but tools that show users request them as well. Needs DESCRIBE_CONFIGS on
the cluster.
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


async def _none(access: Access, version: int, body: bytes) -> Answered:
    """An empty list, or the error of a principal who may not describe the cluster's configs."""
    cls = messages.message_class("DescribeClientQuotasResponse", version)
    denied = access.cluster(_DESCRIBE_CONFIGS)
    if denied is None:
        return Answered(messages.write(make(cls, {"entries": ()})))
    values = {"error_code": denied.code, "error_message": denied.message, "entries": None}
    return Answered(messages.write(make(cls, values)), {"kafka-cluster": denied})


API = Api(
    "DescribeClientQuotas",
    (0, 1),
    Do.ABSENT,
    null=Do.ANSWER,
    why="there are none",
    request=answered_by(lambda _: _none),
)
