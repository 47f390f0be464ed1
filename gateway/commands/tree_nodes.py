"""The tree that ``kafka-gateway tree`` draws: directories, volumes and namespaces, with sums."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from gateway.catalog.snapshot import Snapshot
from gateway.commands.tree_walk import FarMount
from gateway.mounts import Mounts, join
from gateway.names import DELIMITER, is_reserved, parents

_UNITS: Final = ("B", "KiB", "MiB", "GiB", "TiB", "PiB")
_STEP: Final = 1024


@dataclass(frozen=True, slots=True)
class VolumeState:
    """The current state of a cluster."""

    cluster: str
    mount: str | None = None
    """None without a tree."""
    number: int | None = None
    failure: str = ""
    """The reason why nothing is known of the cluster; empty if it is reachable."""
    brokers: int = 0
    metadata_version: int | None = None
    """The finalized feature of that name (KIP-584); None before KRaft."""
    snapshot: Snapshot = field(default_factory=Snapshot)
    has_catalog: bool = True
    topics: Sequence[str] = ()
    sizes: Mapping[str, int] | None = None
    """Bytes by stored name; None if a broker did not report its sizes."""

    @property
    def counted(self) -> bool:
        """Whether the topics of the cluster are known."""
        return not self.failure

    def text(self) -> str:
        """The state in a few words."""
        if self.failure:
            return f"cluster {self.cluster}: down"
        brokers = "1 broker" if self.brokers == 1 else f"{self.brokers} brokers"
        version = (
            "" if self.metadata_version is None else f", metadata.version {self.metadata_version}"
        )
        catalog = (
            f"catalog version {self.snapshot.version}" if self.has_catalog else "no catalog yet"
        )
        return f"cluster {self.cluster}: {brokers}{version}, {catalog}"

    def as_json(self) -> dict[str, object]:
        """The state as JSON."""
        known = self.has_catalog and not self.failure
        return {
            "cluster": self.cluster,
            "mount": None if self.mount is None else DELIMITER + self.mount,
            "number": self.number,
            "reachable": not self.failure,
            "failure": self.failure or None,
            "brokers": self.brokers,
            "metadata_version": self.metadata_version,
            "catalog_version": self.snapshot.version if known else None,
        }


@dataclass(slots=True)
class Node:
    """A path of the tree."""

    path: str
    children: dict[str, Node] = field(default_factory=dict)
    volume: VolumeState | FarMount | None = None
    """The mount at this path."""
    topics: int = 0
    """Topics at this path itself; ``all_topics`` includes everything below."""
    size: int = 0
    """Bytes at this path itself; ``all_size`` includes everything below."""
    all_topics: int = 0
    all_size: int = 0
    sized: bool = True
    """False if a broker did not report sizes; these count as 0."""
    known: bool = True
    """False if everything is in clusters that are down, or of other gateways."""

    def add_up(self) -> None:
        """Set the sums, here and below."""
        self.all_topics, self.all_size = self.topics, self.size
        for child in self.children.values():
            child.add_up()
            self.all_topics += child.all_topics
            self.all_size += child.all_size
            self.sized = self.sized and child.sized
        here = not self.children if self.volume is None else self.volume.counted
        self.known = here or any(child.known for child in self.children.values())

    def as_json(self, depth: int) -> dict[str, object]:
        """The node as JSON, with ``depth`` levels below it."""
        below = [self.children[tier] for tier in sorted(self.children)] if depth else []
        return {
            "path": DELIMITER + self.path,
            "volume": None if self.volume is None else self.volume.as_json(),
            "topics": self.topics if self.known else None,
            "size": self.size if self.known and self.sized else None,
            "all_topics": self.all_topics if self.known else None,
            "all_size": self.all_size if self.known and self.sized else None,
            "below": [child.as_json(depth - 1) for child in below],
        }


@dataclass(frozen=True, slots=True)
class Hidden:
    """A namespace of a cluster that another cluster's mount hides, with its topics."""

    cluster: str
    namespace: str
    mount: str
    topics: int


def tree_of(
    volumes: Iterable[VolumeState], mounts: Mounts | None, far: Iterable[FarMount] = ()
) -> tuple[Node, list[Hidden]]:
    """The root of the tree, and the namespaces that mounts hide. ``far`` are
    mounts of other gateways."""
    root, hidden = Node(""), []
    for each in far:
        node_at(root, each.path).volume = each
    for volume in volumes:
        base = volume.mount or ""
        node_at(root, base).volume = volume
        for namespace, flats in _namespaces(volume).items():
            path = join(base, namespace)
            owner = None if mounts is None else mounts.standing(path)
            if owner is not None and owner.path != base:
                hidden.append(Hidden(volume.cluster, namespace, str(owner), len(flats)))
                continue
            node = node_at(root, path)
            node.topics += len(flats)
            node.size += sum((volume.sizes or {}).get(flat, 0) for flat in flats)
            node.sized = volume.sizes is not None or bool(volume.failure)
    root.add_up()
    return root, hidden


def _namespaces(volume: VolumeState) -> dict[str, list[str]]:
    """The namespaces of a cluster, with the default namespace, and the stored
    names of their topics."""
    found: dict[str, list[str]] = {"": []}
    for path in volume.snapshot.namespaces:
        found[path] = []
    for flat in volume.topics:
        if not is_reserved(flat):
            found.setdefault(volume.snapshot.owner(flat).namespace, []).append(flat)
    return found


def node_at(root: Node, path: str) -> Node:
    """The node at a path; if it does not exist, it is made, with the nodes above it."""
    node = root
    for above in parents(path):
        node = node.children.setdefault(above.rpartition(DELIMITER)[2], Node(above))
    return node


def drawn(root: Node, depth: int) -> Iterator[tuple[str, str, str, str]]:
    """A row for each node down to ``depth`` levels below the root: drawing, topics, size, state."""
    yield _row(DELIMITER, root)
    yield from _drawn_below(root, "", depth)


def _drawn_below(node: Node, indent: str, depth: int) -> Iterator[tuple[str, str, str, str]]:
    if not depth:
        return
    tiers = sorted(node.children)
    for tier in tiers:
        last = tier == tiers[-1]
        child = node.children[tier]
        yield _row(f"{indent}{'└── ' if last else '├── '}{tier}{DELIMITER}", child)
        yield from _drawn_below(child, f"{indent}{'    ' if last else '│   '}", depth - 1)


def _row(drawing: str, node: Node) -> tuple[str, str, str, str]:
    state = "" if node.volume is None else node.volume.text()
    if not node.known:
        return drawing, "?", "?", state
    return drawing, f"{node.all_topics:,}", size_text(node.all_size) if node.sized else "?", state


def size_text(size: int) -> str:
    """Bytes in a unit that fits.

    >>> size_text(1536)
    '1.5 KiB'
    """
    amount, unit = float(size), 0
    while amount >= _STEP and unit < len(_UNITS) - 1:
        amount, unit = amount / _STEP, unit + 1
    return f"{size} B" if not unit else f"{amount:.1f} {_UNITS[unit]}"
