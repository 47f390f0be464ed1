"""Carries the namespaces of a catalog into another catalog, at the same paths or
below a namespace. Pure.

Namespaces with their configs are carried, and ACLs of topics, groups and transactional ids. Below
``dr:a`` the namespace ``org`` becomes ``dr:a:org``, and ACLs get the names that they would have
under the home ``dr:a`` (gateway/rules/acl_names.py): ``orders`` becomes ``dr:a:orders``, LITERAL
``*`` becomes PREFIXED ``dr:a:``. A client with that home may then do the same as at the source,
with the same names. It may do more in a single case: if the source allows an operation on every
topic, the ACL here allows it on the namespace ``dr:a`` itself, and ALTER (or ALL) on a namespace
delegates everything in it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from gateway.acl_model import (
    NAMESPACED,
    WILDCARD,
    PatternType,
    Permission,
    ResourcePattern,
    ResourceType,
)
from gateway.catalog.entities import Entity, Namespace, ResourceAcls, Seeds, key_of
from gateway.catalog.schema.table import KINDS, kind_of
from gateway.commands.catalog.file import Imported
from gateway.commands.errors import UsageError
from gateway.commands.output import shortened
from gateway.config.errors import Problem
from gateway.config.policies import namespace_of
from gateway.names import DELIMITER, MAX_FLAT_LENGTH, InvalidName, flat_prefix, parents
from gateway.views.view import MAX_ID_BYTES


@dataclass(slots=True)
class LeftOut:
    """The entities that are not carried."""

    deleting: list[str] = field(default_factory=list)
    """Namespaces that are being deleted."""
    acls: list[str] = field(default_factory=list)
    """Patterns of other resource types, or in a namespace that is being deleted."""
    kinds: Counter[str] = field(default_factory=Counter)
    """The number of entities of each other kind."""

    @property
    def lines(self) -> list[str]:
        """A sentence for each reason, to print."""
        found = []
        if self.deleting:
            found.append(f"namespaces that are being deleted: {shortened(self.deleting)}")
        if self.acls:
            found.append(f"ACLs on {shortened(self.acls)}")
        others = [f"{number:,} of {kind}" for kind, number in sorted(self.kinds.items())]
        if others:
            found.append(f"entries of other kinds: {', '.join(others)}")
        return [f"Left out: {text}." for text in found]

    def to_json(self) -> dict[str, object]:
        """The entities that are left out, as JSON."""
        kinds = dict(sorted(self.kinds.items()))
        return {"deleting": self.deleting, "acls": self.acls, "kinds": kinds}


def selected(entities: Iterable[Entity], below: str = "") -> tuple[list[Entity], LeftOut]:
    """The entities of a catalog that are carried, without notes of work under way.

    If ``below`` is given, only that namespace is carried, with all below it, the namespaces above
    it (because their configs and gates apply there too), and the ACLs that cover anything there.
    """
    found = [*entities]
    left_out = LeftOut()
    deleting = {
        one.path for one in found if isinstance(one, Namespace) and one.deleting is not None
    }
    kept: list[Entity] = []
    for one in found:
        if isinstance(one, Namespace):
            if not _is_at(one.path, below) and one.path not in parents(below):
                continue
            if deleting.isdisjoint(parents(one.path)):
                kept.append(replace(one, apply=(), apply_since=0))
            else:
                left_out.deleting.append(one.path)
        elif isinstance(one, ResourceAcls):
            if not _reaches(one.pattern, below):
                continue
            tiers = parents(one.pattern.name.rpartition(DELIMITER)[0])
            if one.pattern.type in NAMESPACED and deleting.isdisjoint(tiers):
                kept.append(one)
            else:
                left_out.acls.append(str(one.pattern))
        elif not below:
            kind = kind_of(one)
            if kind.section is not None and not isinstance(one, Seeds):
                left_out.kinds[kind.section.name] += 1
    left_out.deleting.sort()
    left_out.acls.sort()
    return kept, left_out


def _is_at(path: str, below: str) -> bool:
    return not below or path == below or path.startswith(below + DELIMITER)


def _reaches(pattern: ResourcePattern, below: str) -> bool:
    """Whether a pattern covers anything in ``below``, or is the name of a namespace above it."""
    if not below:
        return True
    if pattern.type not in NAMESPACED:
        return False
    if pattern.pattern_type is PatternType.LITERAL and pattern.name == WILDCARD:
        return True
    inside = below + DELIMITER
    return pattern.name.startswith(inside) or (
        pattern.name.endswith(DELIMITER) and inside.startswith(pattern.name)
    )


# -- names below a namespace -----------------------------------------------------------------------


def check_under(under: str) -> None:
    """Raises UsageError if ``--under`` is no namespace."""
    try:
        namespace_of(under)
    except ValueError as error:
        raise UsageError(f"--under: {error}") from None


def path_under(under: str, path: str) -> str:
    """The path that a namespace has below ``under``; if ``under`` is empty, the path is unchanged.

    >>> path_under("dr:a", "org:apache")
    'dr:a:org:apache'
    """
    return f"{under}{DELIMITER}{path}" if under else path


def pattern_under(under: str, pattern: ResourcePattern) -> ResourcePattern:
    """The pattern, renamed for clients with the home ``under``, which go on writing ``pattern`` as
    at the source. The pattern's type is in ``NAMESPACED``."""
    if not under:
        return pattern
    if pattern.pattern_type is PatternType.LITERAL and pattern.name == WILDCARD:
        return ResourcePattern(pattern.type, PatternType.PREFIXED, under + DELIMITER)
    return replace(pattern, name=path_under(under, pattern.name))


