"""The clusters that a listener's clients see the brokers of, in the order of their ports."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol, TypeVar

from gateway.config.models import Listener


class _Mounted(Protocol):
    @property
    def mount(self) -> str | None: ...


_Cluster = TypeVar("_Cluster", bound=_Mounted)


def reached(clusters: Iterable[_Cluster], listener: Listener) -> tuple[_Cluster, ...]:
    """The clusters of the listener's reach: as it lists them, else all, as the file lists them.

    The ports of their brokers are put end to end in this order.
    """
    if listener.reach is None:
        return tuple(clusters)
    by_mount = {cluster.mount: cluster for cluster in clusters}
    return tuple(by_mount[mount] for mount in listener.reach if mount in by_mount)
