"""Places: the cluster of a flow or an event, with its mount, for counts and logs.

Names in flows and events are names in a volume, relative to its mount; a place makes them absolute.
Without a tree there are no absolute names.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from gateway.mounts import Mounts, join
from gateway.names import DELIMITER


@dataclass(frozen=True, slots=True, eq=False)
class Place:
    """A cluster: its name in the configuration, and, in a tree, its mount's path.

    ``mounts`` are all mounts of the tree, if they are known. Each cluster of a process has one
    place; two places are never equal.
    """

    cluster: str = ""
    mount: str | None = None
    mounts: Mounts | None = None

    def path_of(self, logical: str) -> str | None:
        """The absolute path of a topic, or of a namespace (``search:``), of this cluster, or None
        if there is no tree, or if another mount hides it.

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
        """The path of a namespace from the root, without a leading delimiter; unchanged if there is
        no tree.

        >>> Place("la", "la:tracking").namespace_of("search")
        'la:tracking:search'
        """
        return namespace if self.mount is None else join(self.mount, namespace)


NO_PLACE: Final = Place()
"""The place of flows and events that belong to no cluster."""
