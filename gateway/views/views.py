"""The views of one worker, the accesses in them, and the listings that principals get.

All are replaced when the catalog changes.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Final

from gateway.acls.authorizer import Authorizer
from gateway.catalog.entities import PrincipalHome
from gateway.catalog.freezes import Frozen, freezes_in
from gateway.catalog.snapshot import Snapshot
from gateway.catalog.source import Catalog
from gateway.config.models import Cluster, Listener
from gateway.config.security import PrincipalSettings
from gateway.decision import Denied
from gateway.mounts import Mounts
from gateway.names import below
from gateway.policies.tree import NO_POLICIES, Policies
from gateway.topic_ids import TopicIndex
from gateway.views.access import DESCRIBE, Access
from gateway.views.authorized_access import AuthorizedAccess
from gateway.views.closed_view import ClosedView
from gateway.views.spelling import ViewSettings
from gateway.views.view import View
from protocol.pausing import in_order, paced

MAX_ACCESSES: Final = 1_000
"""Accesses kept for new connections; open connections keep their own."""

MAX_LISTINGS: Final = 64
"""Listings kept; with more principals that list topics, the least recently used is dropped."""


class Views:
    """The present views of each listener: a view for each home of its clients."""

    def __init__(
        self,
        catalog: Catalog,
        settings: Iterable[ViewSettings],
        authorizer: Authorizer | None = None,
        policies: Policies = NO_POLICIES,
        may_decide: Callable[[], bool] = lambda: True,
    ) -> None:
        """``may_decide``: whether changes of the catalog wait for this process."""
        self._may_decide = may_decide
        self._catalog = catalog
        self._settings = {each.listener: each for each in settings}
        self._authorizer = authorizer
        self._policies = policies
        self._views: dict[ViewSettings, View] = {}
        self._by_home: dict[tuple[str, str | None], View] = {}
        self._accesses: OrderedDict[tuple[View, str, str], Access] = OrderedDict()
        # The views of the next state of the catalog, by the views that they are to replace.
        self._prepared: dict[View, View] = {}
        self.update()

    def of(self, listener: str, home: str | None = None) -> View:
        """The view of a listener for principals with this home; None: the listener's own home."""
        view = self._by_home.get((listener, home))
        if view is None:
            settings = settings_of(self._settings[listener], home)
            view = self._views.get(settings)
            if view is None:
                view = self._views[settings] = self._made(settings, None)
            self._by_home[listener, home] = view
        return view

    def access(self, view: View, principal: str, host: str) -> Access:
        """The access of a principal in a view; connections of the same principal share it."""
        if self._authorizer is None:
            host = ""  # no authorizer, so the host decides nothing
        key = (view, principal, host)
        access = self._accesses.get(key)
        if access is None:
            if self._authorizer is None:
                access = Access(view, principal, host)
            else:
                access = AuthorizedAccess(view, principal, host, self._authorizer)
            if len(self._accesses) >= MAX_ACCESSES:
                self._accesses.popitem(last=False)
            self._accesses[key] = access
        return access

    def set_policies(self, policies: Policies) -> None:
        """Use other policies: all views are replaced. Connections get the new views when they are
        reviewed (``Entrance.review``), as after a change of the catalog."""
        self._policies = policies
        self.update()

    def prepare(self, snapshot: Snapshot) -> None:
        """Prepare, in slices, for a state of the catalog: :meth:`update` then uses it at once."""
        if self._authorizer is not None:
            self._authorizer.prepare(snapshot)
        policies, frozen = self._policies, Frozen.of(freezes_in(snapshot).values())
        self._prepared = {
            before: before.successor(snapshot, policies, frozen)
            for before in list(self._views.values())
            if before.snapshot is not snapshot
        }

    def update(self) -> None:
        """Replace all views by views of the catalog's snapshot, or by closed views if it is too
        old."""
        if self._authorizer is not None:
            self._authorizer.follow(self._catalog.snapshot)
        self._accesses.clear()
        self._by_home.clear()
        for settings, before in self._views.items():
            self._views[settings] = self._made(settings, before)
        self._prepared = {}

    def _made(self, settings: ViewSettings, before: View | None) -> View:
        snapshot = self._catalog.snapshot
        if not self._catalog.fresh or not self._may_decide():
            return ClosedView(settings, snapshot, self._policies)
        frozen = Frozen.of(freezes_in(snapshot).values())
        if before is None:
            return View(settings, snapshot, self._policies, frozen)
        same = before.snapshot is snapshot and before.policies is self._policies
        if same and not isinstance(before, ClosedView):
            return before
        prepared = self._prepared.get(before)
        if prepared and prepared.snapshot is snapshot and prepared.policies is self._policies:
            return prepared
        return before.successor(snapshot, self._policies, frozen)


def home_of(
    configured: Mapping[str, PrincipalSettings], snapshot: Snapshot, principal: str
) -> str | None:
    """The home of a principal by the configuration, or else by the catalog; None: the principal has
    no home of its own."""
    known = configured.get(principal)
    if known is not None:
        return known.home
    kept: PrincipalHome | None = snapshot.of_kind(PrincipalHome.KIND).get(principal)
    return None if kept is None else kept.namespace


