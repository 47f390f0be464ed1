"""KIP-848 members that come from another gateway or worker: the gateway queries their broker, over
the client's own broker connection, so that they go on without joining again.

If a login passes through, brokers decide over the client's names, and a mark is not such a name:
these members join again, and so do members of a volume other than their node's.
"""

from __future__ import annotations

from functools import partial
from typing import Any, Final

from gateway.apis.groups.member_mark import Spellings, recall
from gateway.brokers.login_exchange import Ask
from gateway.decision import Denied
from gateway.error_codes import (
    COORDINATOR_LOAD_IN_PROGRESS,
    COORDINATOR_NOT_AVAILABLE,
    GROUP_ID_NOT_FOUND,
    NOT_COORDINATOR,
)
from gateway.exchanges.exchange import Prepare
from gateway.exchanges.state import ConnectionState
from gateway.rules.group_members import Member, MemberKey
from gateway.rules.heartbeat_outcomes import Unknown
from gateway.rules.regex_subscriptions import hear
from gateway.views.access import READ

_SAID_BY_THE_BROKER: Final = frozenset(
    {
        GROUP_ID_NOT_FOUND,
        COORDINATOR_LOAD_IN_PROGRESS,
        COORDINATOR_NOT_AVAILABLE,
        NOT_COORDINATOR,
    }
)
"""Errors of a description after which the heartbeat is forwarded: its broker returns the same."""


def heard(state: ConnectionState) -> set[MemberKey] | None:
    """The members that this connection has heard of; None: its broker cannot be queried."""
    if state.ask_broker is None or state.source.listener in state.worker.pass_through:
        return None
    if state.heard is None:
        state.heard = set()
    return state.heard


def spellings(state: ConnectionState) -> Spellings:
    """This client's names for flat names."""
    topics = state.view.snapshot.topics

    def moved(flat: bytes) -> bool:
        entry = topics.get(flat.decode(errors="replace"))
        return entry is not None and entry.topic_id is not None

    return Spellings(state.view.settings.scope, state.view.spell, moved)


def recalling(state: ConnectionState, key: MemberKey) -> Prepare:
    """Query the broker for a member's subscription, and pass it to the worker."""
    assert state.ask_broker is not None
    return Prepare(partial(_recall, state, key, state.ask_broker))


async def _recall(state: ConnectionState, key: MemberKey, ask: Ask) -> None:
    _, group_id, member_id = key
    flat = state.access.group(READ, group_id.encode())
    found: Member | Unknown = Unknown.FENCE
    if not isinstance(flat, Denied):
        group = await state.worker.descriptions.of(flat.decode(), ask)
        found = _found(state, group, member_id)
    if isinstance(found, Member):
        hear(state.heard, key)
    state.worker.regexes.recalled(key, found)


def _found(state: ConnectionState, group: Any, member_id: str) -> Member | Unknown:
    code = int(group.error_code)
    if code:
        return Unknown.FORWARD if code in _SAID_BY_THE_BROKER else Unknown.FENCE
    for member in group.members:
        if member.member_id == member_id:
            names = member.subscribed_topic_names
            member = recall(names, member.subscribed_topic_regex, spellings(state))
            return Unknown.FENCE if member is None else member
    return Unknown.FORWARD
