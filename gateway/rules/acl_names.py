"""The names of ACL patterns and filters: as a view's clients write them, as the catalog has them.

The catalog stores logical names from the root. Under a home, names are relative: ``orders`` is
``team-a:orders``, and LITERAL ``*``, every resource, is PREFIXED ``team-a:``, every resource of the
home. The gateway accepts either spelling; a pattern that it shows reads back as the same pattern.
In a tree, an absolute name is resolved in the view of its volume. All other names, and LITERAL
``*``, belong to the listener's volume, so a client writes "every resource of another volume" as the
volume's mount: PREFIXED ``:la:tracking:``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import product
from typing import Final, NamedTuple

from gateway.acl_model import (
    NAMESPACED,
    WILDCARD,
    AclEntry,
    AclFilter,
    PatternType,
    ResourcePattern,
    ResourceType,
)
from gateway.acls.authorizer import means_entry, means_pattern
from gateway.catalog.entities import ResourceAcls
from gateway.catalog.snapshot import Snapshot
from gateway.decision import Denied
from gateway.error_codes import CLUSTER_AUTHORIZATION_FAILED, INVALID_REQUEST
from gateway.names import DELIMITER, END_OF_NAMESPACE, InvalidName, check_namespace
from gateway.rules.acl_spellings import spellings
from gateway.views import absolute
from gateway.views.spelling import MAX_SPELLED, id_owner, parse_absolute, with_colons
from gateway.views.view import MAX_ID_BYTES, View
from protocol.pausing import eased, paced

_REST: Final = "t"
"""Stands for the rest of a name: a legal spelling can only be parsed with a topic."""

_KINDS: Final = tuple(kind for kind in ResourceType if kind > ResourceType.ANY)
_STORED: Final = (PatternType.LITERAL, PatternType.PREFIXED)


def pattern_named(
    view: View, kind: ResourceType, pattern_type: PatternType, name: str
) -> ResourcePattern | Denied:
    """The pattern that a client names. ``pattern_type`` is LITERAL or PREFIXED.

    A namespace need not exist, as a topic need not in Kafka, but its name must be legal.
    """
    home = view.settings.home or view.settings.home_elsewhere
    if kind not in NAMESPACED:
        if home:
            what = kind.name.lower().replace("_", " ")
            message = (
                f"ACLs of resources of type {what} are for the whole cluster; they are managed"
                f" where no home namespace is in force, and '{home}' is here."
            )
            return Denied(CLUSTER_AUTHORIZATION_FAILED, message, "access")
        return ResourcePattern(kind, pattern_type, name)
    if view.settings.is_relative and name == WILDCARD and pattern_type is PatternType.LITERAL:
        return home_wildcard(view, kind) or ResourcePattern(kind, pattern_type, name)
    at_all = kind is ResourceType.TOPIC or not view.settings.home_elsewhere
    if pattern_type is PatternType.PREFIXED and at_all and view.is_own_mount(name):
        return ResourcePattern(kind, PatternType.LITERAL, WILDCARD)
    try:
        text = _topic(view, name) if kind is ResourceType.TOPIC else _id(view, name)
    except InvalidName as error:
        message = str(error)
        return Denied(INVALID_REQUEST, f"{message[:1].upper()}{message[1:]}.", "names")
    return ResourcePattern(kind, pattern_type, text)


def shown_pattern(view: View, pattern: ResourcePattern) -> ResourcePattern | None:
    """A pattern with its name as the view's clients write it; None for a hidden pattern."""
    kind, pattern_type, name = pattern.type, pattern.pattern_type, pattern.name
    settings = view.settings
    if pattern == home_wildcard(view, kind):
        return ResourcePattern(kind, PatternType.LITERAL, WILDCARD)
    if settings.shut or (settings.home_elsewhere and kind is not ResourceType.TOPIC):
        return None
    wildcard = ResourcePattern(kind, PatternType.LITERAL, WILDCARD)
    if not settings.is_relative and kind in NAMESPACED and pattern == wildcard:
        return ResourcePattern(kind, PatternType.PREFIXED, absolute.spell_mount(settings))
    for text in spellings(view, pattern):
        if pattern_named(view, kind, pattern_type, text) == pattern:
            return ResourcePattern(kind, pattern_type, text)
    if settings.home or (not settings.is_relative and kind in NAMESPACED):
        return None
    # An id that is older than the namespace that it spells is shown unchanged.
    return ResourcePattern(kind, pattern_type, name)


