"""What a worker knows of the members of groups (KIP-848): memory only, bounded for each scope.

A scope is what names depend on (the listener, the principal), so no tenant pushes out what is known
of another's members. Its longest unheard member is forgotten first.
"""

from __future__ import annotations

from collections import OrderedDict, defaultdict
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

from gateway.rules.topic_regex import TopicRegex

MAX_MEMBERS: Final = 10_000
MAX_NAMES_KEPT: Final = 100_000
MAX_EVALUATIONS: Final = 100
"""Most that is kept of each scope."""

MemberKey = tuple[Hashable, str, str]
"""The scope, the group id and the member id."""


class Names(Protocol):
    """The topics that a client may see: ``names`` in its spelling, and a ``version`` that changes
    whenever they have."""

    @property
    def names(self) -> Sequence[str]: ...
    @property
    def version(self) -> int: ...


@dataclass(slots=True)
class Member:
    """A member's subscription: the client's ``names`` and ``regex``, and the names that the broker
    has ``accepted`` for them (None: none yet), evaluated at ``names_version``. ``reached`` maps
    the flat names behind them to the names."""

    names: tuple[str, ...] = ()
    regex: TopicRegex | None = None
    accepted: tuple[str, ...] | None = None
    names_version: int = 0
    reached: Mapping[bytes, str] = field(default_factory=dict)


@dataclass(slots=True)
class _Scope:
    """What is known within one scope, the longest unused first. ``evaluations`` holds by pattern
    what it matches, and of which version of the names; ``names`` counts those of all members."""

    members: OrderedDict[MemberKey, Member] = field(default_factory=OrderedDict)
    fenced: OrderedDict[MemberKey, None] = field(default_factory=OrderedDict)
    evaluations: OrderedDict[str, tuple[int, tuple[str, ...]]] = field(default_factory=OrderedDict)
    names: int = 0


class GroupMembers:
    """The members by key, those that were fenced, and what expressions match."""

    def __init__(self, max_members: int = MAX_MEMBERS) -> None:
        self._max_members = max_members
        self._scopes: defaultdict[Hashable, _Scope] = defaultdict(_Scope)

    def __len__(self) -> int:
        return sum(len(scope.members) for scope in self._scopes.values())

    def get(self, key: MemberKey) -> Member | None:
        """The member, if it is known."""
        return self._scopes[key[0]].members.get(key)

    def heard(self, key: MemberKey, member: Member, more_names: int) -> bool:
        """Whether this is the member that is kept: then it has so many more names than before, and
        is the last one to be forgotten."""
        scope = self._scopes[key[0]]
        if scope.members.get(key) is not member:
            return False
        scope.members.move_to_end(key)
        scope.names += more_names
        return True

    def remember(self, key: MemberKey, member: Member) -> None:
        """Keep a member, in the place of one with this key."""
        scope = self._scopes[key[0]]
        self.forget(key)
        scope.members[key] = member
        scope.names += len(member.names)
        while len(scope.members) > self._max_members or (
            scope.names > MAX_NAMES_KEPT and len(scope.members) > 1
        ):
            _, forgotten = scope.members.popitem(last=False)
            scope.names -= len(forgotten.names)

    def forget(self, key: MemberKey) -> None:
        """Nothing is known of a member any more, not even that it was fenced."""
        scope = self._scopes[key[0]]
        scope.names -= len(scope.members.pop(key, Member()).names)
        scope.fenced.pop(key, None)

    def fence(self, key: MemberKey) -> None:
        """Note that a member is told to join again."""
        fenced = self._scopes[key[0]].fenced
        fenced[key] = None
        _bound(fenced, self._max_members)

    def is_fenced(self, key: MemberKey) -> bool:
        """Whether it was, and has not joined since."""
        return key in self._scopes[key[0]].fenced

    def matching(self, scope: Hashable, regex: TopicRegex, names: Names) -> tuple[str, ...]:
        """Evaluated once for all members of a group, which mostly have the same expression."""
        evaluations = self._scopes[scope].evaluations
        known = evaluations.get(regex.pattern)
        if known is None or known[0] != names.version:
            known = (names.version, regex.matching(names.names))
            evaluations[regex.pattern] = known
            _bound(evaluations, MAX_EVALUATIONS)
        evaluations.move_to_end(regex.pattern)
        return known[1]


def _bound(entries: OrderedDict[Any, Any], most: int) -> None:
    while len(entries) > most:
        entries.popitem(last=False)
