"""``kafka-gateway check --cluster`` of several clusters in one tree: each of them, and together."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from gateway.catalog.members import NumberRejected, takes_its_place
from gateway.catalog.snapshot import Snapshot
from gateway.commands.output import counted, shortened
from gateway.config.errors import Problem
from gateway.config.models import Config
from gateway.config.reach import mounts_of
from gateway.mounts import MAX_MOUNTED_NODE_ID, Mount, Mounts
from gateway.names import DELIMITER, is_reserved
from gateway.node_ids import NodeIdRanges

_SHOWN = 4


def repeated_clusters(ids: Sequence[str | None]) -> Iterator[tuple[int, int]]:
    """The places of clusters that are the same cluster, by their cluster ids: each with the place
    of the first. An id is None if it is not known."""
    first: dict[str, int] = {}
    for place, cluster_id in enumerate(ids):
        if cluster_id is not None and (before := first.setdefault(cluster_id, place)) != place:
            yield place, before


def repeated_problems(ids: Sequence[str | None]) -> Iterator[Problem]:
    """A problem for each cluster that is the same as another cluster of the file: a gateway that
    has a cluster at two mounts would give its brokers two numbers, and does not start."""
    for place, before in repeated_clusters(ids):
        text = (
            f"leads to cluster id {ids[place]}, as clusters[{before}] does: a cluster has one mount"
            " and one number; correct the address, or remove one of the two"
        )
        yield Problem(("clusters", place, "bootstrap_servers"), text)


def number_problems(config: Config, snapshot: Snapshot) -> Iterator[Problem]:
    """A problem if the catalog's number for the cluster is not the file's, or the file has no
    number."""
    number = config.clusters[0].number
    try:
        takes_its_place(number or 0)(snapshot)
    except NumberRejected as error:
        key = config.cluster_key if number is None else (*config.cluster_key, "number")
        yield Problem(key, str(error))


def broker_warnings(config: Config, node_ids: Iterable[int]) -> Iterator[Problem]:
    """A warning for brokers that no client sees: their ids have no place, or cannot be in a
    tree."""
    cluster = config.clusters[0]
    ranges = NodeIdRanges.parse(cluster.node_ids)
    outside = sorted(node_id for node_id in node_ids if ranges.place(node_id) is None)
    key = (*config.cluster_key, "node_ids")
    mounted = cluster.mount is not None
    above = [one for one in outside if mounted and one > MAX_MOUNTED_NODE_ID]
    if above:
        text = f"{_brokers(above)}, and a cluster in a tree has none above {MAX_MOUNTED_NODE_ID}"
        yield Problem(key, f"{text}, so no client sees them; give such brokers lower ids")
    missing = [one for one in outside if one not in above]
    if missing:
        text = f"{_brokers(missing)}, which are not listed, so no client sees them; add them"
        yield Problem(key, text)


def _brokers(node_ids: Sequence[int]) -> str:
    return f"the cluster has brokers {shortened(map(str, node_ids), _SHOWN)}"


def shadow_warnings(config: Config, snapshot: Snapshot, flats: Iterable[str]) -> Iterator[Problem]:
    """A warning for each mount, here or of a child gateway, that hides namespaces or topics of this
    cluster, which is mounted above it: they have no absolute name any more."""
    own, near = config.clusters[0], mounts_of(config.whole)
    children = () if config.tree is None else config.tree.children
    mounts = Mounts([*(near or ()), *(Mount(child.mount) for child in children)])
    if own.mount is None or (mount := mounts.at(own.mount)) is None:
        return
    hiding = [one for one in mounts.below(mount.path) if _above(mounts, one) == mount]
    names = [str(snapshot.owner(flat)) for flat in flats if not is_reserved(flat)] if hiding else []
    for one in hiding:
        path = one.path.removeprefix(mount.path).removeprefix(DELIMITER)
        namespaces = sorted(name for name in snapshot.namespaces if _within(name, path))
        topics = sorted(name for name in names if _within(name, path))
        if namespaces or topics:
            found = [*(f"{name}{DELIMITER}" for name in namespaces), *topics]
            text = (
                f"hides {counted(len(namespaces), 'namespace')} and "
                f"{counted(len(topics), 'topic')} of cluster '{own.name}', which is mounted at "
                f"'{mount}': {shortened(found, _SHOWN)}; clients reach them by relative names "
                "alone, so move them, or mount the cluster elsewhere"
            )
            yield Problem((*_key(config, one), "mount"), text)


def _above(mounts: Mounts, mount: Mount) -> Mount | None:
    """The mount that would own this mount's path without it."""
    path = mount.path.rpartition(DELIMITER)[0]
    return mounts.owner(path)


def _key(config: Config, mount: Mount) -> tuple[str | int, ...]:
    children = () if config.tree is None else config.tree.children
    keys: dict[str | None, tuple[str | int, ...]] = {
        child.mount: ("tree", "children", place) for place, child in enumerate(children)
    }
    keys |= {one.mount: ("clusters", place) for place, one in enumerate(config.whole.clusters)}
    return keys[mount.path]


def _within(name: str, path: str) -> bool:
    return name == path or name.startswith(path + DELIMITER)
