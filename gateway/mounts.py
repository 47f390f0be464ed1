"""Mounts: the paths at which clusters stand in the tree, and which of them owns a path.

Pure; the hierarchical-topics proposal calls them mount points. A path is tiers joined by ``:``
without one before them (``la:tracking``); ``""`` is the root. A **volume** is one Kafka cluster,
known in the tree by its mount.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass

from gateway.names import DELIMITER, END_OF_NAMESPACE, SLASH, InvalidName, flat_prefix

CACHE_LIMIT = 100_000
"""Paths whose owner is remembered; with more of them they are looked up anew."""

MAX_NUMBER = 16_383
"""Above it a virtual node id would reach 2^30; Java makes coordinator ids by subtraction."""

MAX_MOUNTED_NODE_ID = (1 << 16) - 1
"""The largest broker id of a mounted cluster: 16 bits of a virtual node id are for it."""


@dataclass(frozen=True, slots=True)
class Mount:
    """One cluster's place in the tree.

    ``number`` (1 to 16383, never reused) stands in its virtual node ids and producer ids;
    ``cluster`` is its name in the configuration. The mount of another gateway has neither here.
    """

    path: str
    number: int = 0
    cluster: str = ""

    @property
    def far(self) -> bool:
        """Whether it is the mount of another gateway."""
        return not self.number

    def __str__(self) -> str:
        return f"{DELIMITER}{self.path}"


class OtherVolume(InvalidName):
    """A name of another volume than the one that it was looked up in. ``mount`` is that volume's,
    or None if this gateway does not have it."""

    def __init__(self, message: str, mount: Mount | None) -> None:
        super().__init__(message)
        self.mount = mount


class Mounts:
    """All mounts that one gateway knows. The longest one that is a prefix of a path owns it.

    With ``reach``, the paths of some of them, these are all that there are for the clients of a
    listener: nobody owns what a mount out of reach holds, and what it hides stays hidden.
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
        """The mounts as the clients of a listener with this reach know them; None: all."""
        return self if reach is None else Mounts(self._by_path.values(), reach)

    def at(self, path: str) -> Mount | None:
        """The mount at exactly this path."""
        return self._in_reach.get(path)

    def owner(self, path: str) -> Mount | None:
        """The mount that owns a path, or None if the path is above every mount, or beside them, or
        that mount is out of reach."""
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
        """The mount that holds a path, in reach or not."""
        while path:
            found = self._by_path.get(path)
            if found is not None:
                return found
            path = path.rpartition(DELIMITER)[0]
        return self._by_path.get("")

    def leads_to_mounts(self, path: str) -> bool:
        """Whether mounts stand below a path that none of them owns: it is a directory."""
        return self.owner(path) is None and any(self.below(path))

    def below(self, path: str) -> Iterator[Mount]:
        """The mounts below a path, without one at the path itself."""
        start = f"{path}{DELIMITER}" if path else ""
        return (each for each in self if each.path != path and each.path.startswith(start))

    def of_id(self, absolute: bytes) -> tuple[Mount, bytes] | None:
        """The mount that an absolute group or transactional id begins with, the longest one, and
        the rest, which is the id in that volume, or None if the id begins with no mount.

        Ids may hold any character, so nothing but the mount is read.
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
    """A path inside of a volume, as one from the root."""
    return f"{mount}{DELIMITER}{path}" if mount and path else mount or path