def view_settings(
    listener: Listener, cluster: Cluster, mounts: Mounts | None = None
) -> ViewSettings:
    """The view settings of a listener for one cluster. ``mounts``: all mounts of the tree, in the
    order of the configuration; relative names are in the first, unless the listener says
    otherwise."""
    home = listener.home or ""
    subtree = listener.list_subtree
    settings = ViewSettings(
        listener.name,
        listener.spelling,
        home,
        listener.escape,
        not home if subtree is None else subtree,
        listener.list_namespaces,
        cluster.allow_namespace_like_topics,
    )
    if mounts is None:
        return settings
    volume = listener.volume
    if volume is None:
        volume = next(iter(mounts)).path
    settings = replace(
        settings,
        mounts=mounts.within(listener.reach),
        volume=cluster.mount or "",
        listener_volume=volume,
        list_tree=listener.list_tree,
    )
    return settings if settings.is_relative else _elsewhere(settings, home)


def settings_of(settings: ViewSettings, home: str | None) -> ViewSettings:
    """The view settings of a listener for principals with this home, which applies only inside the
    listener's own home."""
    if not settings.is_relative:
        return _elsewhere(settings, home) if home else settings
    if home is None or not below(home, settings.home):
        return settings
    return replace(settings, home=home, list_subtree=False)


def _elsewhere(settings: ViewSettings, home: str) -> ViewSettings:
    """The settings in a volume other than the listener's, for clients with a home in the
    listener's."""
    return replace(settings, home="", home_elsewhere=home) if home else settings


class Listing:
    """The topics that a principal may list, from the topics of a cluster at ``index_version``.

    ``shown`` maps flat names to the view's spelling. ``links`` maps the flat name of a topic to its
    links in the listing: their names in the view's spelling, and their topic ids. ``version`` grows
    when ``shown`` or ``links`` changes.
    """

    __slots__ = (
        "__weakref__",
        "_decided",
        "_names",
        "_placed",
        "access",
        "index_version",
        "links",
        "shown",
        "version",
    )

    access: Access

    def __init__(self, access: Access, index: TopicIndex, former: Listing | None = None) -> None:
        """``former``: a listing of the same principal; its decisions are kept if still valid."""
        kept = former._decided if former is not None and former.access is access else {}
        self.index_version = index.version  # the index may change during this constructor
        self._decided: dict[bytes, bytes | None] = {
            flat: kept[flat] if flat in kept else _shown(access, flat)
            for flat in paced(list(index.names()))
        }
        self._names: Sequence[str] | None = None
        self._placed: Sequence[tuple[str, str]] | None = None
        self.access = access
        decided = paced(self._decided.items())
        self.shown = {flat: name for flat, name in decided if name is not None}
        self.links = _links_listed(access, index, self.shown)
        self.version = 0

    @property
    def names(self) -> Sequence[str]:
        """All names in the view's spelling, sorted."""
        if self._names is None:
            self._names = in_order(name for _, name in paced(self.placed))
        return self._names

    @property
    def placed(self) -> Sequence[tuple[str, str]]:
        """(flat name of the topic, name) for each name, ordered by flat name."""
        if self._placed is None:
            flats = in_order(flat.decode() for flat in paced(self.shown.keys() | self.links.keys()))
            self._placed = [(flat, name) for flat in paced(flats) for name in self._names_of(flat)]
        return self._placed

    def _names_of(self, flat: str) -> list[str]:
        wire = flat.encode()
        own, links = self.shown.get(wire), self.links.get(wire, ())
        names = [name for name, _ in links] if own is None else [own, *(name for name, _ in links)]
        return sorted(name.decode() for name in names)

    def forget_decisions(self) -> None:
        """Drop the decisions, because the next listing is made from another listing."""
        self._decided = {}

    def is_like(self, other: Listing) -> bool:
        """Whether the other listing lists the same names."""
        return self.shown == other.shown and self.links == other.links


def _shown(access: Access, flat: bytes) -> bytes | None:
    view = access.view
    if not view.lists(flat) or access.flat_denial(DESCRIBE, flat) is not None:
        return None
    return view.spell(flat)


def _links_listed(
    access: Access, index: TopicIndex, shown: Mapping[bytes, bytes]
) -> Mapping[bytes, Sequence[tuple[bytes, bytes | None]]]:
    """The links that a principal may list, without the links by whose names topics are
    ``shown``."""
    view = access.view
    found: dict[bytes, list[tuple[bytes, bytes | None]]] = {}
    for name, link in paced(list(view.snapshot.links.items())):
        spelled = view.spell_name(name) if view.lists_namespace(name.namespace) else None
        flat = link.flat.encode()
        if spelled in (None, shown.get(flat)) or link.gone or not index.exists(flat):
            continue
        if not isinstance(access.topic(DESCRIBE, spelled), Denied):
            found.setdefault(flat, []).append((spelled, link.topic_id))
    return found


class Listings:
    """The listings of principals, kept until the cluster's topics or the catalog change.

    The most recently used listings are kept. All share one growing version, so that a new listing
    is never taken for an earlier one.
    """

    def __init__(self) -> None:
        self._made: dict[tuple[ViewSettings, str, str], Listing] = {}
        self._version = 0

    def of(self, access: Access, index: TopicIndex) -> Listing:
        """The present listing of a principal in a view."""
        key = (access.view.settings, access.principal, access.host)
        made = self._made.pop(key, None)
        if made is None or made.access is not access or made.index_version != index.version:
            former, made = made, Listing(access, index, made)
            if former is not None and made.is_like(former):
                made.version = former.version
            else:
                self._version += 1
                made.version = self._version
            if former is not None:
                former.forget_decisions()
        # Requests in progress hold listings that are no longer kept here.
        if len(self._made) >= MAX_LISTINGS:
            self._made.pop(next(iter(self._made))).forget_decisions()
        self._made[key] = made
        return made
