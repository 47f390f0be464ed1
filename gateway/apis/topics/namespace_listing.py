"""Namespaces where topics are asked for: which ones a request names, and which a listing holds.

On the wire a namespace is a topic name that ends in ``:``, or in ``..`` in the legal spelling.
It is answered as an internal topic: without partitions in Metadata, with one that nobody leads in
DescribeTopicPartitions.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from gateway.decision import Denied
from gateway.names import DELIMITER, END_OF_NAMESPACE, InvalidName, flat_prefix
from gateway.views.access import DESCRIBE, Access
from gateway.views.spelling import below
from gateway.views.view import View

ENDS: Final = (DELIMITER.encode(), END_OF_NAMESPACE.encode())
"""How a name ends that may denote a namespace; no other name does."""


@dataclass(frozen=True, slots=True)
class Named:
    """The names of one request that look like namespaces', in the client's spelling.

    ``existing`` maps those that denote one, which is there, to its tier path. ``others`` denote
    none as far as is known: the rules for topic names refuse them, or not.
    """

    existing: dict[str, str]
    others: list[str]


def named(access: Access, names: Iterable[bytes]) -> Named | None:
    """The namespaces among the topic names of a request; None when no name looks like one.

    One that may not be described is among the ``others``, where it is refused.
    """
    view = access.view
    suspects = [name for name in names if name.endswith(ENDS)]
    if not suspects:
        return None
    found = Named({}, [])
    for name in suspects:
        text = name.decode(errors="replace")
        path = _denoted(view, text)
        missing = path is None or view.snapshot.missing_tier(path) is not None
        if path is None or missing or access.namespace(DESCRIBE, path) is not None:
            found.others.append(text)
        else:
            found.existing[text] = path
    return found


def listed(access: Access) -> dict[str, str]:
    """The namespaces that a listing shows to this client, in the listener's spelling, each with its
    tier path; sorted by path. None unless the listener lists namespaces.

    Under a home they are those below it, and without ``list_subtree`` only those directly below
    the view's own namespace. One that is being deleted is not shown, nor one that may not be
    described.
    """
    view = access.view
    settings, snapshot = view.settings, view.snapshot
    if not settings.list_namespaces:
        return {}
    paths = [path for path in snapshot.below(settings.home) if not snapshot.deleting_tier(path)]
    if not settings.list_subtree:
        paths = [path for path in paths if DELIMITER not in (below(path, settings.home) or "")]
    return {
        shown: path
        for path in paths
        if access.namespace(DESCRIBE, path) is None
        and (shown := view.spell_namespace(path)) is not None
    }


def denotes(view: View, name: str) -> bool:
    """Whether a name denotes a namespace, there or not."""
    return _denoted(view, name) is not None


def place(view: View, name: str) -> str | None:
    """Where the broker, which sorts by flat name, has a topic; a namespace stands before all of
    its topics. None for what may not be named."""
    path = _denoted(view, name)
    if path is not None:
        return flat_prefix(path)
    found = view.resolve(name.encode())
    return None if isinstance(found, Denied) else found.flat.decode()


def _denoted(view: View, name: str) -> str | None:
    try:
        return view.namespace_named(name)
    except InvalidName:
        return None
