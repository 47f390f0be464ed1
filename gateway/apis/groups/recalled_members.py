"""Members of KIP-848 groups and of share groups that come from another gateway or worker: the
gateway queries their broker, over the client's own broker connection, so that they go on without
joining again.

If a login passes through, brokers decide over the client's names, and a mark is not such a name:
these members join again, and so do members of a volume other than their node's.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any, Final

from gateway.apis.groups.member_mark import Spellings, recall, with_mark
from gateway.apis.groups.subscriptions import is_elsewhere
from gateway.brokers.login_exchange import Ask
from gateway.decision import Denied
from gateway.error_codes import (
    COORDINATOR_LOAD_IN_PROGRESS,
    COORDINATOR_NOT_AVAILABLE,
    GROUP_ID_NOT_FOUND,
    NOT_COORDINATOR,
)
from gateway.exchanges.descriptions import DESCRIBE, DESCRIBE_VERSION
from gateway.exchanges.exchange import Forward, Prepare
from gateway.exchanges.state import ConnectionState
from gateway.rules.declaration import Shadows
from gateway.rules.group_members import Member
from gateway.rules.heartbeat_outcomes import Forward as Decided
from gateway.rules.heartbeat_outcomes import Unheard, Unknown
from gateway.rules.regex_subscriptions import hear
from gateway.views.access import DESCRIBE as DESCRIBE_TOPIC
from gateway.views.access import READ
from protocol.pausing import paced

_REGEX: Final = "subscribed_topic_regex"
"""Members of share groups have no expressions."""

_SAID_BY_THE_BROKER: Final = frozenset(
    {
        GROUP_ID_NOT_FOUND,
        COORDINATOR_LOAD_IN_PROGRESS,
        COORDINATOR_NOT_AVAILABLE,
        NOT_COORDINATOR,
    }
)
"""Errors of a description after which the heartbeat is forwarded: its broker returns the same."""


def heard(state: ConnectionState) -> set[int] | None:
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


def marked(state: ConnectionState, sent: Forward, decided: Decided) -> Forward:
    """A heartbeat (flat names) with its member's mark, if it subscribes a member that needs a
    mark."""
    member = decided.subscribes
    if member is None or decided.sent is None or heard(state) is None:
        return sent
    plan, reached = sent.plan, decided.sent.reached
    body = with_mark(plan.name, plan.version, sent.body, member, reached, spellings(state))
    return Forward(plan, body)


def recalling(
    state: ConnectionState,
    sought: Unheard,
    name: str = DESCRIBE,
    version: int = DESCRIBE_VERSION,
) -> Prepare:
    """Query the broker for a member's subscription, by the request with this ``name``, and pass it
    to the worker."""
    assert state.ask_broker is not None
    described = partial(state.worker.descriptions.of, name=name, version=version)
    return Prepare(partial(_recall, state, sought, state.ask_broker, described))


async def _recall(
    state: ConnectionState,
    sought: Unheard,
    ask: Ask,
    described: Callable[[str, Ask], Awaitable[Any]],
) -> None:
    key = sought.member
    group_id = key[1]
    flat = state.access.group(READ, group_id.encode())
    found: Member | Unknown = Unknown.FENCE
    if not isinstance(flat, Denied):
        group = await described(flat.decode(), ask)
        found = _found(state, group, sought)
    if isinstance(found, Member):
        await _prepare_elsewhere(state, found)
        hear(state.heard, key)
    state.worker.regexes.recalled(key, found)


async def _prepare_elsewhere(state: ConnectionState, member: Member) -> None:
    """Look up the topics that a member has in other volumes: its heartbeat is decided for good
    after it was recalled."""
    if state.tree is None:
        return
    far = state.tree.far(Shadows.MADE, final=False, thawed=True)
    for name in paced({*member.names, *member.reached.values()}):
        if is_elsewhere(state, name):
            far.topic(DESCRIBE_TOPIC, name.encode())  # an unknown name is looked up for it
            far.to_read(name.encode())
    if (prepare := far.preparation()) is not None:
        await prepare()


def _found(state: ConnectionState, group: Any, sought: Unheard) -> Member | Unknown:
    code = int(group.error_code)
    if code:
        return Unknown.FORWARD if code in _SAID_BY_THE_BROKER else Unknown.FENCE
    for member in group.members:
        is_same = sought.instance_id and member.instance_id == sought.instance_id
        if is_same or member.member_id == sought.member[2]:
            names, regex = member.subscribed_topic_names, getattr(member, _REGEX, None)
            member = recall(names, regex, spellings(state))
            return Unknown.FENCE if member is None else member
    return Unknown.FORWARD
