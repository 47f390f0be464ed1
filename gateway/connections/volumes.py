"""The volumes of a worker: each cluster with its state and views, as clients reach it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from gateway.cluster.admin import BrokerAdmin
from gateway.cluster.cluster import Cluster
from gateway.config.models import Config, Listener
from gateway.decision import Denied
from gateway.exchanges.worker_state import WorkerState
from gateway.identity import Identity
from gateway.mounts import Mount, Mounts
from gateway.topic_ids import TopicIndex
from gateway.views.access import DESCRIBE, Access
from gateway.views.closed_view import ClosedView
from gateway.views.trust import trusted
from gateway.views.views import Views, home_of
from gateway.virtual_brokers import Target
from protocol.pausing import paced


@dataclass(frozen=True, slots=True)
class Volume:
    """A cluster of the gateway's configuration."""

    # None if there is no tree.
    mount: Mount | None
    config: Config
    state: WorkerState
    cluster: Cluster
    views: Views
    # Sends requests of other nodes' clients to the cluster's brokers, as the gateway itself.
    lanes: BrokerAdmin

    @property
    def path(self) -> str:
        """The mount's path; empty if there is no tree."""
        return "" if self.mount is None else self.mount.path


def passes_through(listener: Listener) -> bool:
    """Whether brokers authenticate and authorize a listener's clients. Such clients do not leave
    the listener's volume, and their rights elsewhere are not known here."""
    return listener.sasl is not None and bool(listener.sasl.pass_through)


def describable(
    access: Access, index: TopicIndex, names: Iterable[str]
) -> dict[str, tuple[bytes | None, int]]:
    """The topics among ``names`` that exist and that the client may describe, with the topic id
    that it knows them by and the number of their partitions."""
    found: dict[str, tuple[bytes | None, int]] = {}
    for name in paced(names):
        topic = access.topic(DESCRIBE, name.encode())
        if isinstance(topic, Denied) or not index.exists(topic.flat):
            continue
        partitions = index.partitions.get(topic.flat)
        if partitions:
            found[name] = (topic.topic_id or index.id_of(topic.flat), partitions)
    return found


class Volumes:
    """All volumes of a worker, by mount path. ``mounts`` is None if there is no tree."""

    def __init__(self, volumes: Iterable[Volume], listeners: Iterable[Listener]) -> None:
        self._by_path = {volume.path: volume for volume in volumes}
        listeners = tuple(listeners)
        first = next(iter(self._by_path.values()))
        mounted = [each.mount for each in self if each.mount is not None]
        self.mounts = Mounts(mounted) if mounted else None
        self._own_paths = {
            one.name: first.path if one.volume is None else one.volume for one in listeners
        }
        self._of_listener = {one.name: self._standing_in(one, first) for one in listeners}

    def __iter__(self) -> Iterator[Volume]:
        return iter(self._by_path.values())

    def __getitem__(self, path: str) -> Volume:
        return self._by_path[path]

    def own_path(self, listener: str) -> str:
        """The mount path of the volume that relative names of a listener are in, which may be
        another gateway's."""
        return self._own_paths[listener]

    def of_listener(self, listener: str) -> Volume:
        """The volume that relative names of a listener are in. If that belongs to another gateway,
        the first volume in reach stands in for it: it has the listener's users, but none of its
        names."""
        return self._of_listener[listener]

    def reach(self, listener: Listener) -> list[Volume]:
        """This gateway's volumes that a listener's clients can reach."""
        return [one for one in self if listener.reach is None or one.path in listener.reach]

    def of_target(self, listener: str, target: Target) -> Volume:
        """The volume of the broker that a client connects to."""
        return self.of_listener(listener) if target.node_id is None else self[target.volume]

    def have_id(self, topic_id: bytes) -> bool:
        """Whether a volume of this gateway has a topic with this id, even if the client may not see
        it."""
        return any(
            each.cluster.index.name_of(topic_id)
            or each.state.catalog.snapshot.by_topic_id(topic_id)
            for each in self
        )

    def access(
        self, volume: Volume, listener: str, identity: Identity, host: str, *, last: bool = False
    ) -> Access:
        """The access of a listener's client in a volume. If the volume is not the listener's, only
        principals that it trusts from that listener count. ``last``: use the catalog as it was last
        read, even if that is too long ago to decide by."""
        principal, own = identity.principal, self.of_listener(listener)
        home = home_of(own.config.principals, own.state.catalog.snapshot, principal)
        if volume.path != self.own_path(listener):
            principal = trusted(volume.config.clusters[0].trust, listener, principal)
        view = volume.views.of(listener, home)
        if last and isinstance(view, ClosedView):
            view = view.last
        return volume.views.access(view, principal, host)

    def of(self, state: WorkerState) -> Volume:
        """The volume that a connection's worker state belongs to."""
        return self._by_path[state.mount]

    def _standing_in(self, listener: Listener, first: Volume) -> Volume:
        for path in (self.own_path(listener.name), *(listener.reach or ())):
            if path in self._by_path:
                return self._by_path[path]
        return first
