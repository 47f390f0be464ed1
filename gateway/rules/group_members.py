"""The members of KIP-848 groups that a worker knows: in memory only, bounded for each scope.

A scope is everything that names depend on (the listener, the principal), so one tenant cannot push
out another tenant's members. If a scope is full, it forgets the member whose last heartbeat is
oldest. Members with equal subscriptions share them, and they are counted once.
"""

from __future__ import annotations

from collections import OrderedDict, defaultdict
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from sys import getsizeof
from time import monotonic
from typing import Any, Final, NamedTuple

from gateway.name_regex import CostsTooMuch, NameRegex
from gateway.rules.kept_parts import (
    KeptParts,
    Part,
    bytes_of_ids,
    bytes_of_names,
    bytes_of_reached,
)
from protocol.pausing import in_order, paced

MAX_MEMBERS: Final = 10_000
MAX_BYTES_KEPT: Final = 32 * 1024 * 1024
MAX_EVALUATIONS: Final = 100
"""Limits for each scope. ``MAX_BYTES_KEPT`` counts all that members keep: subscriptions to 100,000
different names of 30 characters take some 30 MB. As much may be kept of the latest subscriptions
that were evaluated, whether or not a member still has them."""

UNHEARD_SECONDS: Final = 180.0
"""Seconds for which a member without heartbeats is kept: three times the longest session that a
broker allows (group.consumer.max.session.timeout.ms). A member that returns later joins anew."""

MemberKey = tuple[Hashable, str, str]
"""The scope, the group id and the member id."""


LONGEST_IDS: Final = 1_000
"""Characters of the ids in a key that is kept before a broker has accepted the member, because
clients choose the ids, up to 64 KB."""


def is_long(key: MemberKey) -> bool:
    """Whether the group id and the member id together are longer than ``LONGEST_IDS``."""
    return len(key[1]) + len(key[2]) > LONGEST_IDS


Reach = Callable[[str], bytes | None]
"""A topic's name, as the client spells it -> the flat name that it reaches, or None."""


class KnownNames(NamedTuple):
    """The topics that a client may see."""

    # Changes whenever the names change.
    version: int
    # Returns the names in the client's spelling. It is called only to evaluate an expression,
    # because a listing of many topics takes long to sort.
    read: Callable[[], Sequence[str]]


NO_NAMES: Final = KnownNames(0, tuple)


@dataclass(slots=True)
class Member:
    """A member's subscription."""

    names: tuple[str, ...] = ()
    """The names that the client subscribes to."""

    pattern: str = ""
    """The client's expression; empty: there is none."""

    accepted: tuple[str, ...] | None = None
    """The names that the broker has accepted for ``names`` and ``pattern``; None before that."""

    names_version: int = 0
    """The version of the listing at which ``accepted`` was evaluated."""

    reached: Mapping[bytes, str] = field(default_factory=dict)
    """The flat name of each topic -> the client's name for it."""

    reached_bytes: int | None = field(default=None, compare=False, repr=False)
    """The bytes of ``reached``; None: not known yet."""

    heard: float = 0.0
    """The time of the last heartbeat."""

    elsewhere: tuple[tuple[str, ...], Hashable, tuple[str, ...]] | None = None
    """In a tree: ``names``, what they were read by, and those among them in other volumes."""

    names_bytes: Part | None = field(default=None, compare=False, repr=False)
    """``names`` and their bytes; None: not known yet."""

    counted: tuple[object, ...] = field(default=(), compare=False, repr=False)
    """The objects that its scope counts for it. They are held until its scope counts others."""

    def parts(self) -> list[Part]:
        """All that the member keeps of its subscription. May take several slices."""
        parts: list[Part] = []
        if self.names:
            counted = self.names_bytes
            if counted is None or counted[0] is not self.names:
                counted = self.names_bytes = (self.names, bytes_of_names(self.names))
            parts.append(counted)
        if self.pattern:
            parts.append((self.pattern, getsizeof(self.pattern)))
        if self.accepted:  # its strings are those of the names, or of what they reach
            parts.append((self.accepted, getsizeof(self.accepted)))
        if self.reached:
            if self.reached_bytes is None:
                self.reached_bytes = bytes_of_reached(self.reached)
            parts.append((self.reached, self.reached_bytes))
        if self.elsewhere is not None:
            read, _, found = self.elsewhere
            if read is not self.names:  # what it subscribed to before
                parts.append((read, bytes_of_names(read)))
            parts.append((found, getsizeof(found)))
        return parts


