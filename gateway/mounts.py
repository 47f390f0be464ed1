"""Mounts: the paths of clusters in the tree, and the mount that owns a path.

Pure; the hierarchical-topics proposal calls them mount points. A path is tiers joined by ``:``,
without a leading ``:`` (``la:tracking``); ``""`` is the root. A **volume** is a Kafka cluster,
known in the tree by its mount.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass

from gateway.names import DELIMITER, END_OF_NAMESPACE, SLASH, InvalidName, flat_prefix

CACHE_LIMIT = 100_000
"""Paths whose owner is cached; if there are more, the cache begins anew."""

MAX_NUMBER = 16_383
"""With a larger number, a virtual node id would reach 2^30, where Java's coordinator ids (2^31 - 1
- id) could be equal to other ids."""

MAX_MOUNTED_NODE_ID = (1 << 16) - 1
"""The largest broker id of a mounted cluster, which has 16 bits of a virtual node id."""


@dataclass(frozen=True, slots=True)
class Mount:
    """A cluster's place in the tree.

    ``number`` (1 to 16383, never reused) is part of its virtual node ids and producer ids;
    ``cluster`` is its name in the configuration. If the mount is another gateway's, it has neither
    here.
    """

    path: str
    number: int = 0
    cluster: str = ""

    @property
    def far(self) -> bool:
        """Whether the mount is another gateway's."""
        return not self.number

    def __str__(self) -> str:
        return f"{DELIMITER}{self.path}"


class OtherVolume(InvalidName):
    """A name was looked up in a volume, but belongs to another volume. ``mount`` is the other
    volume's, if this gateway has it."""

    def __init__(self, message: str, mount: Mount | None) -> None:
        super().__init__(message)
        self.mount = mount


class Mounts:
    """All mounts that a gateway knows. A path is owned by the longest mount that is a prefix of it.

    ``reach``, the paths of some mounts, limits the clients of a listener to these: paths in a mount
    out of reach have no owner, and paths that it hides stay hidden.
    """

    def __init__(self, mounts: Iterable[Mount], reach: Collection[str] | None = None) -> None:
        self._by_path = {mount.path: mount for mount in mounts}
        self._in_reach = {
            path: mount for path, mount in self._by_path.items() if reach is None or path in reach
        }
        self._owners: dict[str, Mount | None] = {}
        self._by_prefix = {
            prefix.encode(): mount
            for mount in self._by_path.values()
            for prefix in prefixes(mount.path)
        }
        self._prefix_lengths = sorted({len(prefix) for prefix in self._by_prefix}, reverse=True)

    def __iter__(self) -> Iterator[Mount]:
        return iter(self._in_reach.values())

    def within(self, reach: Collection[str] | None) -> Mounts:
        """The mounts for the clients of a listener with this reach (None: all mounts)."""
        return self if reach is None else Mounts(self._by_path.values(), reach)

    def at(self, path: str) -> Mount | None:
        """The mount at exactly this path."""
        return self._in_reach.get(path)

    def owner(self, path: str) -> Mount | None:
        """The mount that owns a path, or None if the path is above or beside all mounts, or if the
        mount is out of reach."""
        try:
            return self._owners[path]
        except KeyError:
            if len(self._owners) >= CACHE_LIMIT:
                self._owners.clear()
            found = self.standing(path)
            if found is not None and found.path not in self._in_reach:
                found = None
            self._owners[path] = found
            return found

    def standing(self, path: str) -> Mount | None:
        """The mount that holds a path, even if it is out of reach."""
        while path:
            found = self._by_path.get(path)
            if found is not None:
                return found
            path = path.rpartition(DELIMITER)[0]
        return self._by_path.get("")

    def leads_to_mounts(self, path: str) -> bool:
        """Whether a path is a directory: mounts are below it, and no mount owns it."""
        return self.owner(path) is None and any(self.below(path))

    def below(self, path: str) -> Iterator[Mount]:
        """The mounts below a path, without a mount at the path itself."""
        start = f"{path}{DELIMITER}" if path else ""
        return (each for each in self if each.path != path and each.path.startswith(start))

    def of_id(self, absolute: bytes) -> tuple[Mount, bytes] | None:
        """The longest mount with which an absolute group or transactional id begins, and the rest,
        which is the id in that volume, or None if the id begins with no mount.

        Ids may hold any character, so only the mount is parsed.
        """
        for length in self._prefix_lengths:
            found = self._by_prefix.get(absolute[:length])
            if found is not None:
                return (found, absolute[length:]) if found.path in self._in_reach else None
        return None


def prefixes(path: str) -> tuple[str, str, str]:
    """The beginnings of absolute ids of the mount at a path: in colon, slash and legal spelling.

    >>> prefixes("la:tracking")
    (':la:tracking:', '/la/tracking/', '..la.tracking..')
    """
    colon = f"{DELIMITER}{path}{DELIMITER}" if path else DELIMITER
    return colon, colon.replace(DELIMITER, SLASH), END_OF_NAMESPACE + flat_prefix(path)


def join(mount: str, path: str) -> str:
    """The path from the root for a path inside a volume."""
    return f"{mount}{DELIMITER}{path}" if mount and path else mount or path
