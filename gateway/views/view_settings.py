"""View settings: a listener's part of a view."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from gateway.mounts import Mounts

Spelling = Literal["colon", "legal", "slash"]


@dataclass(frozen=True, slots=True)
class ViewSettings:
    """A listener's part of a view.

    ``home`` is the namespace that bare names resolve in and that confines the view (``""``: none).
    ``escape`` lets a name with a leading ``:`` (legal: ``..``) reach the root all the same.
    ``list_subtree``: listings, and subscriptions by regular expression, reach the namespaces below
    the view's own, not only that one. ``list_namespaces``: they hold namespaces, too.
    ``namespace_like``: topics of the default namespace may be created under names that read as a
    namespace's. ``mounts`` are those of the tree (None if there is no tree), ``volume`` is the
    mount of the cluster that the view is of, ``listener_volume`` that which relative names are in.
    ``home_elsewhere``: the home in the listener's volume, in a view of another one, which has none
    of its own: without ``escape`` its clients reach nothing there. ``list_tree``: listings hold the
    mounts in the listener's reach.
    """

    listener: str
    spelling: Spelling = "colon"
    home: str = ""
    escape: bool = False
    list_subtree: bool = True
    list_namespaces: bool = False
    namespace_like: bool = False
    mounts: Mounts | None = None
    volume: str = ""
    listener_volume: str = ""
    home_elsewhere: str = ""
    list_tree: bool = False

    @property
    def shut(self) -> bool:
        """Whether a home in another volume keeps clients out of this one: nothing is seen here."""
        return bool(self.home_elsewhere) and not self.escape

    @property
    def is_relative(self) -> bool:
        """Whether relative names, and bare ids, are those of the view's volume."""
        return self.mounts is None or self.volume == self.listener_volume

    @property
    def reads_slashes(self) -> bool:
        """Whether ``/`` in a name is a delimiter."""
        return self.mounts is not None or self.spelling == "slash"

    @property
    def scope(self) -> str:
        """The scope in which a group id is unique: a listener and a home."""
        return f"{self.listener}/{self.home}"
