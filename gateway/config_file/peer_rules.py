"""Rules of ``tree``: the other gateways of a tree, and the listeners that reach their mounts.

A mount of another gateway is called "far" here: no cluster of the file has it, so its catalog and
its namespaces are elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import Final, TypeAlias

from gateway.config.errors import Key, Problem, key_text, nearest
from gateway.config.models import Listener
from gateway.config.tree import Child, Peer, TreeSettings
from gateway.config_file.parts import Parts
from gateway.mounts import Mount, Mounts
from gateway.names import DELIMITER
from gateway.tls.contexts import TlsError, client_context

_OF_ITS_VOLUME: Final = ("home", "escape")
"""Keys of listeners about namespaces of the listener's volume."""

_Found: TypeAlias = Iterator[tuple[Key, str]]
"""The rest of a problem's key, below the key that is checked, and the problem's text."""


def peer_problems(parts: Parts) -> Iterator[Problem]:
    """Every mistake in ``tree``, and in listeners that reach mounts of other gateways."""
    if not parts.has_peers:
        return
    if parts.clusters and not parts.is_tree:
        text = "needs to know where this gateway's cluster is; give clusters[0] mount and number"
        yield Problem(("tree",), f"{text}, or remove tree")
    if parts.tree is not None:
        tree = parts.tree
        rules = (_names(tree), _subjects(tree), _mounts(parts, tree), _numbers(parts, tree))
        for key, text in (*chain(*rules), *_tls(tree)):
            yield Problem(("tree", *key), text)
    for index, listener in parts.listeners.items():
        for key, text in _listener(parts, listener):
            yield Problem(("listeners", index, *key), text)


def _peers(tree: TreeSettings) -> list[tuple[Key, Peer]]:
    """Every peer with its key below ``tree``."""
    parents: list[tuple[Key, Peer]] = [(("parents", n), one) for n, one in enumerate(tree.parents)]
    return [*parents, *((("children", n), one) for n, one in enumerate(tree.children))]


def _names(tree: TreeSettings) -> _Found:
    """A name stands for one gateway. Only a child may have several entries, an entry for each
    mount."""
    first: dict[str, tuple[Key, Peer]] = {}
    for key, peer in _peers(tree):
        before, other = first.setdefault(peer.name, (key, peer))
        if before == key:
            continue
        text = f"'{peer.name}' is the name of {key_text(('tree', *before))} too"
        if not (isinstance(peer, Child) and isinstance(other, Child)):
            yield (*key, "name"), f"{text}; choose another"
        elif _but_mount(peer) != _but_mount(other):
            yield (
                (*key, "name"),
                f"{text}, which differs in more than the mount; make addresses, certificate and "
                "principals alike if it is one gateway with two mounts, or choose another",
            )


def _but_mount(child: Child) -> dict[str, object]:
    return child.model_dump(exclude={"mount"})


def _subjects(tree: TreeSettings) -> _Found:
    """Peers are told apart by their certificates alone, so each needs its own."""
    first: dict[str, tuple[Key, str]] = {}
    for key, peer in _peers(tree):
        before, name = first.setdefault(peer.subject, (key, peer.name))
        if name != peer.name:
            text = (
                f"'{peer.subject}' is the certificate of {key_text(('tree', *before))} too, so "
                "neither can be told from the other; give each gateway a certificate of its own"
            )
            yield (*key, "certificate"), text


def _mounts(parts: Parts, tree: TreeSettings) -> _Found:
    own = {one.mount: index for index, one in parts.clusters.items() if one.mount is not None}
    first: dict[str, int] = {}
    for index, child in enumerate(tree.children):
        key: Key = ("children", index, "mount")
        before = first.setdefault(child.mount, index)
        if child.mount in own:
            text = (
                f"{_shown(child.mount)} is the mount of clusters[{own[child.mount]}], which is here"
            )
            yield key, f"{text}; give that of a cluster behind the child"
        elif before != index:
            text = (
                f"{_shown(child.mount)} is the mount of tree.children[{before}] too; gateways that"
            )
            yield key, f"{text} stand in for each other are one child with several addresses"


def _numbers(parts: Parts, tree: TreeSettings) -> _Found:
    """The numbers of this gateway's own clusters are in ``clusters``, and no other mount may have
    them."""
    own = {one.mount: index for index, one in parts.clusters.items() if one.mount is not None}
    taken = {one.number: index for index, one in parts.clusters.items() if one.number is not None}
    for mount, number in tree.numbers.items():
        if mount in own:
            text = f"{_shown(mount)} is the mount of clusters[{own[mount]}], which has its number"
            yield ("numbers",), f"{text}; remove it here"
        elif number in taken:
            text = f"{number} is the number of clusters[{taken[number]}]"
            yield ("numbers",), f"{text}; give {_shown(mount)} its own"


def _tls(tree: TreeSettings) -> _Found:
    try:
        client_context(tree.tls)
    except TlsError as error:
        yield ("tls", error.key), error.reason


def _listener(parts: Parts, listener: Listener) -> _Found:
    far = parts.far_of(listener)
    for path in far:
        text = _no_way(parts, path)
        if text is not None:
            reach = listener.reach or ()
            of_reach = path != listener.volume
            yield ("reach", reach.index(path)) if of_reach else ("volume",), text
    if listener.volume in far:
        yield from _of_far_volume(parts, listener, listener.volume)


def _no_way(parts: Parts, path: str) -> str | None:
    """The reason why no peer leads to a far mount, and the next step, or None if a peer may lead
    there.

    A question goes to the child with the longest mount that is a prefix of the path. If neither a
    child's mount nor an own mount is a prefix, it goes to a parent.
    """
    if parts.tree is None:
        return None
    own, children = parts.mounts or [], [child.mount for child in parts.tree.children]
    standing = Mounts(map(Mount, (*own, *children))).standing(path)
    near = nearest(path, [*own, *children])
    hint = "" if near is None else f"; did you mean '{near}'?"
    if standing is None:
        if parts.tree.parents:
            return None
        text = f"{_shown(path)} is no mount of this file, and no child of tree leads there"
        return text + (hint or "; add the gateway that has it to tree.children, or a parent")
    if standing.path in children:
        return None
    text = f"{_shown(path)} is no mount of this file, and below its own mount"
    text += f" {_shown(standing.path)} no child of tree leads there"
    return text + (hint or "; add the gateway that has it to tree.children")


def _of_far_volume(parts: Parts, listener: Listener, volume: str) -> _Found:
    """The mistakes in a listener whose relative names are in a volume of another gateway."""
    own = parts.mounts or []
    far, shown = _shown(volume), ", ".join(map(_shown, own))
    if listener.reach is None:
        text = f"is missing, as {far} is a mount of another gateway; give a list of {far} and of"
        yield ("reach",), f"{text} those whose brokers have ports here, some of {shown}"
    elif not any(path in own for path in listener.reach):
        text = "has no mount of this file, so the listener has no port for any broker; add one of"
        yield ("reach",), f"{text} {shown}"
    for name in _OF_ITS_VOLUME:
        if name in listener.model_fields_set:
            text = f"is about namespaces of {far}, which is a mount of another gateway"
            yield (name,), f"{text}; remove it"
    if listener.sasl is not None and listener.sasl.pass_through:
        text = f"makes brokers of {far} authenticate the clients, and those are behind another"
        yield ("sasl", "pass_through"), f"{text} gateway; let this one do it, and remove it"


def _shown(path: str) -> str:
    """A path as it is written in the file; the root, which is empty, is written ``:``."""
    return f"'{path or DELIMITER}'"
