"""The views of one worker: one a listener, made anew when the catalog changes."""

from __future__ import annotations

from collections.abc import Iterable

from gateway.catalog.source import Catalog
from gateway.view import ClosedView, View, ViewSettings


class Views:
    """What each listener's clients see now."""

    def __init__(self, catalog: Catalog, settings: Iterable[ViewSettings]) -> None:
        self._catalog = catalog
        self._settings = {each.listener: each for each in settings}
        self._views: dict[str, View] = {}
        self.update()

    def of(self, listener: str) -> View:
        """The view of a listener."""
        return self._views[listener]

    def update(self) -> None:
        """Make them anew of the catalog's snapshot; of one that is too old none is made."""
        snapshot, fresh = self._catalog.snapshot, self._catalog.fresh
        for listener, settings in self._settings.items():
            before = self._views.get(listener)
            if not fresh:
                view: View = ClosedView(settings, snapshot)
            elif before is None:
                view = View(settings, snapshot)
            elif before.snapshot is snapshot and not isinstance(before, ClosedView):
                view = before
            else:
                view = before.successor(snapshot)
            self._views[listener] = view
