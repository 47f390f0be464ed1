"""An immutable state of the catalog, and the owner of a flat name in it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain
from types import MappingProxyType
from typing import Any, TypeVar

from gateway.acl_model import ResourcePattern
from gateway.catalog.draft import Draft
from gateway.catalog.entities import (
    CatalogFormat,
    Change,
    ClientMetrics,
    Entity,
    Gateway,
    Key,
    Link,
    Member,
    Namespace,
    PrincipalHome,
    Removal,
    ResourceAcls,
    ScramCredential,
    Seeds,
    Signing,
    TopicEntry,
    Volume,
)
from gateway.catalog.schema.table import KINDS, kind_of
from gateway.catalog.tallies import NO_TALLIES, Tally
from gateway.client_metrics import Subscription
from gateway.names import (
    DELIMITER,
    END_OF_NAMESPACE,
    LogicalName,
    check_namespace,
    decode,
    encode,
    fold,
    parents,
)
from protocol.pausing import may_pause, paced

_FOLDED_END = fold(END_OF_NAMESPACE)
_NOTHING: Mapping[Any, Any] = MappingProxyType({})

_INDEXES = (
    *("_by_name", "_by_id", "_links_of", "_prefixes", "_tallies", "_subscriptions"),
    "deleting",
)
"""The fields of a snapshot that follow from its entities."""

Inherited = dict[str, tuple[str, str]]


@dataclass(frozen=True)
class Snapshot:
    """The state of the catalog for every worker that has read it up to ``version``.

    ``version`` grows with every record. ``held`` has all entities, by the name of their kind and by
    their place in it (``Kind.place``); the properties below are its parts. A snapshot never
    changes: :meth:`apply` makes a new one.
    """

    version: int = 0
    held: Mapping[str, Mapping[Any, Any]] = field(default_factory=dict)
    _by_name: Mapping[LogicalName, str] = field(default_factory=dict, repr=False, compare=False)
    _by_id: Mapping[bytes, tuple[str, LogicalName]] = field(
        default_factory=dict, repr=False, compare=False
    )
    _links_of: Mapping[str, tuple[LogicalName, ...]] = field(
        default_factory=dict, repr=False, compare=False
    )
    _prefixes: Mapping[str, str] = field(default_factory=dict, repr=False, compare=False)
    _tallies: Mapping[Tally, int] = field(
        default_factory=lambda: NO_TALLIES, repr=False, compare=False
    )
    _subscriptions: Mapping[str, tuple[Subscription, ...]] = field(
        default_factory=dict, repr=False, compare=False
    )
    deleting: frozenset[str] = field(default=frozenset(), repr=False, compare=False)
    """The namespaces that are marked for deletion themselves."""

    @classmethod
    def of(
        cls, namespaces: Iterable[str], version: int = 1, topics: Iterable[TopicEntry] = ()
    ) -> Snapshot:
        """A snapshot with these namespaces and every tier above them (KIP-37: Create). Raises
        :class:`gateway.names.InvalidName` for a malformed path."""
        tiers: dict[str, Namespace] = {}
        for namespace in namespaces:
            check_namespace(namespace)
            tiers |= {tier: Namespace(tier) for tier in parents(namespace)}
        return cls().apply([*tiers.values(), *topics], version)

    def apply(self, changes: Iterable[Change], version: int) -> Snapshot:
        """The state after these changes, in their order. This one stays as it is."""
        draft = Draft(self.held, {name: getattr(self, name) for name in _INDEXES})
        for change in paced(changes):
            draft.apply(change)
        return replace(self, version=version, held=draft.held(), **draft.indexes)

    def entities(self) -> Iterator[Entity]:
        """Every entity it holds, in an order in which they can be applied."""
        yield CatalogFormat(self.format)
        for kind in KINDS.values():
            if kind.entity is not CatalogFormat:
                found = self.of_kind(kind.name)
                yield from (found[place] for place in (sorted(found) if kind.nested else found))

    def of_kind(self, name: str) -> Mapping[Any, Any]:
        """The entities of a kind, by their place in it."""
        return self.held.get(name, _NOTHING)

    def entity(self, key: Key) -> Entity | None:
        """The entity under a key, if there is such an entity. Raises ValueError for an unknown
        kind."""
        name, identity = key
        if name == CatalogFormat.KIND:
            return CatalogFormat(self.format)
        found: Entity | None = self.of_kind(name).get(kind_of(Removal(key)).place(identity))
        return found

    @property
    def size(self) -> int:
        """The number of entities, without those that describe the catalog itself."""
        return sum(len(self.of_kind(kind.name)) for kind in KINDS.values() if kind.counted)

    def tally(self, what: str, tier: str | None) -> int:
        """How many ``namespaces``, ``ACLs``, ``links``, ``aliases`` or ``subscriptions`` of client
        metrics there are in a tier and below it: an ACL counts at its pattern, a namespace in the
        tier above it. ``""``: in the default namespace alone; None: in the whole catalog."""
        return self._tallies.get((what, tier), 0)

    # -- by kind: looked up often, so found once ------------------------------------------------

    @cached_property
    def namespaces(self) -> Mapping[str, Namespace]:
        """Each tier path that exists, by path; the default namespace (``""``) is left out."""
        return self.of_kind(Namespace.KIND)

    @cached_property
    def topics(self) -> Mapping[str, TopicEntry]:
        """The topics that have an entry, by flat name: each is reachable by the names of its entry
        and by no other."""
        return self.of_kind(TopicEntry.KIND)

    @cached_property
    def links(self) -> Mapping[LogicalName, Link]:
        """All links, by name, dangling links too."""
        return self.of_kind(Link.KIND)

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
        """Principal -> its home namespace."""
        homes = self.of_kind(PrincipalHome.KIND)
        return {principal: home.namespace for principal, home in homes.items()}

    @cached_property
    def client_metrics(self) -> Mapping[str, ClientMetrics]:
        """The subscriptions of client metrics, by full name (``team-a:latencies``)."""
        return self.of_kind(ClientMetrics.KIND)

    @cached_property
    def gateways(self) -> Mapping[str, Gateway]:
        """The gateways that take part, by id."""
        return self.of_kind(Gateway.KIND)

    @cached_property
    def members(self) -> Mapping[str, Member]:
        """The gateways that are listed among the brokers, by id."""
        return self.of_kind(Member.KIND)

    @cached_property
    def seeded(self) -> frozenset[str]:
        """The namespaces of configuration files that were created once."""
        return frozenset(self.of_kind(Seeds.KIND).get((), Seeds(frozenset())).namespaces)

    @cached_property
    def signing(self) -> str:
        """The id of the key with which records are signed; empty in an unsigned catalog."""
        return str(self.of_kind(Signing.KIND).get((), Signing("")).key)

    @cached_property
    def number(self) -> int:
        """The cluster's number in the tree; 0: no gateway has mounted it."""
        return int(self.of_kind(Volume.KIND).get((), Volume(0)).number)

    @cached_property
    def format(self) -> int:
        """The format level of the catalog's records."""
        return int(self.of_kind(CatalogFormat.KIND).get((), CatalogFormat(1)).level)

    # -- namespaces -----------------------------------------------------------------------------

    def missing_tier(self, namespace: str) -> str | None:
        """The outermost tier path of ``namespace`` that does not exist, or is being deleted, if
        any."""
        tiers = parents(namespace)
        return next((t for t in tiers if t not in self.namespaces or t in self.deleting), None)

    def deleting_tier(self, namespace: str) -> str | None:
        """The outermost tier path of ``namespace`` that is being deleted, if any."""
        if not self.deleting:
            return None
        return next((tier for tier in parents(namespace) if tier in self.deleting), None)

    def below(self, namespace: str) -> list[str]:
        """The namespaces under this one (``""``: all), at any depth, sorted."""
        prefix = namespace + DELIMITER if namespace else ""
        return sorted(path for path in self.namespaces if path.startswith(prefix))

    def effective_configs(self, namespace: str) -> Inherited:
        """The configs that a topic in ``namespace`` inherits: key to (value, the tier it is set
        on); the innermost tier that sets a key wins (KIP-37: Namespace Configs)."""
        return self._inherited(namespace, lambda tier: tier.configs)

    def effective_settings(self, namespace: str) -> Inherited:
        """The gateway's own settings that a topic in ``namespace`` inherits, in the same shape."""
        return self._inherited(namespace, lambda tier: tier.settings)

    def _inherited(self, namespace: str, of: Callable[[Namespace], Mapping[str, str]]) -> Inherited:
        effective: Inherited = {}
        for tier in parents(namespace):
            found = self.namespaces.get(tier)
            if found is not None:
                effective |= {key: (value, tier) for key, value in of(found).items()}
        return effective

    def subscriptions_of(self, namespace: str) -> tuple[Subscription, ...]:
        """The subscriptions that concern clients whose home is this namespace (``""``: no home):
        those in it and in every namespace around it, the outermost first, then by name."""
        if not self._subscriptions:
            return ()
        found = self._concerning.get(namespace)
        if found is None:
            around = (self._subscriptions.get(tier, ()) for tier in ("", *parents(namespace)))
            in_order = sorted(chain.from_iterable(around), key=lambda one: one.name)
            found = tuple(sorted(in_order, key=lambda one: one.name.count(DELIMITER)))
            self._concerning[namespace] = found
        return found

    @cached_property
    def _concerning(self) -> dict[str, tuple[Subscription, ...]]:
        return {}

    def captured_by(self, name: LogicalName) -> str | None:
        """The namespace into whose flat names a default-namespace topic would fold, if any, because
        Kafka rejects a topic whose name equals another's once ``.`` and ``_`` are folded."""
        return None if name.namespace else self.folds_into(name.topic)

    def folds_into(self, flat: str) -> str | None:
        """The namespace whose flat names begin, after folding, as this flat name does, if any."""
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
        """The logical name of a flat name: by its entry, else by its spelling, else in the default
        namespace."""
        held = self.topics.get(flat)
        return held.name if held is not None else self.spelled(flat)

    def spelled(self, text: str) -> LogicalName:
        """The logical name of a legal spelling: a namespace's topic if that namespace exists."""
        name = decode(text)
        if not name.namespace or name.namespace in self.namespaces:
            return name
        return LogicalName("", text)

    def flat_of(self, name: LogicalName) -> str | None:
        """The flat name under which a topic of an existing namespace is, or would be, stored; for a
        link, that of the topic it leads to.

        None if another logical name holds its natural flat name: there is no such topic, and a new
        topic needs a fresh flat name; and None for a link that leads nowhere. Raises
        :class:`gateway.names.InvalidName`.
        """
        found = self._leads_to(name)
        if found is not None:
            return found
        flat = encode(name)
        return None if flat in self.topics or name in self.links else flat

    def entry_of(self, name: LogicalName) -> TopicEntry | None:
        """The entry that a logical name reaches, by its name, an alias or a link, if any."""
        flat = self._leads_to(name)
        return None if flat is None else self.topics[flat]

    def _leads_to(self, name: LogicalName) -> str | None:
        """The flat name that a name reaches by an entry or, if no entry has that name, by a
        link."""
        found = self._by_name.get(name)
        if found is None and name in self.links:
            link = self.links[name]
            found = link.flat if not link.gone and link.flat in self.topics else None
        return found

    def links_of(self, flat: str) -> tuple[LogicalName, ...]:
        """The links that lead to a topic, by its flat name, sorted."""
        return self._links_of.get(flat, ())

    def link_under(self, topic_id: bytes) -> LogicalName | None:
        """The link that clients know by a topic id, if it is a link's id."""
        found = self._by_id.get(topic_id)
        return None if found is None or found[1] not in self.links else found[1]

    def default_names(self) -> Iterator[LogicalName]:
        """The names in the default namespace that reach a topic by an entry or a link, and the
        links there that lead nowhere."""
        names = self._by_name.keys() | self.links.keys() if self.links else self._by_name
        return (name for name in names if not name.namespace)

    @property
    def has_topic_ids(self) -> bool:
        """True if any topic has a virtual topic id."""
        return bool(self._by_id)

    def by_topic_id(self, topic_id: bytes) -> tuple[str, LogicalName] | None:
        """The flat name and the logical name that go with a virtual topic id."""
        return self._by_id.get(topic_id)


_Key = TypeVar("_Key")
_EVERY = 256
"""Keys between two pause points: some 0.05 ms."""


def differing(before: Mapping[_Key, object], now: Mapping[_Key, object]) -> list[_Key]:
    """The keys that do not hold the same object in both mappings. Long mappings, which must not be
    changed meanwhile, may take several slices."""
    if not may_pause():
        changed = [key for key, value in now.items() if before.get(key) is not value]
        return changed + [key for key in before if key not in now]
    every = paced(now.items(), _EVERY)
    changed = [key for key, value in every if before.get(key) is not value]
    return changed + [key for key in paced(before, _EVERY) if key not in now]
