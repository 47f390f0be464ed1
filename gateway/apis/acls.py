"""CreateAcls, DescribeAcls and DeleteAcls: the catalog's, so no broker is asked."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Final

from gateway.apis import generic
from gateway.apis.counting import count_errors, note_denials
from gateway.changes.base.batch import Answered
from gateway.exchanges.api import Api, declare
from gateway.exchanges.exchange import Exchange, Outcome, Work
from gateway.exchanges.state import ConnectionState
from gateway.rules.declaration import Do
from gateway.rules.rename import Refusals
from gateway.views.access import Access
from protocol.entities import Kind

Change = Callable[[Access, int, bytes], Awaitable[Answered]]

_ERROR_CODE: Final = int(Kind.ERROR_CODE)


def request(
    state: ConnectionState, exchange: Exchange, buf: bytes, start: int, end: int
) -> Outcome:
    """One of the three."""
    changes = state.worker.changes
    change: dict[str, Change] = {
        "CreateAcls": changes.create_acls,
        "DescribeAcls": changes.describe_acls,
        "DeleteAcls": changes.delete_acls,
    }
    return answered_by(change[exchange.plan.name], state, exchange, buf, start, end)


def answered_by(
    change: Change, state: ConnectionState, exchange: Exchange, buf: bytes, start: int, end: int
) -> Work:
    """The answer of a change that asks the catalog alone, its errors and denials counted."""
    plan = exchange.plan
    generic.request_spans(plan, buf, start, end)
    exchange.flow = state.flow(plan.api_key, plan.version, b"")
    body = buf[start:end]

    async def run() -> bytes:
        answered = await change(state.access, plan.version, body)
        spans = generic.response_spans(plan, answered.body, 0, len(answered.body))
        # An error code of 0 is none.
        codes = [span[3] for span in spans if span[0] == _ERROR_CODE]
        for why in answered.denied.values():
            if why.code in codes:
                codes.remove(why.code)  # it is counted with the denial
        note_denials(
            state,
            exchange,
            Refusals(ids={name.encode(): why for name, why in answered.denied.items()}),
        )
        count_errors(exchange, codes)
        return answered.body

    return Work(run)


DESCRIBE_ACLS = declare(
    Api(
        "DescribeAcls",
        (1, 3),
        Do.ANSWER,
        null=Do.ANSWER,
        request=request,
    )
)


CREATE_ACLS = declare(
    Api(
        "CreateAcls",
        (1, 3),
        Do.ANSWER,
        request=request,
    )
)


DELETE_ACLS = declare(
    Api(
        "DeleteAcls",
        (1, 3),
        Do.ANSWER,
        null=Do.ANSWER,
        request=request,
    )
)