def entity_under(under: str, entity: Entity) -> Entity:
    """The namespace or the ACLs with the names that they are carried to."""
    if isinstance(entity, Namespace):
        return replace(entity, path=path_under(under, entity.path))
    assert isinstance(entity, ResourceAcls)
    return replace(entity, pattern=pattern_under(under, entity.pattern))


def is_inside(entity: Entity, under: str, below: str = "") -> bool:
    """Whether a file of namespaces imported with these flags could hold the entity, so that
    ``--prune`` may remove it.

    The namespace ``under`` itself, and a gate on it, belong to the catalog that is imported into.
    """
    inside = path_under(under, below) if below else under
    head = inside + DELIMITER
    if isinstance(entity, Namespace):
        return not inside or entity.path.startswith(head) or (bool(below) and entity.path == inside)
    if not isinstance(entity, ResourceAcls) or entity.pattern.type not in NAMESPACED:
        return False
    pattern = entity.pattern
    if pattern.name == head and pattern.pattern_type is PatternType.LITERAL and not below:
        return False  # a gate on ``under``
    return not inside or pattern.name.startswith(head)


# -- a file ----------------------------------------------------------------------------------------


def carried(
    imported: Imported, under: str, existing: Mapping[str, Namespace]
) -> tuple[Imported, LeftOut]:
    """A file's namespaces and ACLs below ``under``, each with its place in the file. If
    ``under`` is empty, they keep their paths. If ``under`` or a namespace above it does not
    exist yet, it is added."""
    kept, left_out = selected(imported.entities)
    own = {key_of(one): entity_under(under, one) for one in kept}
    result = replace(
        imported,
        catalog_format=max((KINDS[key[0]].level for key in own), default=1),
        entities=[*own.values()],
        places={key_of(one): imported.places.get(key, ((), 0)) for key, one in own.items()},
        configs={
            (path_under(under, path), config): place
            for (path, config), place in imported.configs.items()
        },
    )
    for tier in parents(under):
        if tier not in existing:
            result.entities.append(Namespace(tier))
            result.places["namespace", tier] = (f"--under {under}",), 0
    return result, left_out


def wider(imported: Imported, under: str) -> list[str]:
    """A warning if ACLs of the file reach further below ``under`` than at the source, because no
    pattern covers everything in a namespace without the namespace itself."""
    every = ResourcePattern(ResourceType.TOPIC, PatternType.LITERAL, WILDCARD)
    reaches = under and any(
        isinstance(one, ResourceAcls)
        and one.pattern == every
        and any(entry.permission is Permission.ALLOW for entry in one.entries)
        for one in imported.entities
    )
    text = (
        f"Wider than at the source: what is allowed on every topic there ({WILDCARD}) is allowed on"
        f" namespace '{under}' itself; with ALTER or ALL that is to create topics and namespaces in"
        " it, and to change the ACLs of everything in it, groups and transactional ids too."
    )
    return [text] if reaches else []


def too_long(imported: Imported) -> list[Problem]:
    """The problem of each namespace and ACL whose name would be too long, at
    its place in the file."""
    found = []
    for one in imported.entities:
        reason = None
        if isinstance(one, Namespace):
            reason = _namespace_too_long(one.path)
        elif isinstance(one, ResourceAcls):
            reason = _pattern_too_long(one.pattern)
        if reason is not None:
            found.append(imported.problem(key_of(one), reason))
    return found


def _namespace_too_long(path: str) -> str | None:
    try:
        namespace_of(path)
    except ValueError as error:
        return f"{error}, or choose a shorter --under"
    return None


def _pattern_too_long(pattern: ResourcePattern) -> str | None:
    name = pattern.name
    if pattern.type is not ResourceType.TOPIC:
        length, most, unit = len(name.encode()), MAX_ID_BYTES, "bytes"
    else:
        namespace, _, rest = name.rpartition(DELIMITER)
        try:
            length = len(flat_prefix(namespace)) + max(1, len(rest))
        except InvalidName:
            return None  # such a pattern covers nothing, here as at the source
        most, unit = MAX_FLAT_LENGTH, "characters"
    if length <= most:
        return None
    return (
        f"'{name}' would be stored as {length:,} {unit}, and {most:,} is the most; leave the ACL"
        " out, or choose a shorter --under"
    )
