"""Subscriptions of group members, by regular expression (KIP-848), which the gateway evaluates, and
by name (KIP-848 and KIP-932).

A broker would match a client's expression against the flat names of every namespace. So the gateway
matches it against the names that the client may see, subscribes the member to the matches by name,
and repeats this when that set of names changes. It also remembers the names by which a member
reached its topics, and fences the member if one of these topics was moved. If a member comes from
another gateway or worker, its subscription is read back from its broker
(gateway/apis/groups/member_mark.py). If the heartbeat's version has no expressions yet, the
heartbeats of a member that this worker does not know are forwarded unchanged.
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
    GROUP_ID_NOT_FOUND,
    INVALID_REGULAR_EXPRESSION,
    INVALID_REQUEST,
    UNKNOWN_MEMBER_ID,
    UNRELEASED_INSTANCE_ID,
)
from gateway.name_regex import InvalidRegex
from gateway.rules.group_members import (
    MAX_MEMBERS,
    NO_NAMES,
    GroupMembers,
    KnownNames,
    Member,
    MemberKey,
    Reach,
)
from gateway.rules.heartbeat_outcomes import Forward, Sent, Unheard, Unknown
from gateway.rules.shadows import is_shadow
from protocol import messages
from protocol.messages import changed
from protocol.pausing import paced

JOINING_EPOCH: Final = 0
"""A member (re)joins with epoch 0 and its full state, and leaves with a negative epoch."""

MEMBERSHIP_ENDED: Final = frozenset(
    {UNKNOWN_MEMBER_ID, FENCED_INSTANCE_ID, FENCED_MEMBER_EPOCH, UNRELEASED_INSTANCE_ID}
)
"""Errors that end a membership; the member then joins again with its full state."""

MAX_NAMES: Final = 10_000
"""The most names that one member may subscribe to."""

LONGEST_NAME: Final = 300
"""Characters: longer than any spelling of a topic's name."""

MAX_HEARD: Final = 1_000
"""The members that one connection may have heard of; if there are more, the gateway forgets them
and asks the brokers for each again."""

MAX_UNKNOWN: Final = 10_000
"""The members whose brokers did not return a subscription, until their next heartbeat."""


