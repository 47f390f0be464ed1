"""Routes: the way of a question, by this gateway's mounts, its children and its parents.

The longest mount that is a prefix of a path owns the path. A question below an own mount is
answered here, a question below a child's mount goes down, and any other question goes up.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from gateway.config.models import Config
from gateway.names import DELIMITER


class Here(NamedTuple):
    """The path is this gateway's; ``mount`` is the own mount that owns the path."""

    mount: str


class Ways(NamedTuple):
    """The names of peers that may know a path, in the configuration's order; empty for a path
    without an owner."""

    peers: tuple[str, ...]


_NOBODY = Ways(())


class Routes:
    """The ways of one gateway's questions: its own, and its peers'."""

    def __init__(
        self, own: Iterable[str], children: Iterable[tuple[str, str]], parents: Iterable[str]
    ) -> None:
        """``own`` has mounts, ``children`` (name, mount), ``parents`` names."""
        down: dict[str, list[str]] = {}
        for name, mount in children:
            down.setdefault(mount, []).append(name)
        self._ways: dict[str, Here | Ways] = {
            **{mount: Ways(tuple(names)) for mount, names in down.items()},
            **{mount: Here(mount) for mount in own},
        }
        self._up = Ways(tuple(parents))

    @classmethod
    def of_config(cls, config: Config) -> Routes:
        """The routes of a configuration; without a tree they lead nowhere."""
        own = [cluster.mount for cluster in config.clusters if cluster.mount is not None]
        if config.tree is None:
            return cls(own, (), ())
        children = [(child.name, child.mount) for child in config.tree.children]
        return cls(own, children, [parent.name for parent in config.tree.parents])

    def of(self, path: str, came_from: str | None = None) -> Here | Ways:
        """The way of a question about a path. ``came_from`` is the peer that sent the question: the
        question never goes back there, and if the peer is a parent it never goes up."""
        way = self._known(path)
        if way is None:
            way = _NOBODY if came_from in self._up.peers else self._up
        if came_from is None or isinstance(way, Here):
            return way
        return Ways(tuple(name for name in way.peers if name != came_from))

    def may_answer(self, peer: str, mount: str) -> bool:
        """Whether a peer may answer for a mount: it may if questions about the mount go to it. So a
        child answers for its mount and the mounts below, and no peer answers for an own mount."""
        way = self.of(mount)
        return isinstance(way, Ways) and peer in way.peers

    def _known(self, path: str) -> Here | Ways | None:
        """The way to the longest own mount or child's mount that is a prefix of a path."""
        while path:
            way = self._ways.get(path)
            if way is not None:
                return way
            path = path.rpartition(DELIMITER)[0]
        return self._ways.get("")
