"""ListGroups (API 16): the groups of this view that may be described."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from gateway.apis import generic
from gateway.apis.counting import count_errors
from gateway.exchanges.api import Api, declare
from gateway.exchanges.exchange import Exchange
from gateway.exchanges.state import ConnectionState
from gateway.rules.declaration import Do
from gateway.rules.restore import ResponseRenamer
from protocol import messages
from protocol.entities import Kind
from protocol.pausing import paced
from protocol.splice import Edit

GROUP_ID = int(Kind.GROUP_ID)


def response(
    state: ConnectionState, exchange: Exchange, buf: bytes, start: int, end: int
) -> list[Edit] | bytes:
    """Only the groups of this view that may be described, without its home's prefix."""
    plan, access = exchange.plan, state.access
    spans = generic.response_spans(plan, buf, start, end)
    renamer = ResponseRenamer(state.access, state.worker.cluster.index, plan.flexible, None)
    renamer.add(spans)
    hidden = {
        value for kind, _, _, value in spans if kind == GROUP_ID and not access.lists_group(value)
    }
    if not hidden | renamer.hidden_ids:
        count_errors(exchange, renamer.errors)
        return renamer.edits
    body = keep(
        plan.version,
        buf[start:end],
        lambda group: group not in hidden and group not in renamer.hidden_ids,
    )
    spans = generic.response_spans(plan, body, 0, len(body))
    return generic.whole(body, generic.restore(state, exchange, body, 0, len(body), spans))


def keep(version: int, body: bytes, allowed: Callable[[bytes], bool]) -> bytes:
    """A ListGroupsResponse with the groups whose id (UTF-8) is ``allowed``.

    Raises ProtocolError.
    """
    response = messages.parse("ListGroupsResponse", version, body)
    groups = tuple(group for group in paced(response.groups) if allowed(group.group_id.encode()))
    return messages.write(replace(response, groups=groups))


API = declare(
    Api(
        "ListGroups",
        (0, 5),
        Do.ABSENT,
        null=Do.FILTER,
        response=response,
    )
)