class RegexSubscriptions:
    """The subscriptions of group members that a worker knows: in memory only, bounded per scope.

    If a member was forgotten, or joined through another worker, the gateway recalls it from its
    broker, if brokers can be queried. Otherwise the gateway fences the member at its next
    heartbeat, so that the member joins again with its full state.
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
        listing: Callable[[], KnownNames],
        scope: Hashable = None,
        reach: Reach = str.encode,
        meaning: Hashable = None,
        is_elsewhere: Callable[[str], bool] | None = None,
        heard: set[int] | None = None,
        has_regex: bool = True,
        is_unread: Callable[[str], bool] | None = None,
    ) -> Forward | Denied | Unheard:
        """Decide a heartbeat, in the client's names: the entity, and the ``body`` that it was
        parsed from. ``has_regex``: the heartbeat's version has a field for an expression.

        ``listing`` returns the topics that the client may see; it is called only to evaluate an
        expression. ``reach`` returns the flat name behind a name, or None. If a member was
        subscribed to a topic under a name that no longer reaches the topic, the member is fenced,
        so that it joins again and learns the topic's present name and id. ``scope`` is everything
        that names depend on (the listener, the principal): two members with the same ids in
        different scopes are different members. While ``meaning`` is the same, names reach the same
        topics, so an evaluation for one heartbeat serves the next (None: no evaluation may be
        reused), except names that are ``elsewhere``, in another volume. ``heard`` holds the
        hashes of the members that this connection has heard of, because a member may have changed
        its subscription on another connection (None: brokers cannot be queried). ``is_unread``:
        nothing can be said yet of a name in another volume. A member keeps the shadow that it has
        for such a name, and a broker is queried for it, because a subscription without the name
        would give the member's partitions away.
        Raises ProtocolError.
        """
        key = (scope, request.group_id, request.member_id)
        if request.member_epoch < JOINING_EPOCH:
            self._members.forget(key)
            return Forward(body, None)
        unread = _names_unread(request, is_unread)
        member = self._member(key, request, heard, has_regex=has_regex, unread=unread)
        if member is Unknown.FORWARD:
            return Forward(_without_subscription(request) if unread else body, None)
        if not isinstance(member, Member):
            unheard = Unheard(key, request.instance_id if unread else None)
            return self._fenced(key) if member is Unknown.FENCE else unheard
        had_regex = bool(member.pattern)
        if len(request.subscribed_topic_names or ()) > MAX_NAMES:
            why = f"A member may subscribe to {MAX_NAMES} topics by name at most."
            return Denied(INVALID_REQUEST, why, "request")
        applied = (member.names, member.pattern)
        try:
            self._apply(scope, member, request)
            names = listing() if member.pattern else NO_NAMES
            if is_unread is not None:
                reach = _keeping(member.reached, reach, is_unread)
            if is_elsewhere is not None:
                meaning = (meaning, _reached_elsewhere(member, meaning, is_elsewhere, reach))
            found = self._members.subscription(scope, member, names, meaning, reach)
        except InvalidRegex as error:
            pattern = getattr(request, "subscribed_topic_regex", None) or member.pattern
            member.names, member.pattern = applied
            why = f"SubscribedTopicRegex '{pattern[:LONGEST_NAME]}' is not valid: {error}."
            return Denied(INVALID_REGULAR_EXPRESSION, why, "request")
        names_version = names.version
        wanted, reached = found.wanted, found.reached
        if request.member_epoch != JOINING_EPOCH and _renamed(member.reached, reached, reach):
            self._members.forget(key)
            self._members.fence(key)
            why = "A topic of this member's subscription was moved or deleted; it must join again."
            return Denied(FENCED_MEMBER_EPOCH, why, "request")
        kept = self._members.heard(key, member)
        new = None if kept else member
        sent = Sent(key, None, names_version, new, reached, found.reached_bytes)
        if not member.pattern and not had_regex:
            return _by_name(request, body, member, sent, found.reaching)
        is_explicit = _is_given(request) or request.member_epoch == JOINING_EPOCH
        # Names that reached no topic were left out of the subscription, and may reach one now.
        unchanged = not is_explicit and _same_topics(member.reached, reached)
        current = member.accepted is not None and member.names_version == names_version
        if current and unchanged:
            return Forward(body, sent)
        if wanted == member.accepted and unchanged:
            member.names_version = names_version
            return Forward(body, sent)
        # Unknown until the broker responds; if it fails, the names are sent again.
        member.accepted = None
        by_name = changed(
            request, {"subscribed_topic_names": wanted, "subscribed_topic_regex": None}
        )
        return Forward(messages.write(by_name), replace(sent, names=wanted), member)

    def recalled(self, key: MemberKey, found: Member | Unknown) -> None:
        """Keep the result of asking a member's broker for its subscription."""
        if isinstance(found, Member):
            try:
                if found.pattern:
                    self._members.compiled(key[0], found.pattern)
                self._members.remember(key, found)
            except InvalidRegex:
                found = Unknown.FENCE
            else:
                return
        if found is Unknown.FENCE:
            self._members.forget(key)
        self._unknown[key] = found
        while len(self._unknown) > MAX_UNKNOWN:
            self._unknown.popitem(last=False)

    def _member(
        self,
        key: MemberKey,
        request: Any,
        heard: set[int] | None,
        *,
        has_regex: bool,
        unread: bool,
    ) -> Member | Unknown | None:
        """The member that sends a heartbeat. None: the caller must query the member's broker first,
        because this connection has not heard of the member, and the heartbeat neither holds the
        full subscription nor repeats one that was fenced; or because this worker does not know what
        the member has for the ``unread`` names of a full subscription."""
        told = self._unknown.pop(key, None)
        known, can_query = self._members.get(key), heard is not None and has_regex
        must_query = unread and can_query and known is None and told is None
        if request.member_epoch == JOINING_EPOCH:
            if must_query:
                return None
            hear(heard, key)
            if known is None:
                return Member()
            return Member(reached=known.reached, reached_bytes=known.reached_bytes)
        if told is not None and not (told is Unknown.FENCE and _is_complete(request)):
            return told
        if unread and known is None and not can_query:
            return Unknown.FORWARD
        if _is_complete(request) or self._members.is_fenced(key):
            if must_query and not self._members.is_fenced(key):
                return None
            hear(heard, key)
        elif heard is not None and has_regex and (hash(key) not in heard or known is None):
            return None  # not heard of here, or forgotten since, because others needed the room
        known = self._known(key, request)
        if known is not None:
            return known
        return Unknown.FENCE if has_regex else Unknown.FORWARD

    def _fenced(self, key: MemberKey) -> Denied:
        self._members.fence(key)
        why = "The subscription of this member is not known here; it must join again."
        return Denied(FENCED_MEMBER_EPOCH, why, "request")

    def on_response(self, sent: Sent, response: Any, heard: set[int] | None = None) -> None:
        """Learn from the broker's response to a forwarded heartbeat. If the broker has no such
        member, or group, this connection has not ``heard`` of the member any more: the broker
        decides its next heartbeat, too."""
        code = response.error_code
        if code in MEMBERSHIP_ENDED:
            self._members.forget(sent.member)
        if heard is not None and (code in MEMBERSHIP_ENDED or code == GROUP_ID_NOT_FOUND):
            heard.discard(hash(sent.member))
        if code:
            return
        scope, group_id, member_id = sent.member
        # In version 0 of the API the broker assigns the member id when the member joins.
        key = (scope, group_id, member_id or response.member_id or "")
        if sent.new is not None:
            self._members.remember(key, sent.new)
        member = self._members.get(key)
        if member is None:
            return
        member.reached, member.reached_bytes = sent.reached, sent.reached_bytes
        if sent.names is not None:
            member.accepted = sent.names
            member.names_version = sent.names_version
        self._members.heard(key, member)

    def _known(self, key: MemberKey, request: Any) -> Member | None:
        """The member, if this worker knows its subscription.

        If a member repeats its heartbeat after it was fenced, it counts as a member without an
        expression, so that it is not fenced forever.
        """
        member = self._members.get(key)
        if member is not None:
            return member
        return Member() if _is_complete(request) or self._members.is_fenced(key) else None

    def _apply(self, scope: Hashable, member: Member, request: Any) -> None:
        """Apply the heartbeat's subscription: null means unchanged, an empty expression means no
        expression. An invalid expression changes nothing, and a name that is too long for any topic
        is dropped."""
        pattern = getattr(request, "subscribed_topic_regex", None)
        if pattern:
            self._members.compiled(scope, pattern)
        if pattern is not None:
            member.pattern = pattern
        if request.subscribed_topic_names is not None:
            names = request.subscribed_topic_names
            member.names = tuple(name for name in names if len(name) <= LONGEST_NAME)
        member.pattern, member.names = self._members.alike(scope, member.pattern, member.names)

    def expire(self) -> None:
        """Forget members that no longer send heartbeats."""
        self._members.expire()


