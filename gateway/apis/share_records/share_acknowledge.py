"""ShareAcknowledge (API 79, KIP-932): what a member of a share group did with records.

Needs READ on the group and on each topic. Topics are named by id. A request of a share session that
this connection did not open gets SHARE_SESSION_NOT_FOUND.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from gateway.apis import generic
from gateway.apis.share_records.share_sessions import (
    FINAL_EPOCH,
    FIRST_EPOCH,
    NO_LEADER,
    NO_MEMBER,
    no_session,
    share_session_key,
)
from gateway.exchanges.api import Api
from gateway.exchanges.exchange import Answer, Exchange, Outcome, Refresh
from gateway.exchanges.kept import Kept
from gateway.exchanges.share_session import ShareSessionKey
from gateway.exchanges.state import ConnectionState
from gateway.rules.declaration import READ, Do, Needs, Topics, TopicShape
from protocol import messages
from protocol.splice import Edit

_PARTITIONS: Final = ("partitions", "partition_index")


@dataclass(frozen=True, slots=True)
class LastOfSession(Kept):
    """The session that a request ends."""

    key: ShareSessionKey


def request(
    state: ConnectionState, exchange: Exchange, buf: bytes, start: int, end: int
) -> Outcome:
    """Forward what the client may acknowledge, if the session is this connection's."""
    plan, body = exchange.plan, buf[start:end]
    outcome = generic.request(state, exchange, buf, start, end)
    if isinstance(outcome, (Answer, Refresh)):
        return outcome
    asked = messages.parse(f"{plan.name}Request", plan.version, body)
    key, epoch = share_session_key(exchange.ids or set(), asked), asked.share_session_epoch
    if key is None:
        return generic.answer_error(exchange, body, NO_MEMBER)
    if epoch != FIRST_EPOCH and state.share_session(key) is None:  # a broker rejects the first
        return no_session(exchange, body)
    if epoch == FINAL_EPOCH:
        exchange.kept = LastOfSession(key)
    return outcome


def response(
    state: ConnectionState, exchange: Exchange, buf: bytes, start: int, end: int
) -> list[Edit] | bytes:
    """Restore topic ids, addresses and texts."""
    if isinstance(exchange.kept, LastOfSession):
        state.keep_share_session(exchange.kept.key, None)
    return generic.response(state, exchange, buf, start, end)


API = Api(
    "ShareAcknowledge",
    (1, 2),
    Do.ABSENT,
    by_id=Do.CHECK,
    needs=Needs(topic=READ, group=READ),
    topics=(
        TopicShape(
            Topics("topics", "name", *_PARTITIONS),
            Topics("responses", "name", *_PARTITIONS),
            {"current_leader": NO_LEADER},
            always_asked=True,
            error_of_all=True,
        ),
    ),
    request=request,
    response=response,
)
