"""One immutable state of the catalog, and who owns a flat name in it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from types import MappingProxyType
from typing import Any

from gateway.acl_model import ResourcePattern
from gateway.catalog.entities import (
    CatalogFormat,
    Change,
    Entity,
    Gateway,
    Key,
    Namespace,
    PrincipalHome,
    Removal,
    ResourceAcls,
    ScramCredential,
    Seeds,
    Signing,
    TopicEntry,
)
from gateway.catalog.schema.table import KINDS, kind_of
from gateway.names import (
    DELIMITER,
    END_OF_NAMESPACE,
    LogicalName,
    check_namespace,
    decode,
    encode,
    flat_prefix,
    fold,
    parents,
)
from protocol.pausing import paced

_FOLDED_END = fold(END_OF_NAMESPACE)
_NOTHING: Mapping[Any, Any] = MappingProxyType({})


@dataclass(frozen=True)
class Snapshot:
    """What every worker that has read the catalog up to ``version`` agrees on.

    ``version`` grows with every record. ``held`` has all entities, by the name of their kind and by
    their place in it (``Kind.place``); the properties below are its parts. A new state is made by
    :meth:`apply`, never by changing one.
    """

    version: int = 0
    held: Mapping[str, Mapping[Any, Any]] = field(default_factory=dict)
    _by_name: Mapping[LogicalName, str] = field(default_factory=dict, repr=False, compare=False)
    _by_id: Mapping[bytes, tuple[str, LogicalName]] = field(
        default_factory=dict, repr=False, compare=False
    )
    _prefixes: Mapping[str, str] = field(default_factory=dict, repr=False, compare=False)
    _deleting: frozenset[str] = field(default=frozenset(), repr=False, compare=False)

    @classmethod
    def of(
        cls, namespaces: Iterable[str], version: int = 1, topics: Iterable[TopicEntry] = ()
    ) -> Snapshot:
        """A snapshot with these namespaces and every tier above them (KIP-37: Create).

        Raises :class:`gateway.names.InvalidName` for a malformed path.
        """
        tiers: dict[str, Namespace] = {}
        for namespace in namespaces:
            check_namespace(namespace)
            tiers |= {tier: Namespace(tier) for tier in parents(namespace)}
        return cls().apply([*tiers.values(), *topics], version)

    def apply(self, changes: Iterable[Change], version: int) -> Snapshot:
        """The state after these changes, in their order. This one stays as it is."""
        draft = _Draft(self)
        for change in paced(changes):
            draft.apply(change)
        return draft.snapshot(version)

    def entities(self) -> Iterator[Entity]:
        """Everything it holds, in an order in which it can be applied."""
        yield CatalogFormat(self.format)
        for kind in KINDS.values():
            if kind.entity is not CatalogFormat:
                found = self.of_kind(kind.name)
                yield from (found[place] for place in (sorted(found) if kind.nested else found))

    def of_kind(self, name: str) -> Mapping[Any, Any]:
        """The entities of a kind, by their place in it."""
        return self.held.get(name, _NOTHING)

    def entity(self, key: Key) -> Entity | None:
        """What it holds under a key. Raises ValueError for what is no key."""
        kind, identity = key
        if kind == CatalogFormat.KIND:
            return CatalogFormat(self.format)
        if kind not in KINDS:
            raise ValueError(f"the catalog holds nothing of kind {kind!r}")
        found: Entity | None = self.of_kind(kind).get(KINDS[kind].place(identity))
        return found

    @property
    def size(self) -> int:
        """How many entities it holds, without those that are about the catalog itself."""
        return sum(len(self.of_kind(kind.name)) for kind in KINDS.values() if kind.counted)

    # -- by kind: looked up often, so found once ------------------------------------------------

    @cached_property
    def namespaces(self) -> Mapping[str, Namespace]:
        """Each tier path that exists, by path; the default namespace (``""``) is left out."""
        return self.of_kind(Namespace.KIND)

    @cached_property
    def topics(self) -> Mapping[str, TopicEntry]:
        """The topics whose flat name does not say everything, by flat name: each is reachable by
        the names of its entry and by no other."""
        return self.of_kind(TopicEntry.KIND)

    @cached_property
    def acls(self) -> Mapping[ResourcePattern, ResourceAcls]:
        """All ACLs, by pattern."""
        return self.of_kind(ResourceAcls.KIND)

    @cached_property
    def scram(self) -> Mapping[tuple[str, str], ScramCredential]:
        """Credentials, by mechanism and user."""
        return self.of_kind(ScramCredential.KIND)

    @cached_property
    def homes(self) -> Mapping[str, str]:
        """The home namespaces of principals."""
        found: Mapping[str, PrincipalHome] = self.of_kind(PrincipalHome.KIND)
        return {principal: home.namespace for principal, home in found.items()}

    @cached_property
    def gateways(self) -> Mapping[str, Gateway]:
        """The gateways that take part, by id."""
        return self.of_kind(Gateway.KIND)

    @cached_property
    def seeded(self) -> frozenset[str]:
        """The namespaces of configuration files that were made once."""
        found: Seeds = self.of_kind(Seeds.KIND).get((), Seeds(frozenset()))
        return found.namespaces

    @cached_property
    def signing(self) -> str:
        """The id of the key that records are signed with; empty: they need not be."""
        found: Signing = self.of_kind(Signing.KIND).get((), Signing(""))
        return found.key

    @cached_property
    def format(self) -> int:
        """What the records of the catalog may hold."""
        found: CatalogFormat = self.of_kind(CatalogFormat.KIND).get((), CatalogFormat(1))
        return found.level

    # -- namespaces -----------------------------------------------------------------------------

    def missing_tier(self, namespace: str) -> str | None:
        """The outermost tier path of ``namespace`` that does not exist; None when all do.

        A namespace that is being deleted does not exist any more, nor does what is below it.
        """
        for tier in parents(namespace):
            found = self.namespaces.get(tier)
            if found is None or found.deleting is not None:
                return tier
        return None

    def deleting_tier(self, namespace: str) -> str | None:
        """The outermost tier path of ``namespace`` that is being deleted, if any."""
        if not self._deleting:
            return None
        return next((tier for tier in parents(namespace) if tier in self._deleting), None)

    def below(self, namespace: str) -> list[str]:
        """The namespaces under this one (``""``: all), at any depth, sorted."""
        prefix = namespace + DELIMITER if namespace else ""
        return sorted(path for path in self.namespaces if path.startswith(prefix))

    def deleting(self) -> frozenset[str]:
        """The namespaces that are marked for deletion themselves."""
        return self._deleting

    def effective_configs(self, namespace: str) -> dict[str, tuple[str, str]]:
        """The configs that a topic in ``namespace`` inherits: key to (value, the tier it is set
        on), the innermost tier that sets a key winning (KIP-37: Namespace Configs)."""
        return self._inherited(namespace, lambda tier: tier.configs)

    def effective_settings(self, namespace: str) -> dict[str, tuple[str, str]]:
        """The same of the gateway's own settings."""
        return self._inherited(namespace, lambda tier: tier.settings)

    def _inherited(
        self, namespace: str, of: Callable[[Namespace], Mapping[str, str]]
    ) -> dict[str, tuple[str, str]]:
        effective: dict[str, tuple[str, str]] = {}
        for tier in parents(namespace):
            found = self.namespaces.get(tier)
            if found is not None:
                effective |= {key: (value, tier) for key, value in of(found).items()}
        return effective

    def captured_by(self, name: LogicalName) -> str | None:
        """The namespace whose flat names a default-namespace topic would fold into, if any.

        Kafka refuses two topics that are equal after ``.`` and ``_`` are folded; such a name
        would take a topic away from a namespace that exists.
        """
        return None if name.namespace else self.folds_into(name.topic)

    def folds_into(self, flat: str) -> str | None:
        """The namespace whose flat names begin, after folding, as this one does, if any."""
        folded = fold(flat)
        at = folded.find(_FOLDED_END)
        while at > 0:
            namespace = self._prefixes.get(folded[: at + 2])
            if namespace is not None:
                return namespace
            at = folded.find(_FOLDED_END, at + 1)
        return None

    # -- topics ---------------------------------------------------------------------------------

    def owner(self, flat: str) -> LogicalName:
        """The logical name of a flat name: by entry, else by spelling, else the default one's."""
        held = self.topics.get(flat)
        return held.name if held is not None else self.spelled(flat)

    def spelled(self, text: str) -> LogicalName:
        """What a legal spelling names here: a namespace's topic if that namespace exists."""
        name = decode(text)
        if not name.namespace or name.namespace in self.namespaces:
            return name
        return LogicalName("", text)

    def flat_of(self, name: LogicalName) -> str | None:
        """Where a topic of an existing namespace is, or would be, stored.

        None when its natural flat name is held by another logical name and it has no entry of
        its own: there is no such topic, and one that is made needs a fresh flat name. Raises
        :class:`gateway.names.InvalidName`.
        """
        found = self._by_name.get(name)
        if found is not None:
            return found
        flat = encode(name)
        return None if flat in self.topics else flat

    def entry_of(self, name: LogicalName) -> TopicEntry | None:
        """The entry that a logical name reaches, by its name or an alias; None if it has none."""
        flat = self._by_name.get(name)
        return None if flat is None else self.topics[flat]

    def default_names(self) -> Iterator[LogicalName]:
        """The names in the default namespace that reach a topic by its entry, aliases too."""
        return (name for name in self._by_name if not name.namespace)

    @property
    def has_topic_ids(self) -> bool:
        """Whether any topic has a virtual topic id."""
        return bool(self._by_id)

    def by_topic_id(self, topic_id: bytes) -> tuple[str, LogicalName] | None:
        """The flat name, and the logical one, that go with a virtual topic id."""
        return self._by_id.get(topic_id)


