"""The views of one worker, made anew when the catalog changes; what principals may do in them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Final, Protocol

from gateway.acls.authorizer import Authorizer
from gateway.catalog.entities import PrincipalHome
from gateway.catalog.snapshot import Snapshot
from gateway.catalog.source import Catalog
from gateway.config.models import Cluster, Listener
from gateway.policies.tree import NO_POLICIES, Policies
from gateway.views.access import Access
from gateway.views.authorized_access import AuthorizedAccess
from gateway.views.closed_view import ClosedView
from gateway.views.spelling import ViewSettings, below
from gateway.views.view import View

MAX_ACCESSES: Final = 1_000
"""Accesses kept for connections to come; those that are open keep their own."""


class Views:
    """What each listener's clients see now: one view for each home that they have."""

    def __init__(
        self,
        catalog: Catalog,
        settings: Iterable[ViewSettings],
        authorizer: Authorizer | None = None,
        policies: Policies = NO_POLICIES,
    ) -> None:
        self._catalog = catalog
        self._settings = {each.listener: each for each in settings}
        self._authorizer = authorizer
        self._policies = policies
        self._views: dict[ViewSettings, View] = {}
        self._accesses: dict[tuple[View, str, str], Access] = {}
        self.update()

    def of(self, listener: str, home: str | None = None) -> View:
        """The view of a listener, for principals with this home; None: the listener's own."""
        settings = settings_of(self._settings[listener], home)
        view = self._views.get(settings)
        if view is None:
            view = self._views[settings] = self._made(settings, None)
        return view

    def access(self, view: View, principal: str, host: str) -> Access:
        """What a principal may do in a view; connections of the same one share it."""
        if self._authorizer is None:
            host = ""  # nothing is decided by it
        key = (view, principal, host)
        access = self._accesses.get(key)
        if access is None:
            if self._authorizer is None:
                access = Access(view, principal, host)
            else:
                access = AuthorizedAccess(view, principal, host, self._authorizer)
            if len(self._accesses) >= MAX_ACCESSES:
                del self._accesses[next(iter(self._accesses))]
            self._accesses[key] = access
        return access

    def set_policies(self, policies: Policies) -> None:
        """Go on with other policies: all views are made anew. Connections go on with them when
        they are reviewed (``Entrance.review``), as after a change of the catalog."""
        self._policies = policies
        self.update()

    def update(self) -> None:
        """Make them anew of the catalog's snapshot; of one that is too old none is made."""
        if self._authorizer is not None:
            self._authorizer.see(self._catalog.snapshot)
        self._accesses.clear()
        for settings, before in self._views.items():
            self._views[settings] = self._made(settings, before)

    def _made(self, settings: ViewSettings, before: View | None) -> View:
        snapshot = self._catalog.snapshot
        if not self._catalog.fresh:
            return ClosedView(settings, snapshot, self._policies)
        if before is None:
            return View(settings, snapshot, self._policies)
        same = before.snapshot is snapshot and before.policies is self._policies
        if same and not isinstance(before, ClosedView):
            return before
        return before.successor(snapshot, self._policies)


class HasHome(Protocol):
    """What the configuration says of a principal."""

    @property
    def home(self) -> str:
        """A namespace."""
        ...


def home_of(configured: Mapping[str, HasHome], snapshot: Snapshot, principal: str) -> str | None:
    """The home of a principal: the configuration's word, else the catalog's; None: it has none of
    its own."""
    known = configured.get(principal)
    if known is not None:
        return known.home
    kept: PrincipalHome | None = snapshot.of_kind(PrincipalHome.KIND).get(principal)
    return None if kept is None else kept.namespace


def view_settings(listener: Listener, cluster: Cluster) -> ViewSettings:
    """What all clients of a listener see."""
    home = listener.home or ""
    subtree = listener.list_subtree
    return ViewSettings(
        listener.name,
        listener.spelling,
        home,
        listener.escape,
        not home if subtree is None else subtree,
        listener.list_namespaces,
        cluster.allow_namespace_like_topics,
    )


def settings_of(settings: ViewSettings, home: str | None) -> ViewSettings:
    """What principals with this home see of a listener.

    A listener's home confines everyone: another one counts only if it is inside.
    """
    if home is None or not below(home, settings.home):
        return settings
    return replace(settings, home=home, list_subtree=False)
