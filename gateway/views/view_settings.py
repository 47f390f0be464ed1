"""View settings: a listener's part of a view."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from gateway.mounts import Mounts

Spelling = Literal["colon", "legal", "slash"]


@dataclass(frozen=True, slots=True)
class ViewSettings:
    """A listener's part of a view."""

    listener: str
    spelling: Spelling = "colon"

    home: str = ""
    """The namespace that bare names resolve in and that confines the view; empty: no home."""

    escape: bool = False
    """Whether a name with a leading ``:`` (legal: ``..``) reaches the root from a home."""

    list_subtree: bool = True
    """Whether listings, and subscriptions by regular expression, also reach the namespaces below
    the view's own namespace."""

    list_namespaces: bool = False
    """Whether listings also hold namespaces."""

    namespace_like: bool = False
    """Whether a topic of the default namespace may be created under a name that reads as a name in
    a namespace."""

    mounts: Mounts | None = None
    """The mounts of the tree; None: there is no tree."""

    volume: str = ""
    """The mount of the view's cluster."""

    listener_volume: str = ""
    """The mount of the volume that relative names are in."""

    home_elsewhere: str = ""
    """The home in the listener's volume, in a view of another volume, which has no home. Without
    ``escape`` the view's clients reach nothing there."""

    list_tree: bool = False
    """Whether listings hold the mounts in the listener's reach."""

    @property
    def shut(self) -> bool:
        """Whether a home in another volume keeps clients out of this volume: they see nothing."""
        return bool(self.home_elsewhere) and not self.escape

    @property
    def is_relative(self) -> bool:
        """Whether relative names, and bare ids, belong to the view's volume."""
        return self.mounts is None or self.volume == self.listener_volume

    @property
    def reads_slashes(self) -> bool:
        """Whether ``/`` in a name is a delimiter."""
        return self.mounts is not None or self.spelling == "slash"

    @property
    def scope(self) -> str:
        """The scope in which a group id is unique: a listener and a home."""
        return f"{self.listener}/{self.home}"