def _by_name(
    request: Any, body: bytes, member: Member, sent: Sent, reached: tuple[str, ...]
) -> Forward:
    """Decide for a member without an expression. Its subscription at the broker leaves out names
    that reach no topic, so if such a name reaches a topic later, the gateway adds the name then."""
    if request.subscribed_topic_names is not None:
        return Forward(body, replace(sent, names=reached), member)
    if member.accepted is None or member.accepted == reached:
        return Forward(body, sent)
    by_name = replace(request, subscribed_topic_names=reached)
    return Forward(messages.write(by_name), replace(sent, names=reached), member)


def _renamed(before: Mapping[bytes, str], now: Mapping[bytes, str], reach: Reach) -> bool:
    """Whether a topic now has another name, or a name now leads to another topic or to no topic. A
    topic of another volume may be gone: then the member's subscription loses it."""
    if before is now or before == now:
        return False
    return any(
        now.get(flat, name) != name or _leads_away(reach(name), flat)
        for flat, name in paced(before.items())
    )


def _leads_away(found: bytes | None, flat: bytes) -> bool:
    return found != flat and not (found is None and is_shadow(flat))


def _same_topics(before: Mapping[bytes, str], now: Mapping[bytes, str]) -> bool:
    return before is now or before.keys() == now.keys()


def _names_unread(request: Any, is_unread: Callable[[str], bool] | None) -> bool:
    """Whether a heartbeat has a name of which nothing can be said yet."""
    names = request.subscribed_topic_names
    return is_unread is not None and bool(names) and any(map(is_unread, paced(names)))


def _without_subscription(request: Any) -> bytes:
    """A heartbeat that leaves its member's subscription as its broker has it."""
    return messages.write(changed(request, {"subscribed_topic_names": None}))


def _keeping(before: Mapping[bytes, str], reach: Reach, is_unread: Callable[[str], bool]) -> Reach:
    """``reach``; a name of which nothing can be said yet reaches the shadow that it has reached
    ``before``."""
    kept: dict[str, bytes] | None = None

    def kept_or_reached(name: str) -> bytes | None:
        nonlocal kept
        found = reach(name)
        if found is not None or not before or not is_unread(name):
            return found
        if kept is None:
            kept = {one: flat for flat, one in paced(before.items()) if is_shadow(flat)}
        return kept.get(name)

    return kept_or_reached


def _reached_elsewhere(
    member: Member, meaning: Hashable, is_elsewhere: Callable[[str], bool], reach: Reach
) -> Hashable:
    """What the member's names in other volumes reach now, because it may change without
    ``meaning``, by which this volume's names are told from theirs."""
    known = member.elsewhere
    if known is None or known[0] is not member.names or known[1] != meaning:
        found = tuple(name for name in paced(member.names) if is_elsewhere(name))
        known = member.elsewhere = (member.names, meaning, found)
    return tuple(map(reach, paced(known[2])))


def hear(heard: set[int] | None, key: MemberKey) -> None:
    """Note that a connection has heard of a member; if there are too many, all are forgotten."""
    if heard is not None:
        if len(heard) >= MAX_HEARD:
            heard.clear()
        heard.add(hash(key))


def _is_complete(request: Any) -> bool:
    """Whether a heartbeat holds a member's full subscription."""
    return (
        request.subscribed_topic_names is not None
        and getattr(request, "subscribed_topic_regex", "") is not None
    )


def _is_given(request: Any) -> bool:
    regex = getattr(request, "subscribed_topic_regex", None)
    return request.subscribed_topic_names is not None or regex is not None
