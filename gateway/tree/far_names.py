"""Names of a volume behind other gateways, whose catalog is not here.

Only the owner of the volume knows whether a namespace or a topic exists there. The meaning of a
name, and its spelling at a listener, depend on the listener's settings alone, with one exception: a
relative name in legal spelling (``search..clicks``) is a topic of the default namespace here.
"""

from __future__ import annotations

from dataclasses import replace

from gateway.catalog.snapshot import Snapshot
from gateway.names import InvalidName, LogicalName, encode
from gateway.views import spelling
from gateway.views.view_settings import ViewSettings

_NOTHING = Snapshot()


class FarNames:
    """The names of the volume at ``path``, as the clients of one listener write them."""

    __slots__ = ("_settings",)

    def __init__(self, settings: ViewSettings, path: str) -> None:
        """``settings`` are the listener's settings, in any volume."""
        home = settings.home or settings.home_elsewhere
        self._settings = replace(settings, volume=path, home="", home_elsewhere=home)

    def parse(self, spelled: str) -> LogicalName | None:
        """The name inside the volume that a spelling stands for; None: the spelling names no topic
        of the volume."""
        try:
            return spelling.parse(self._settings, _NOTHING, spelled)
        except InvalidName:
            return None

    def flat(self, name: LogicalName) -> bytes | None:
        """The flat name of a topic that was never moved; None: no topic can have this name."""
        try:
            return encode(name).encode()
        except InvalidName:
            return None

    def spell(self, name: LogicalName) -> str | None:
        """A name inside the volume in the listener's spelling; None: there is no such spelling."""
        if self._settings.shut:
            return None
        return spelling.spell_anywhere(self._settings, _NOTHING, name)
