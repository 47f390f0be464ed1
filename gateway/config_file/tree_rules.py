"""Rules of the tree: clusters' mounts and numbers, the principals they trust, listeners' reach.

A mounted cluster is a volume. A listener belongs to a volume, and may reach others.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final

from gateway.config.errors import Key, Problem, key_text, nearest
from gateway.config.models import Listener
from gateway.config_file.parts import ClusterParts, Parts
from gateway.mounts import MAX_MOUNTED_NODE_ID, MAX_NUMBER
from gateway.node_ids import MAX_GATEWAYS

_OF_A_TREE: Final = ("volume", "reach", "list_tree")
"""Keys of listeners that mean nothing if clusters have no mounts."""

_BELOW_GATEWAYS: Final = MAX_MOUNTED_NODE_ID - MAX_GATEWAYS - 1

_OF_ONE: Final = ("namespaces", "policies")
"""Keys that each of several clusters has itself."""

_OWN: Final = ("catalog", *_OF_ONE)
"""Keys of a mounted cluster that are at the top of the file for a cluster without a mount."""


def tree_problems(parts: Parts) -> Iterator[Problem]:
    """Every mistake in the clusters' places in the tree, and in the listeners' keys for it."""
    yield from _names(parts)
    for index, cluster in parts.clusters.items():
        where: Key = ("clusters", index)
        yield from _place(parts, where, cluster)
        yield from _own_keys(parts, where, cluster)
        yield from _trust(parts, index, cluster)
    yield from _repeated(parts, "mount")
    yield from _repeated(parts, "number")
    if len(parts.clusters) > 1:
        for name in _OF_ONE:
            if name in parts.written:
                text = (
                    "would be for one cluster, and there are several; write it below the one that "
                    f"it is for, as clusters[0].{name}"
                )
                yield Problem((name,), text)
    for index, listener in parts.listeners.items():
        for key, text in _listener(parts, listener):
            yield Problem(("listeners", index, *key), text)


def _names(parts: Parts) -> Iterator[Problem]:
    first: dict[str, int] = {}
    for index, cluster in parts.clusters.items():
        if cluster.name is not None and (before := first.setdefault(cluster.name, index)) != index:
            text = f"'{cluster.name}' is the name of clusters[{before}] too; choose another"
            yield Problem(("clusters", index, "name"), text)


def _place(parts: Parts, where: Key, cluster: ClusterParts) -> Iterator[Problem]:
    """The mistakes in ``mount`` and ``number``: in a tree a cluster has both, or else neither."""
    several = len(parts.clusters) > 1
    if not several and not cluster.in_tree:
        return
    reason = "as there are several clusters" if several else "as the cluster has a {}"
    if "mount" not in cluster.written:
        text = (
            f"is missing, {reason.format('number')}; write its path in the tree, like la:tracking"
        )
        yield Problem((*where, "mount"), text)
    if "number" not in cluster.written:
        text = (
            f"is missing, {reason.format('mount')}; choose one of 1-{MAX_NUMBER} that no cluster "
            "of the tree has or had"
        )
        yield Problem((*where, "number"), text)
    if cluster.ranges is not None and cluster.ranges.highest > MAX_MOUNTED_NODE_ID:
        text = (
            f"reaches to {cluster.ranges.highest}, and in a tree clients see broker ids in 16 "
            f"bits; give none above {MAX_MOUNTED_NODE_ID}"
        )
        yield Problem((*where, "node_ids"), text)
    elif _meets_gateways(parts, cluster):
        text = (
            f"reaches above {_BELOW_GATEWAYS}: in a cluster of number {MAX_NUMBER} the ids that"
            " Java's client makes of coordinators would be those of gateways; choose another number"
        )
        yield Problem((*where, "node_ids"), text)


def _meets_gateways(parts: Parts, cluster: ClusterParts) -> bool:
    """Whether 2^31 - 1 minus a broker's virtual node id is the node id of a gateway, because Java's
    client uses such ids for its connections to coordinators."""
    in_fleet = any(one.gateway_port or one.gateway_name for one in parts.listeners.values())
    highest = 0 if cluster.ranges is None else cluster.ranges.highest
    return in_fleet and cluster.number == MAX_NUMBER and highest > _BELOW_GATEWAYS


def _own_keys(parts: Parts, where: Key, cluster: ClusterParts) -> Iterator[Problem]:
    if parts.is_tree:
        for name in _OF_ONE:
            if len(parts.clusters) == 1 and name in cluster.written and name in parts.written:
                text = "is at the top of the file too; keep one of the two"
                yield Problem((*where, name), text)
        return
    for name in _OWN:
        if name in cluster.written:
            text = "means nothing without a mount; write it at the top of the file"
            yield Problem((*where, name), text)
    if "trust" in cluster.written:
        text = "means nothing without a mount; remove it, or give mount and number"
        yield Problem((*where, "trust"), text)


def _repeated(parts: Parts, name: str) -> Iterator[Problem]:
    first: dict[object, int] = {}
    for index, cluster in parts.clusters.items():
        value = getattr(cluster, name)
        before = first.setdefault(value, index)
        if value is not None and before != index:
            shown = f"'{value}'" if name == "mount" else value
            text = f"{shown} is the {name} of clusters[{before}] too; choose another"
            yield Problem(("clusters", index, name), text)


def _trust(parts: Parts, index: int, cluster: ClusterParts) -> Iterator[Problem]:
    if not parts.is_tree:
        return
    listeners = {listener.name: listener for listener in parts.listeners.values()}
    # A listener that is not valid by itself may be the listener that is meant.
    complete = len(parts.listeners) == parts.listeners_written
    first: dict[str, int] = {}
    for place, trust in (cluster.trust or {}).items():
        key: Key = ("clusters", index, "trust", place, "listener")
        before = first.setdefault(trust.listener, place)
        listener = listeners.get(trust.listener)
        if before != place:
            other = key_text((*key[:-2], before))
            yield Problem(key, f"'{trust.listener}' is in {other} too; keep one of the two")
        elif listener is None:
            if complete:
                hint = _hint(trust.listener, sorted(listeners), "listeners")
                yield Problem(key, f"there is no listener '{trust.listener}'; {hint}")
        elif parts.volume_of(listener) == index:
            text = f"'{trust.listener}' is a listener of this cluster, which knows its principals"
            yield Problem(key, f"{text}; remove it")


def _listener(parts: Parts, listener: Listener) -> Iterator[tuple[Key, str]]:
    if not parts.is_tree:
        for name in _OF_A_TREE:
            if name in listener.model_fields_set:
                text = "means nothing without mounts; give clusters[0] mount and number"
                yield (name,), f"{text}, or remove it"
        return
    mounts = parts.mounts
    if listener.volume is None and len(parts.clusters) > 1:
        text = "is missing, as there are several clusters; write the mount of the one that relative"
        yield ("volume",), f"{text} names are in{_one_of(mounts)}"
    if mounts is None:
        return
    elsewhere = parts.is_far(listener.volume)
    if listener.volume is not None and listener.volume not in mounts and not elsewhere:
        yield ("volume",), _no_mount(listener.volume, mounts)
    yield from _reach(parts, listener, mounts)


def _reach(parts: Parts, listener: Listener, mounts: Sequence[str]) -> Iterator[tuple[Key, str]]:
    own = parts.volume_of(listener)
    far = parts.far_of(listener)
    elsewhere = listener.volume in far
    mount = None if own is None else parts.clusters[own].mount
    mount = listener.volume if elsewhere else mount
    reach = listener.reach
    for place, one in enumerate(reach or ()):
        if one not in mounts and one not in far:
            yield ("reach", place), _no_mount(one, mounts)
    for one, count in Counter(reach or ()).items():
        if count > 1:
            yield ("reach",), f"'{one}' is there {count} times; once is enough"
    if reach is not None and mount is not None and mount not in reach:
        yield ("reach",), f"lacks the listener's own volume, '{mount}'; add it"
    through = listener.sasl is not None and listener.sasl.pass_through
    reaches = len(parts.reach_of(listener)) + len(far)
    if through and reaches > 1 and not elsewhere:
        text = (
            "makes brokers of one cluster authenticate the clients, and the listener reaches "
            f"{reaches} clusters; give the listener"
        )
        shown = "[its volume]" if mount is None else f"['{mount}']"
        yield ("sasl", "pass_through"), f"{text} reach: {shown}"


def _no_mount(path: str, mounts: Sequence[str]) -> str:
    return f"'{path}' is no mount of this file; {_hint(path, mounts, 'mounts')}"


def _hint(name: str, known: Sequence[str], what: str) -> str:
    near = nearest(name, known)
    if near is not None:
        return f"did you mean '{near}'?"
    return f"the {what} are {_listed(known)}"


def _one_of(mounts: Sequence[str] | None) -> str:
    return "" if mounts is None else f", one of {_listed(mounts)}"


def _listed(names: Sequence[str]) -> str:
    return ", ".join(f"'{name}'" for name in names) or "none"
