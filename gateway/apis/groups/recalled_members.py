"""KIP-848 members that come from another gateway or worker: their broker is asked what it has of
them, over the client's own broker connection, so they go on and need not join again.

Where a login passes through, brokers decide over the client's names, and marks are none of those:
such members join again, and so do those of a volume that is not their node's.
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
"""Errors of a description with which a heartbeat is forwarded: its broker answers as much."""


def heard(state: ConnectionState) -> set[MemberKey] | None:
    """The members that this connection has heard of, or None if its broker cannot be asked."""
    if state.ask_broker is None or state.source.listener in state.worker.pass_through:
        return None
    if state.heard is None:
        state.heard = set()
    return state.heard


def spellings(state: ConnectionState) -> Spellings:
    """What flat names are to this client."""
    topics = state.view.snapshot.topics

    def moved(flat: bytes) -> bool:
        entry = topics.get(flat.decode(errors="replace"))
        return entry is not None and entry.topic_id is not None

    return Spellings(state.view.settings.scope, state.view.spell, moved)


def recalling(state: ConnectionState, key: MemberKey) -> Prepare:
    """Ask the broker about a member, and let the worker know."""
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