@dataclass(frozen=True, slots=True)
class Subscription:
    """The names that a member subscribes to at its broker."""

    version: int
    """The version of the listing."""

    meaning: Hashable
    """The meaning of the names, as :meth:`GroupMembers.subscription` was given it."""

    wanted: tuple[str, ...]
    """The names, sorted."""

    reached: Mapping[bytes, str]
    """The flat name of each topic -> the name that reaches it."""

    reaching: tuple[str, ...]
    """The names that reach a topic."""

    names: tuple[str, ...] = ()
    pattern: str = ""
    """What the client subscribes to."""

    reached_bytes: int = 0
    size: int = 0
    """Bytes of ``reached``, and of all."""


@dataclass(slots=True)
class _Scope:
    """The members of one scope, ordered by their last use, the oldest first."""

    members: OrderedDict[MemberKey, Member] = field(default_factory=OrderedDict)
    fenced: OrderedDict[MemberKey, float] = field(default_factory=OrderedDict)
    compiled: OrderedDict[str, NameRegex] = field(default_factory=OrderedDict)

    evaluations: OrderedDict[str, tuple[int, tuple[str, ...] | CostsTooMuch]] = field(
        default_factory=OrderedDict
    )
    """Pattern -> the version of the listing, and the names that the pattern matches there, or why
    it is not evaluated there: each heartbeat would cost as much."""

    subscriptions: OrderedDict[Hashable, Subscription] = field(default_factory=OrderedDict)
    """The subscriptions that result from a pattern and a member's own names."""

    subscriptions_bytes: int = 0

    kept: KeptParts = field(default_factory=KeptParts)
    """What the members keep of their subscriptions."""

    ids_bytes: int = 0
    """Bytes of the members without their subscriptions."""

    @property
    def is_full(self) -> bool:
        """Whether a member has to make room."""
        return self.kept.total + self.ids_bytes > MAX_BYTES_KEPT and len(self.members) > 1

    def count(self, member: Member, parts: Sequence[Part]) -> None:
        """Count what a member keeps now."""
        self.kept.add(parts)
        self.kept.remove(member.counted)
        member.counted = tuple(part for part, _ in parts)

    def dropped(self, key: MemberKey, member: Member) -> None:
        """Count a member no more."""
        self.kept.remove(member.counted)
        member.counted = ()
        self.ids_bytes -= bytes_of_ids(*key[1:])

    def drop_oldest(self) -> None:
        """Forget the member whose last heartbeat is oldest."""
        self.dropped(*self.members.popitem(last=False))


