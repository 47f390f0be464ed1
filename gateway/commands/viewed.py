"""The view that a client of a listener has of a name's cluster, for ``explain``."""

from __future__ import annotations

import argparse
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import NamedTuple

from gateway.commands import backend
from gateway.commands.backend import Backend
from gateway.commands.errors import Unavailable
from gateway.commands.explain_far import FarName, far_name
from gateway.commands.volumes import of_cluster
from gateway.config.models import Config, Listener
from gateway.config.reach import mounts_of
from gateway.config.reach import volume_of as volume_of_listener
from gateway.mounts import Mounts
from gateway.views.spelling import volume_of
from gateway.views.view import View
from gateway.views.view_settings import ViewSettings
from gateway.views.views import home_of, settings_of, view_settings


class Viewed(NamedTuple):
    """A cluster's part of the configuration, the cluster, and the view of it."""

    config: Config
    found: Backend
    view: View


@asynccontextmanager
async def viewed(
    whole: Config, listener: Listener, options: argparse.Namespace
) -> AsyncIterator[Viewed | FarName]:
    """Open the cluster that ``options.name`` is of at a listener, or ``options.cluster``. If the
    name is in another gateway's volume, no cluster is opened.

    The client's home is the configuration's, or from the catalog of the listener's volume. If
    that volume is down, names of other volumes are explained as for a client without a home of
    its own. Raises CommandError.
    """
    mounts = mounts_of(whole)
    own = whole.of_volume(volume_of_listener(whole, listener))
    async with AsyncExitStack() as opened:
        first: Backend | None = None
        failure: Unavailable | None = None
        try:
            first = await opened.enter_async_context(backend.open_backend(own, read_only=True))
        except Unavailable as error:
            failure = error
        configured = whole.principals.get(options.principal)
        home = None if configured is None else configured.home
        if first is not None:
            home = home_of(whole.principals, first.catalog.snapshot, options.principal)
        settings = settings_of(_settings(own, listener, mounts), home)
        far = None if options.cluster is not None else far_name(whole, settings, options.name)
        if far is not None:
            yield far
            return
        config = _chosen(whole, own, settings, options)
        found = first
        if config.clusters[0] != own.clusters[0]:
            found = await opened.enter_async_context(backend.open_backend(config, read_only=True))
        if found is None:
            assert failure is not None
            raise failure
        settings = settings_of(_settings(config, listener, mounts), home)
        yield Viewed(config, found, View(settings, found.catalog.snapshot))


def _settings(config: Config, listener: Listener, mounts: Mounts | None) -> ViewSettings:
    return view_settings(listener, config.clusters[0], mounts)


def _chosen(
    whole: Config, own: Config, settings: ViewSettings, options: argparse.Namespace
) -> Config:
    """The configuration of the cluster that the options name, or else of the name's cluster."""
    if options.cluster is not None:
        return of_cluster(whole, options.cluster)
    if settings.mounts is None:
        return own
    owner = volume_of(settings, options.name)
    return own if owner is None else of_cluster(whole, owner.cluster)
