"""Places: the cluster that something happened in, with its mount, for counts and logs.

Names in flows and events are those of one volume, relative to its mount; a place makes them
absolute. Without a tree there are no absolute names.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from gateway.mounts import Mounts, join
from gateway.names import DELIMITER


@dataclass(frozen=True, slots=True, eq=False)
class Place:
    """A cluster: its name in the configuration, and its mount's path (None if there is no tree).

    ``mounts`` are all of the tree, if they are known. Each cluster of a process has one place; two
    are never equal.
    """

    cluster: str = ""
    mount: str | None = None
    mounts: Mounts | None = None

    def path_of(self, logical: str) -> str | None:
        """The absolute path of a topic, or of a namespace (``search:``), of this cluster; None if
        there is no tree, and for what another mount hides.

        >>> Place("la", "la:tracking").path_of("search:clicks")
        ':la:tracking:search:clicks'
        """
        if self.mount is None:
            return None
        path = join(self.mount, logical)
        if self.mounts is not None:
            owner = self.mounts.owner(path.rpartition(DELIMITER)[0])
            if owner is None or owner.path != self.mount:
                return None
        return DELIMITER + path

    def namespace_of(self, namespace: str) -> str:
        """A namespace from the root, without a delimiter before it; without a tree as it is.

        >>> Place("la", "la:tracking").namespace_of("search")
        'la:tracking:search'
        """
        return namespace if self.mount is None else join(self.mount, namespace)


NO_PLACE: Final = Place()
"""The place of what is in no cluster."""
