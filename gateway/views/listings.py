"""What a listing shows to whom, kept while neither topics nor the catalog change."""

from __future__ import annotations

from typing import Final

from gateway.topic_ids import TopicIndex
from gateway.views.access import DESCRIBE, Access
from gateway.views.view import ViewSettings
from protocol.pausing import paced

MAX_LISTINGS: Final = 64
"""Listings kept; with more principals that list topics, the one that did so longest ago goes."""


class Listing:
    """The topics that a principal may list: ``names`` in its view's spelling, sorted. ``version``
    grows when they change."""

    __slots__ = ("access", "index_version", "names", "version")

    def __init__(self, access: Access, index_version: int, names: list[str], version: int) -> None:
        self.access = access
        self.index_version = index_version
        self.names = names
        self.version = version


class Listings:
    """What may be listed by whom, kept until the cluster's topics or the catalog change.

    With many principals those that listed last are kept; versions of all go on growing, so that
    one that is made anew is never taken for an earlier one.
    """

    def __init__(self) -> None:
        self._made: dict[tuple[ViewSettings, str, str], Listing] = {}
        self._version = 0

    def of(self, access: Access, index: TopicIndex) -> Listing:
        """The listing as of now."""
        view = access.view
        key = (view.settings, access.principal, access.host)
        made = self._made.pop(key, None)
        if made is None or made.access is not access or made.index_version != index.version:
            names = sorted(
                shown.decode()
                for flat in paced(list(index.names()))
                if view.lists(flat)
                and access.flat(DESCRIBE, flat) is None
                and (shown := view.spell(flat)) is not None
            )
            if made is None or made.names != names:
                self._version += 1
                version = self._version
            else:
                version = made.version
            made = Listing(access, index.version, names, version)
        if len(self._made) >= MAX_LISTINGS:
            del self._made[next(iter(self._made))]
        self._made[key] = made
        return made
