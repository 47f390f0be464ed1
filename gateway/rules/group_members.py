"""The members of KIP-848 groups that a worker knows: in memory only, bounded for each scope.

A scope is everything that names depend on (the listener, the principal), so one tenant cannot push
out another tenant's members. If a scope is full, it forgets the member whose last heartbeat is
oldest.
"""

from __future__ import annotations

from collections import OrderedDict, defaultdict
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from time import monotonic
from typing import Any, Final, NamedTuple

from gateway.name_regex import CostsTooMuch, NameRegex
from protocol.pausing import paced

MAX_MEMBERS: Final = 10_000
MAX_NAMES_KEPT: Final = 100_000
MAX_EVALUATIONS: Final = 100
"""Limits for each scope. ``MAX_NAMES_KEPT`` counts expressions, too: ``CHARACTERS_OF_A_NAME``
characters of an expression count as a name."""

CHARACTERS_OF_A_NAME: Final = 16

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

    heard: float = 0.0
    """The time of the last heartbeat."""

    elsewhere: tuple[tuple[str, ...], Hashable, tuple[str, ...]] | None = None
    """In a tree: ``names``, what they were read by, and those among them in other volumes."""

    @property
    def weight(self) -> int:
        """The memory that the subscription takes, in names."""
        return len(self.names) + len(self.pattern) // CHARACTERS_OF_A_NAME


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

    names: int = 0
    """The weight of all members, in names."""


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

    def heard(self, key: MemberKey, member: Member, more_names: int) -> bool:
        """Note a heartbeat of a member whose weight grew by ``more_names``. Returns False if the
        key has no member or another member."""
        scope = self._scopes[key[0]]
        if scope.members.get(key) is not member:
            return False
        scope.members.move_to_end(key)
        member.heard = self._clock()
        scope.names += more_names
        return True

    def remember(self, key: MemberKey, member: Member) -> None:
        """Keep a member; it replaces a member with the same key."""
        scope = self._scopes[key[0]]
        self.forget(key)
        scope.members[key] = member
        member.heard = self._clock()
        scope.names += member.weight
        while len(scope.members) > self._max_members or (
            scope.names > MAX_NAMES_KEPT and len(scope.members) > 1
        ):
            _, forgotten = scope.members.popitem(last=False)
            scope.names -= forgotten.weight

    def expire(self) -> None:
        """Forget members that have sent no heartbeat for too long, and scopes without members."""
        latest = self._clock() - UNHEARD_SECONDS
        for name, scope in list(self._scopes.items()):
            while scope.members and next(iter(scope.members.values())).heard < latest:
                _, forgotten = scope.members.popitem(last=False)
                scope.names -= forgotten.weight
            while scope.fenced and next(iter(scope.fenced.values())) < latest:
                scope.fenced.popitem(last=False)
            if not scope.members:
                scope.compiled.clear()
                scope.evaluations.clear()
                scope.subscriptions.clear()
                if not scope.fenced:
                    del self._scopes[name]

    def forget(self, key: MemberKey) -> None:
        """Forget a member, and forget that it was fenced."""
        scope = self._scopes[key[0]]
        scope.names -= scope.members.pop(key, Member()).weight
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
        kept = self._scopes[scope].subscriptions
        known = kept.get(known_by)
        if (
            known is None
            or meaning is None
            or (known.version, known.meaning) != (names.version, meaning)
        ):
            wanted = set(member.names)
            if member.pattern:
                wanted.update(self.matching(scope, member.pattern, names))
            ordered = tuple(sorted(wanted))
            reached = {flat: each for each in paced(ordered) if (flat := reach(each)) is not None}
            reaching = tuple(sorted(set(reached.values())))
            known = Subscription(names.version, meaning, ordered, reached, reaching)
            kept[known_by] = known
            _bound(kept, MAX_EVALUATIONS)
        if known_by in kept:
            kept.move_to_end(known_by)
        return known


def _bound(entries: OrderedDict[Any, Any], most: int) -> None:
    while len(entries) > most:
        entries.popitem(last=False)