def differing(before: Mapping[str, object], now: Mapping[str, object]) -> list[str]:
    """The keys that do not hold the same object in both."""
    changed = [key for key, value in now.items() if before.get(key) is not value]
    return changed + [key for key in before if key not in now]


class _Draft:
    """A snapshot in the making: what changes is copied once, the rest is shared."""

    def __init__(self, base: Snapshot) -> None:
        self._base = base
        self._copies: dict[str, dict[Any, Any]] = {}
        self._indexes: dict[str, Any] = {}

    def apply(self, change: Change) -> None:
        entity: Entity | None = None
        if isinstance(change, Removal):
            name, identity = change.key
            if name not in KINDS:
                raise ValueError(f"the catalog holds nothing of kind {name!r}")
            place = KINDS[name].place(identity)
        else:
            kind = kind_of(change)
            name, place = kind.name, kind.place_of(change)
            entity = kind.lasting(change)
            if entity == kind.nothing:
                entity = None
        if name == Namespace.KIND:
            self._index_namespace(place, entity)
        elif name == TopicEntry.KIND:
            self._index_topic(place, entity)
        _put(self._copy(name), place, entity)

    def snapshot(self, version: int) -> Snapshot:
        held = {**self._base.held, **self._copies}
        held = {name: entities for name, entities in held.items() if entities}
        return replace(self._base, version=version, held=held, **self._indexes)

    def _copy(self, kind: str) -> dict[Any, Any]:
        copy = self._copies.get(kind)
        if copy is None:
            copy = self._copies[kind] = dict(self._base.of_kind(kind))
        return copy

    def _index(self, attribute: str) -> dict[Any, Any]:
        copy: dict[Any, Any] | None = self._indexes.get(attribute)
        if copy is None:
            copy = self._indexes[attribute] = dict(getattr(self._base, attribute))
        return copy

    def _index_namespace(self, path: Any, entity: Any) -> None:
        _put(self._index("_prefixes"), fold(flat_prefix(path)), None if entity is None else path)
        deleting: frozenset[str] = self._indexes.get("_deleting", self._base.deleting())
        marked = entity is not None and entity.deleting is not None
        if marked is not (path in deleting):
            self._indexes["_deleting"] = deleting | {path} if marked else deleting - {path}

    def _index_topic(self, flat: Any, entity: Any) -> None:
        names, ids = self._index("_by_name"), self._index("_by_id")
        former: TopicEntry | None = self._copy(TopicEntry.KIND).get(flat)
        for name in () if former is None else former.names:
            if names.get(name) == flat:
                del names[name]
        for topic_id, _ in () if former is None else _ids(former):
            ids.pop(topic_id, None)
        if entity is None:
            return
        # An alias gives way to a topic that has taken the name since.
        for name in reversed(entity.names):
            if name == entity.name or name not in names:
                names[name] = flat
        for topic_id, name in _ids(entity):
            ids[topic_id] = (flat, name)


def _ids(entry: TopicEntry) -> list[tuple[bytes, LogicalName]]:
    pairs = [(entry.topic_id, entry.name)]
    pairs += [(alias.topic_id, alias.name) for alias in entry.aliases]
    return [(topic_id, name) for topic_id, name in pairs if topic_id is not None]


def _put(mapping: dict[Any, Any], key: Any, value: Any) -> None:
    if value is None:
        mapping.pop(key, None)
    else:
        mapping[key] = value
