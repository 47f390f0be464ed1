"""Homes: which namespace a listener's clients, or one principal of them, have as their own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Protocol

from gateway.catalog.entities import PrincipalHome
from gateway.catalog.snapshot import Snapshot
from gateway.config.models import Cluster, Listener
from gateway.views.spelling import ViewSettings, below


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