def home_wildcard(view: View, kind: ResourceType) -> ResourcePattern | None:
    """The pattern that LITERAL ``*`` stands for under a home; None without a home."""
    home = view.settings.home
    if not home or kind not in NAMESPACED:
        return None
    return ResourcePattern(kind, PatternType.PREFIXED, home + DELIMITER)


# -- names that are read ---------------------------------------------------------------------------


def _topic(view: View, name: str) -> str:
    """The catalog's text for the name of a topic or namespace, or for the beginning of a name.

    Raises InvalidName.
    """
    if len(name) > MAX_SPELLED:
        raise InvalidName(f"a name of {len(name)} characters is longer than any name can be")
    home, escape = view.settings.home, view.settings.escape
    written, name = name, with_colons(view.settings, name)
    if name == DELIMITER and home:
        return home + DELIMITER
    from_tree = parse_absolute(view.settings, written)
    if from_tree is not None:
        if not from_tree:
            raise InvalidName(f"'{written}' is a mount; pattern type PREFIXED covers all in it")
        return checked_pattern(from_tree, written)
    if name == DELIMITER:
        raise InvalidName(f"'{DELIMITER}' names no namespace; '{WILDCARD}' stands for every topic")
    from_root = view.settings.mounts is None and name.startswith(DELIMITER)
    outside = view.settings.mounts is None and home and name.startswith(END_OF_NAMESPACE)
    if not from_root and not outside:
        text = _under(home, name) if home else _spelled(view, name)
    elif home and not escape:
        raise InvalidName(f"'{written}' is outside namespace '{home}', the home here")
    elif from_root:
        text = name.removeprefix(DELIMITER)
    else:
        text = _spelled(view, name.removeprefix(END_OF_NAMESPACE))
    return checked_pattern(text, written)


def checked_pattern(text: str, name: str) -> str:
    """The whole logical name ``text`` of a topic or namespace, or the beginning of a name, if an
    ACL can have it. ``name`` is what the client wrote. Raises InvalidName."""
    namespace, _, rest = text.rpartition(DELIMITER)
    if namespace:
        check_namespace(namespace)
    elif not text or DELIMITER in text:
        raise InvalidName(f"'{name}' names nothing")
    if namespace and rest == WILDCARD:
        where = name.removesuffix(WILDCARD)
        raise InvalidName(
            f"'{WILDCARD}' in '{name}' is no wildcard; pattern type PREFIXED with the name"
            f" '{where}' covers all in it and below"
        )
    return text


def _id(view: View, name: str) -> str:
    """The catalog's text for a group or transactional id (see ``Access.id_resource``)."""
    home, raw = view.settings.home, name.encode()
    if view.settings.shut or view.volume_of_group(raw) != view.settings.volume:
        raise InvalidName(f"'{name}' is in another volume than this one")
    own = view.own_id(raw).decode()
    if name and not own:
        raise InvalidName(f"'{name}' is a mount; pattern type PREFIXED covers all in it")
    text = _under(home, name) if home else _spelled_id(view, own)
    if len(text.encode()) > MAX_ID_BYTES:
        raise InvalidName(f"an id of {len(name.encode())} bytes is longer than any id can be")
    return text


def _under(home: str, name: str) -> str:
    return f"{home}{DELIMITER}{name}"


def _spelled(view: View, name: str) -> str:
    """The colon form of a name from the root: ``org..or`` is ``org:or`` if ``org`` exists."""
    if DELIMITER in name:
        return name
    spelled = view.snapshot.spelled(name + _REST)
    return str(spelled).removesuffix(_REST) if spelled.namespace else name


def _spelled_id(view: View, name: str) -> str:
    """The colon form of an id, which may hold any character: requests that name the id are
    authorized by this form."""
    owned = id_owner(view.snapshot, name + _REST)
    return name if owned is None else DELIMITER.join(owned).removesuffix(_REST)


# -- filters ---------------------------------------------------------------------------------------


class Found(NamedTuple):
    """A pattern in the catalog, the same pattern as the client sees it, and the pattern's entries
    that a filter matches."""

    pattern: ResourcePattern
    shown: ResourcePattern
    entries: frozenset[AclEntry]