class GroupMembers:
    """The members by key, the members that were fenced, and the matches of expressions."""

    def __init__(
        self, max_members: int = MAX_MEMBERS, clock: Callable[[], float] = monotonic
    ) -> None:
        """``clock`` returns seconds since any fixed point."""
        self._max_members = max_members
        self._clock = clock
        self._scopes: defaultdict[Hashable, _Scope] = defaultdict(_Scope)

    def __len__(self) -> int:
        return sum(len(scope.members) for scope in self._scopes.values())

    def get(self, key: MemberKey) -> Member | None:
        """The member with this key; None for an unknown member."""
        return self._scopes[key[0]].members.get(key)

    def heard(self, key: MemberKey, member: Member) -> bool:
        """Note a heartbeat of a member, whose subscription may have changed. Returns False if the
        key has no member or another member."""
        parts = member.parts()
        scope = self._scopes[key[0]]
        if scope.members.get(key) is not member:
            return False
        scope.members.move_to_end(key)
        member.heard = self._clock()
        scope.count(member, parts)
        self._make_room(scope)
        return True

    def remember(self, key: MemberKey, member: Member) -> None:
        """Keep a member; it replaces a member with the same key."""
        parts = member.parts()
        self.forget(key)
        scope = self._scopes[key[0]]
        scope.members[key] = member
        scope.ids_bytes += bytes_of_ids(*key[1:])
        member.heard = self._clock()
        scope.count(member, parts)
        self._make_room(scope)

    def _make_room(self, scope: _Scope) -> None:
        while len(scope.members) > self._max_members or scope.is_full:
            scope.drop_oldest()

    def expire(self) -> None:
        """Forget members that have sent no heartbeat for too long, and scopes without members."""
        latest = self._clock() - UNHEARD_SECONDS
        for name, scope in list(self._scopes.items()):
            while scope.members and next(iter(scope.members.values())).heard < latest:
                scope.drop_oldest()
            while scope.fenced and next(iter(scope.fenced.values())) < latest:
                scope.fenced.popitem(last=False)
            if not scope.members:
                scope.compiled.clear()
                scope.evaluations.clear()
                scope.subscriptions.clear()
                scope.subscriptions_bytes = 0
                if not scope.fenced:
                    del self._scopes[name]

    def forget(self, key: MemberKey) -> None:
        """Forget a member, and forget that it was fenced."""
        scope = self._scopes[key[0]]
        member = scope.members.pop(key, None)
        if member is not None:
            scope.dropped(key, member)
        scope.fenced.pop(key, None)

    def fence(self, key: MemberKey) -> None:
        """Note that a member was fenced. A member with long ids is not noted: it is fenced again at
        each heartbeat until it joins, as clients do."""
        if is_long(key):
            return
        fenced = self._scopes[key[0]].fenced
        fenced.pop(key, None)
        fenced[key] = self._clock()
        _bound(fenced, self._max_members)

    def is_fenced(self, key: MemberKey) -> bool:
        """Whether a member was fenced and has not joined since."""
        return key in self._scopes[key[0]].fenced

    def compiled(self, scope: Hashable, pattern: str) -> NameRegex:
        """The compiled expression, kept in the scope. Raises InvalidRegex."""
        kept = self._scopes[scope].compiled
        known = kept.get(pattern)
        if known is None:
            known = kept[pattern] = NameRegex(pattern)
            _bound(kept, MAX_EVALUATIONS)
        kept.move_to_end(pattern)
        return known

    def matching(self, scope: Hashable, pattern: str, names: KnownNames) -> tuple[str, ...]:
        """The names that match, evaluated once for all members with the same expression. Raises
        CostsTooMuch."""
        evaluations, version = self._scopes[scope].evaluations, names.version
        known = evaluations.get(pattern)
        if known is None or known[0] != version:
            known = (version, self._evaluated(scope, pattern, names))
            evaluations[pattern] = known
            _bound(evaluations, MAX_EVALUATIONS)
        evaluations.move_to_end(pattern)
        if isinstance(known[1], CostsTooMuch):
            raise CostsTooMuch(*known[1].args)
        return known[1]

    def _evaluated(
        self, scope: Hashable, pattern: str, names: KnownNames
    ) -> tuple[str, ...] | CostsTooMuch:
        try:
            return self.compiled(scope, pattern).matching(names.read())
        except CostsTooMuch as error:
            return CostsTooMuch(*error.args)

    def subscription(
        self, scope: Hashable, member: Member, names: KnownNames, meaning: Hashable, reach: Reach
    ) -> Subscription:
        """The names to subscribe a member to. Members with the same names and expression share the
        result while the listing and ``meaning`` are the same (None: the meaning may change, so the
        result is not shared). Raises CostsTooMuch."""
        known_by = (member.pattern, member.names)
        of_scope = self._scopes[scope]
        kept = of_scope.subscriptions
        known = kept.get(known_by)
        if (
            known is None
            or meaning is None
            or (known.version, known.meaning) != (names.version, meaning)
        ):
            wanted = set(member.names)
            if member.pattern:
                wanted.update(self.matching(scope, member.pattern, names))
            ordered = tuple(in_order(wanted))
            reached = {flat: each for each in paced(ordered) if (flat := reach(each)) is not None}
            reaching = tuple(in_order({*paced(reached.values())}))
            reached_bytes = bytes_of_reached(reached)
            all_names = bytes_of_names(member.names) + bytes_of_names(ordered)
            known = Subscription(
                names.version,
                meaning,
                ordered,
                reached,
                reaching,
                names=member.names,
                pattern=member.pattern,
                reached_bytes=reached_bytes,
                size=reached_bytes + all_names + getsizeof(reaching) + getsizeof(member.pattern),
            )
            self._keep(of_scope, known_by, known)
        if known_by in kept:
            kept.move_to_end(known_by)
        return known

    def _keep(self, scope: _Scope, known_by: Hashable, new: Subscription) -> None:
        """Keep a subscription beside the latest others."""
        kept = scope.subscriptions
        before = kept.pop(known_by, None)
        scope.subscriptions_bytes += new.size - (0 if before is None else before.size)
        kept[known_by] = new
        while len(kept) > 1 and (
            len(kept) > MAX_EVALUATIONS or scope.subscriptions_bytes > MAX_BYTES_KEPT
        ):
            scope.subscriptions_bytes -= kept.popitem(last=False)[1].size

    def alike(
        self, scope: Hashable, pattern: str, names: tuple[str, ...]
    ) -> tuple[str, tuple[str, ...]]:
        """An expression and names, as the objects that another member has, if one has the same."""
        known = self._scopes[scope].subscriptions.get((pattern, names))
        return (pattern, names) if known is None else (known.pattern, known.names)


def _bound(entries: OrderedDict[Any, Any], most: int) -> None:
    while len(entries) > most:
        entries.popitem(last=False)
