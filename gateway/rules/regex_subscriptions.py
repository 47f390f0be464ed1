"""Subscriptions of group members by regular expression (KIP-848), evaluated here.

A broker would evaluate a client's expression over flat names of every namespace. So the gateway
evaluates it over the names that the client may see and subscribes it to those by name, again
whenever that set of names has changed. It also remembers by which names a member reached its
topics, and fences one whose topic was moved. A member that comes from another gateway or worker is
read back from its broker (gateway/apis/groups/member_mark.py). Where heartbeats have no expressions
yet, those of a member that this worker does not know are forwarded unchanged.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping
from dataclasses import replace
from typing import Any, Final

from gateway.decision import Denied
from gateway.error_codes import (
    FENCED_INSTANCE_ID,
    FENCED_MEMBER_EPOCH,
    INVALID_REGULAR_EXPRESSION,
    INVALID_REQUEST,
    UNKNOWN_MEMBER_ID,
    UNRELEASED_INSTANCE_ID,
)
from gateway.rules.group_members import (
    MAX_MEMBERS,
    GroupMembers,
    InvalidTopicRegex,
    Member,
    MemberKey,
    Names,
    Reach,
    is_long,
)
from gateway.rules.heartbeat_outcomes import NO_NAMES, Forward, Sent, Unheard, Unknown
from protocol import messages
from protocol.messages import changed
from protocol.pausing import paced

JOINING_EPOCH: Final = 0
"""A member (re)joins with epoch 0 and its full state, and leaves with a negative epoch."""

MEMBERSHIP_ENDED: Final = frozenset(
    {UNKNOWN_MEMBER_ID, FENCED_INSTANCE_ID, FENCED_MEMBER_EPOCH, UNRELEASED_INSTANCE_ID}
)
"""Errors that end a membership, until the member joins again with its full state."""

MAX_NAMES: Final = 10_000
"""Names that one member may subscribe to."""

LONGEST_NAME: Final = 300
"""Characters: more than a topic's name has in any spelling."""

MAX_HEARD: Final = 1_000
"""Members that one connection may have heard of; with more, all are asked for again."""

MAX_UNKNOWN: Final = 10_000
"""Members that were asked for and not found, until they are decided."""