@dataclass(frozen=True, slots=True)
class ResolvedFilter:
    """A client's filter in the catalog's terms: it matches a pattern if one of ``filters`` matches
    it and the view shows it with the requested ``pattern_type``. ``names``: the client's filter
    has a name, so each of ``filters`` matches one pattern at most."""

    view: View
    pattern_type: PatternType
    filters: tuple[AclFilter, ...]
    names: bool

    def shown(self, pattern: ResourcePattern) -> ResourcePattern | None:
        """The pattern as the client sees it; None for a pattern that does not match."""
        shown = shown_pattern(self.view, pattern)
        if shown is None or shown.pattern_type is self.pattern_type:
            return shown
        # In a tree a mount names every resource, which is shown as LITERAL ``*``.
        named = self.names and self.view.settings.mounts is not None
        return None if self.pattern_type in _STORED and not named else shown

    def patterns(self) -> list[ResourcePattern]:
        """The patterns that a filter with a name matches, even if they do not exist."""
        return [
            ResourcePattern(one.type, one.pattern_type, one.name)
            for one in self.filters
            if one.name is not None and one.pattern_type in _STORED
        ]

    def in_catalog(self, snapshot: Snapshot) -> Iterator[Found]:
        """The patterns in the catalog that the filter matches."""
        for acls in paced(self._candidates(snapshot)):
            pattern = acls.pattern
            for one in self.filters:
                if means_pattern(one, pattern):
                    break
            else:
                continue
            entries = _entries(one, acls)
            shown = self.shown(pattern) if entries else None
            if shown is not None:
                yield Found(pattern, shown, entries)

    @property
    def scans(self) -> bool:
        """Whether the filter has to scan all ACLs."""
        return len(self.patterns()) < len(self.filters)

    def _candidates(self, snapshot: Snapshot) -> Iterable[ResourceAcls]:
        if self.scans:
            return snapshot.acls.values()
        return [snapshot.acls[pattern] for pattern in self.patterns() if pattern in snapshot.acls]


def resolve_filter(view: View, wanted: AclFilter) -> ResolvedFilter:
    """A client's filter (KIP-140, KIP-290) in the catalog's terms.

    A view confines a filter as it confines every name: under a home, a filter without a name
    matches the patterns in the home, and a filter with a name outside of the home matches nothing.
    """
    kinds = _KINDS if wanted.type is ResourceType.ANY else (wanted.type,)
    if view.settings.home:
        kinds = tuple(kind for kind in kinds if kind in NAMESPACED)
    if wanted.name is None:
        return ResolvedFilter(
            view, wanted.pattern_type, tuple(_open(view, wanted, kinds)), names=False
        )
    patterns = _named(view, wanted.name, wanted.pattern_type, kinds)
    filters = (replace(wanted, type=p.type, name=p.name, pattern_type=t) for p, t in patterns)
    names = wanted.pattern_type is not PatternType.MATCH
    return ResolvedFilter(view, wanted.pattern_type, tuple(dict.fromkeys(filters)), names)


def _entries(one: AclFilter, acls: ResourceAcls) -> frozenset[AclEntry]:
    """The entries of a pattern that a filter matches; for most patterns there are no such
    entries."""
    wanted = one.principal
    if wanted is not None and not any([entry.principal == wanted for entry in eased(acls.entries)]):
        return frozenset()
    return frozenset([entry for entry in eased(acls.entries) if means_entry(one, entry)])


def _open(view: View, wanted: AclFilter, kinds: Iterable[ResourceType]) -> Iterator[AclFilter]:
    """Filters without a name. Under a home, LITERAL ``*`` also asks for the PREFIXED pattern that
    it stands for."""
    if not view.settings.home:
        yield wanted
        return
    for kind in kinds:
        yield replace(wanted, type=kind)
        wildcard = home_wildcard(view, kind)
        if wildcard is not None and wanted.pattern_type is PatternType.LITERAL:
            yield replace(wanted, type=kind, name=wildcard.name, pattern_type=PatternType.PREFIXED)


def _named(
    view: View, name: str, wanted: PatternType, kinds: Iterable[ResourceType]
) -> Iterator[tuple[ResourcePattern, PatternType]]:
    """The patterns that a name may stand for, each with the pattern type to search for."""
    if not name:
        return
    types = {PatternType.ANY: _STORED, PatternType.MATCH: (PatternType.LITERAL,)}
    for kind, pattern_type in product(kinds, types.get(wanted, (wanted,))):
        found = pattern_named(view, kind, pattern_type, name)
        if isinstance(found, Denied):
            continue
        match = wanted is PatternType.MATCH and found.pattern_type is PatternType.LITERAL
        yield found, PatternType.MATCH if match else found.pattern_type
        raw = ResourcePattern(kind, pattern_type, view.own_id(name.encode()).decode())
        if kind in NAMESPACED - {ResourceType.TOPIC} and not view.settings.home:
            # The pattern may be older than the namespace that its name spells.
            yield raw, wanted if wanted is PatternType.MATCH else pattern_type
