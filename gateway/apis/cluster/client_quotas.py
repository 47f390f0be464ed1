"""DescribeClientQuotas (KIP-546): there are none. Tools that show users ask for them as well."""

from __future__ import annotations

from typing import Final

from gateway.acl_model import Operation
from gateway.apis.own_changes import answered_by
from gateway.changes.base.batch import Answered
from gateway.exchanges.api import Api, declare
from gateway.rules.declaration import Do
from gateway.views.access import Access
from protocol import messages
from protocol.messages import make

_DESCRIBE_CONFIGS: Final = int(Operation.DESCRIBE_CONFIGS)


async def _none(access: Access, version: int, body: bytes) -> Answered:
    """An empty list, for those who may describe the cluster's configs."""
    cls = messages.message_class("DescribeClientQuotasResponse", version)
    denied = access.cluster(_DESCRIBE_CONFIGS)
    if denied is None:
        return Answered(messages.write(make(cls, {"entries": ()})))
    values = {"error_code": denied.code, "error_message": denied.message, "entries": None}
    return Answered(messages.write(make(cls, values)), {"kafka-cluster": denied})


API = declare(
    Api(
        "DescribeClientQuotas",
        (0, 1),
        Do.ABSENT,
        null=Do.ANSWER,
        why="there are none",
        request=answered_by(lambda _: _none),
    )
)
