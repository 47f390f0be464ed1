"""ListGroups (API 16): the broker's list, cut to the groups of this view that may be described.

The request is forwarded unchanged. Group ids lose the prefix of the view's home.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from gateway.apis import generic
from gateway.apis.counting import count_errors
from gateway.apis.groups.classic_members import GROUP_ID
from gateway.exchanges.api import Api
from gateway.exchanges.exchange import Exchange
from gateway.exchanges.state import ConnectionState
from gateway.rules.declaration import Do
from gateway.rules.restore import ResponseRenamer
from protocol import messages
from protocol.pausing import paced
from protocol.splice import Edit


def response(
    state: ConnectionState, exchange: Exchange, buf: bytes, start: int, end: int
) -> list[Edit] | bytes:
    """Drop the groups that are outside the view, or may not be described; restore the others."""
    plan, access = exchange.plan, state.access
    spans = generic.response_spans(plan, buf, start, end)
    renamer = ResponseRenamer(access, state.worker.cluster.index, plan.flexible, None)
    renamer.add(spans)
    hidden = {
        value for kind, _, _, value in spans if kind == GROUP_ID and not access.lists_group(value)
    }
    hidden |= renamer.hidden_ids
    if not hidden:
        count_errors(exchange, renamer.errors)
        return renamer.edits
    body = without_groups(plan.version, buf[start:end], hidden)
    return generic.restored_body(state, exchange, body)


def without_groups(version: int, body: bytes, hidden: Collection[bytes]) -> bytes:
    """A ListGroupsResponse without the ``hidden`` ids (UTF-8). Raises ProtocolError."""
    response = messages.parse("ListGroupsResponse", version, body)
    groups = tuple(each for each in paced(response.groups) if each.group_id.encode() not in hidden)
    return messages.write(replace(response, groups=groups))


API = Api("ListGroups", (0, 5), Do.ABSENT, null=Do.FILTER, response=response)
