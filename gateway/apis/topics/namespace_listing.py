"""Namespaces among topics, in Metadata and DescribeTopicPartitions: those that a request names, and
those that a listing holds.

On the wire a namespace is a topic name that ends in ``:``, or in ``..`` in the legal spelling. In a
tree so are directories that only lead to mounts, and the mounts themselves.
It is answered as an internal topic: without partitions in Metadata, with one that nobody leads in
DescribeTopicPartitions.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from gateway.apis.counting import TOPIC_NAME
from gateway.decision import Denied
from gateway.exchanges.exchange import Exchange
from gateway.exchanges.state import ConnectionState
from gateway.names import DELIMITER, END_OF_NAMESPACE, SLASH, InvalidName, below, flat_prefix
from gateway.views import absolute
from gateway.views.access import DESCRIBE, Access
from gateway.views.view import View
from protocol.pausing import eased
from protocol.walkers import Span

_ENDS: Final = (DELIMITER.encode(), END_OF_NAMESPACE.encode())
_ENDS_WITH_SLASH: Final = (*_ENDS, SLASH.encode())

_ROOT: Final = DELIMITER
"""Begins the paths of directories, which are from the root of the tree; those of namespaces are
paths in the view's volume."""


@dataclass(frozen=True, slots=True)
class Named:
    """The names of one request that look like namespaces, in the client's spelling.

    ``existing`` maps those of existing namespaces to their tier paths, and those of directories to
    theirs. ``others`` are subject to
    the rules for topic names.
    """

    existing: dict[str, str]
    others: list[str]


def named(access: Access, names: Iterable[bytes]) -> Named | None:
    """The namespaces among the topic names of a request; None when no name looks like one.

    One that may not be described is among the ``others``, where it is rejected.
    """
    view = access.view
    ends = endings(view)
    suspects = [name for name in names if name.endswith(ends)]
    if not suspects:
        return None
    found = Named({}, [])
    for name in suspects:
        text = name.decode(errors="replace")
        path = denoted(view, text)
        if path is not None and path.startswith(_ROOT):
            found.existing[text] = path
            continue
        missing = path is None or view.snapshot.missing_tier(path) is not None
        if path is None or missing or access.namespace(DESCRIBE, path) is not None:
            found.others.append(text)
        else:
            found.existing[text] = path
    return found


def listed(access: Access) -> dict[str, str]:
    """The namespaces in a listing for this client, in the listener's spelling, to their tier paths,
    sorted by path; empty unless the listener lists namespaces. Before them those mounts that a
    listing of the listener's own volume holds.

    Under a home they are those below it, and without ``list_subtree`` only those directly below
    the view's own namespace; none that is being deleted, or that may not be described.
    """
    view = access.view
    settings, snapshot = view.settings, view.snapshot
    mounts = _listed_mounts(view)
    if not settings.list_namespaces:
        return mounts
    paths = [path for path in snapshot.below(settings.home) if not snapshot.deleting_tier(path)]
    if not settings.list_subtree:
        paths = [
            path
            for path in paths
            if DELIMITER not in (below(path, settings.home) or "") or view.mirror_of(path)
        ]
    return mounts | {
        shown: path
        for path in paths
        if access.namespace(DESCRIBE, path) is None
        and (shown := view.spell_namespace(path)) is not None
    }


def _listed_mounts(view: View) -> dict[str, str]:
    settings = view.settings
    tree = settings.mounts
    if tree is None or not settings.list_tree or settings.home or not settings.is_relative:
        return {}
    found = absolute.listed_mounts(settings, tree)
    return {shown: f"{_ROOT}{path}" for shown, path in found.items()}


def endings(view: View) -> tuple[bytes, ...]:
    """The endings of names that may denote a namespace; no other name does."""
    return _ENDS_WITH_SLASH if view.settings.reads_slashes else _ENDS


def names_of(spans: list[Span]) -> list[bytes]:
    """The names of the topics among these spans."""
    return [value for kind, _, _, value in eased(spans) if kind == TOPIC_NAME and value]


def worth_a_refresh(state: ConnectionState, exchange: Exchange, found: Named) -> bool:
    """Whether the catalog has to be read to its end before a namespace is reported as unknown."""
    if exchange.refreshed:
        return False
    index = state.worker.cluster.index
    return any(not index.exists(name.encode()) for name in found.others)


def denoted(view: View, name: str) -> str | None:
    """The tier path of the namespace that a name denotes, existing or not; with a leading ``:``
    that of a directory of the tree."""
    directory = view.directory_named(name)
    if directory is not None:
        return f"{_ROOT}{directory}"
    try:
        return view.namespace_named(name)
    except InvalidName:
        return None


def place(view: View, name: str) -> str | None:
    """The sort key of a topic or namespace in the broker's order, by flat name: a namespace stands
    before its topics. None for an invalid or denied name."""
    path = denoted(view, name)
    if path is not None:
        return flat_prefix(path)
    found = view.resolve(name.encode())
    return None if isinstance(found, Denied) else found.flat.decode()