class RegexSubscriptions:
    """The subscriptions of group members that a worker knows: in memory only, bounded per scope.

    A member that was forgotten, or joined through another worker, is recalled from its broker where
    that can be asked, else fenced at its next heartbeat, and so joins anew with its full state.
    """

    def __init__(self, max_members: int = MAX_MEMBERS) -> None:
        self._members = GroupMembers(max_members)
        self._unknown: OrderedDict[MemberKey, Unknown] = OrderedDict()

    def __len__(self) -> int:
        return len(self._members)

    def on_request(
        self,
        request: Any,
        body: bytes,
        listing: Callable[[], Names],
        scope: Hashable = None,
        reach: Reach = str.encode,
        meaning: Hashable = None,
        heard: set[MemberKey] | None = None,
        has_regex: bool = True,
    ) -> Forward | Denied | Unheard:
        """Decide a heartbeat, in the client's names: the entity, and the ``body`` that it was read
        from. ``has_regex``: its version has a field for an expression.

        ``listing`` gives the topics that the client may see; it is called only to evaluate an
        expression. ``reach`` gives the flat name behind a name, None if there is none: a member
        that was subscribed to a topic under a name that does not reach it any more is fenced, so
        that it joins again and learns the topic's present name and id. ``scope`` is what names
        depend on (the listener, the principal): it keeps members apart that only seem to be in one
        group. While ``meaning`` is the same (None: never) names reach what they reached, so what
        was evaluated for one heartbeat serves the next. ``heard`` are the members that this
        connection has heard of: one may have been elsewhere meanwhile, and have changed its
        subscription there. None: brokers cannot be asked. Raises ProtocolError.
        """
        key = (scope, request.group_id, request.member_id)
        if request.member_epoch < JOINING_EPOCH:
            self._members.forget(key)
            return Forward(body, None)
        member = self._member(key, request, heard, has_regex=has_regex)
        if member is Unknown.FORWARD:
            return Forward(body, None)
        if not isinstance(member, Member):
            return self._fenced(key) if member is Unknown.FENCE else Unheard(key)
        had_regex = bool(member.pattern)
        if len(request.subscribed_topic_names or ()) > MAX_NAMES:
            why = f"A member may subscribe to {MAX_NAMES} topics by name at most."
            return Denied(INVALID_REQUEST, why, "request")
        try:
            before = member.weight
            self._apply(scope, member, request)
        except InvalidTopicRegex as error:
            shown = request.subscribed_topic_regex[:LONGEST_NAME]
            why = f"SubscribedTopicRegex '{shown}' is not valid: {error}."
            return Denied(INVALID_REGULAR_EXPRESSION, why, "request")
        names = listing() if member.pattern else NO_NAMES
        names_version = names.version
        found = self._members.subscription(scope, member, names, meaning, reach)
        wanted, reached = found.wanted, found.reached
        if request.member_epoch != JOINING_EPOCH and _renamed(member.reached, reached, reach):
            self._members.forget(key)
            self._members.fence(key)
            why = "A topic of this member's subscription was moved or deleted; it must join again."
            return Denied(FENCED_MEMBER_EPOCH, why, "request")
        kept = self._members.heard(key, member, member.weight - before)
        new = None if kept else member
        sent = Sent(key, None, names_version, new, reached)
        if not member.pattern and not had_regex:
            return _by_name(request, body, member, sent, found.reaching)
        is_explicit = _is_given(request) or request.member_epoch == JOINING_EPOCH
        current = member.accepted is not None and member.names_version == names_version
        if current and not is_explicit:
            return Forward(body, sent)
        if wanted == member.accepted and not is_explicit:
            member.names_version = names_version
            return Forward(body, sent)
        # Unknown until the broker responds; after a failure the names are sent again.
        member.accepted = None
        by_name = changed(
            request, {"subscribed_topic_names": wanted, "subscribed_topic_regex": None}
        )
        return Forward(messages.write(by_name), replace(sent, names=wanted), member)

    def recalled(self, key: MemberKey, found: Member | Unknown) -> None:
        """Take what is known of a member by its broker."""
        if isinstance(found, Member):
            try:
                if found.pattern:
                    self._members.compiled(key[0], found.pattern)
                self._members.remember(key, found)
            except InvalidTopicRegex:
                found = Unknown.FENCE
            else:
                return
        if found is Unknown.FENCE:
            self._members.forget(key)
        self._unknown[key] = found
        while len(self._unknown) > MAX_UNKNOWN:
            self._unknown.popitem(last=False)

    def _member(
        self, key: MemberKey, request: Any, heard: set[MemberKey] | None, *, has_regex: bool
    ) -> Member | Unknown | None:
        """The member that sends a heartbeat; None: its broker must be asked first, because this
        connection has not heard of it, and the heartbeat neither says all nor repeats what was
        fenced."""
        if request.member_epoch == JOINING_EPOCH:
            hear(heard, key)
            return Member()
        told = self._unknown.pop(key, None)
        if told is not None:
            return told
        if _is_complete(request) or self._members.is_fenced(key):
            hear(heard, key)
        elif heard is not None and has_regex and key not in heard:
            return None
        known = self._known(key, request)
        if known is not None:
            return known
        return Unknown.FENCE if has_regex else Unknown.FORWARD

    def _fenced(self, key: MemberKey) -> Denied:
        self._members.fence(key)
        why = "The subscription of this member is not known here; it must join again."
        return Denied(FENCED_MEMBER_EPOCH, why, "request")

    def on_response(self, sent: Sent, response: Any) -> None:
        """Learn from the broker's response to a forwarded heartbeat."""
        code = response.error_code
        if code in MEMBERSHIP_ENDED:
            self._members.forget(sent.member)
        if code:
            return
        scope, group_id, member_id = sent.member
        # In the first version the broker names the member when it joins.
        key = (scope, group_id, member_id or response.member_id or "")
        if sent.new is not None:
            self._members.remember(key, sent.new)
        member = self._members.get(key)
        if member is None:
            return
        member.reached = sent.reached
        if sent.names is not None:
            member.accepted = sent.names
            member.names_version = sent.names_version

    def _known(self, key: MemberKey, request: Any) -> Member | None:
        """The member, if this worker knows its subscription.

        One that sends the same heartbeat after it was fenced counts as a member without an
        expression, so that it is not fenced for ever.
        """
        member = self._members.get(key)
        if member is not None:
            return member
        return Member() if _is_complete(request) or self._members.is_fenced(key) else None

    def _apply(self, scope: Hashable, member: Member, request: Any) -> None:
        """Apply the heartbeat's subscription: null means unchanged, an empty expression none. An
        invalid expression changes nothing, and a name too long for any topic is not kept."""
        pattern = getattr(request, "subscribed_topic_regex", None)
        if pattern:
            self._members.compiled(scope, pattern)
        if pattern is not None:
            member.pattern = pattern
        if request.subscribed_topic_names is not None:
            names = request.subscribed_topic_names
            member.names = tuple(name for name in names if len(name) <= LONGEST_NAME)

    def expire(self) -> None:
        """Forget members that send no heartbeats any more."""
        self._members.expire()


def _by_name(
    request: Any, body: bytes, member: Member, sent: Sent, reached: tuple[str, ...]
) -> Forward:
    """Decide for a member without an expression. Names that reach no topic were left out of its
    subscription, so the broker cannot assign them when they do: they are added then."""
    if request.subscribed_topic_names is not None:
        return Forward(body, replace(sent, names=reached), member)
    if member.accepted is None or member.accepted == reached:
        return Forward(body, sent)
    by_name = replace(request, subscribed_topic_names=reached)
    return Forward(messages.write(by_name), replace(sent, names=reached), member)


def _renamed(before: Mapping[bytes, str], now: Mapping[bytes, str], reach: Reach) -> bool:
    """Whether a topic goes by another name now, or a name leads to another topic or nowhere."""
    if before is now or before == now:
        return False
    return any(
        now.get(flat, name) != name or reach(name) != flat for flat, name in paced(before.items())
    )


def hear(heard: set[MemberKey] | None, key: MemberKey) -> None:
    """Note that a connection has heard of a member, among the last ones that it has."""
    if heard is not None:
        if len(heard) >= MAX_HEARD or is_long(key):
            heard.clear()
        heard.add(key)


def _is_complete(request: Any) -> bool:
    """Whether a heartbeat says all of a subscription."""
    return (
        request.subscribed_topic_names is not None
        and getattr(request, "subscribed_topic_regex", "") is not None
    )


def _is_given(request: Any) -> bool:
    regex = getattr(request, "subscribed_topic_regex", None)
    return request.subscribed_topic_names is not None or regex is not None
