"""Names of a volume behind other gateways, whose catalog is not here.

Whether a namespace or a topic exists there only its owner knows. What a name stands for, and how a
listener spells it, depends on the listener's settings alone, but for one thing: a relative name in
legal spelling (``search..clicks``) is a topic of the default namespace here.
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
        """``settings`` are the listener's, in any volume."""
        home = settings.home or settings.home_elsewhere
        self._settings = replace(settings, volume=path, home="", home_elsewhere=home)

    def parse(self, spelled: str) -> LogicalName | None:
        """The name inside the volume that a spelling stands for; None: no topic of it."""
        try:
            return spelling.parse(self._settings, _NOTHING, spelled)
        except InvalidName:
            return None

    def flat(self, name: LogicalName) -> bytes | None:
        """The flat name of a topic that was never moved, or None if there can be none."""
        try:
            return encode(name).encode()
        except InvalidName:
            return None

    def spell(self, name: LogicalName) -> str | None:
        """A name inside the volume in the listener's spelling; None if that has none for it."""
        if self._settings.shut:
            return None
        return spelling.spell_anywhere(self._settings, _NOTHING, name)
