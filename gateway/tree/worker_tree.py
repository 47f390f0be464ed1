"""The tree in one worker: what a gateway whose clusters are mounted has besides its volumes."""

from __future__ import annotations

from functools import partial

from gateway.apis.table import put_around
from gateway.audit.audit import Audit
from gateway.changes.base.context import Context
from gateway.changes.jobs.job_runner import Job
from gateway.config.models import Config
from gateway.connections.clients import Clients
from gateway.connections.tasks import Tasks
from gateway.counts import Counts
from gateway.mounts import Mount
from gateway.slices import Turns
from gateway.tree.lanes import LaneHub, Lanes
from gateway.tree.shadow_removal import ShadowRemoval
from gateway.tree.shadow_topics import ShadowTopics
from gateway.tree.splitting import AROUND
from gateway.tree.tree_peers import TreePeers


class WorkerTree:
    """Divides the requests of a worker's clients by volume. ``peers``: the other gateways of the
    tree; None if all of it is this gateway's own."""

    def __init__(
        self, config: Config, worker_id: int, *, turns: Turns, tasks: Tasks, counts: Counts
    ) -> None:
        put_around(AROUND)
        self._turns = turns
        self._shadows: dict[str, ShadowTopics] = {}
        self._contexts: dict[int, Context] = {}
        self.peers: TreePeers | None = None
        if config.tree is not None:
            worker = f"w{worker_id}"
            self.peers = TreePeers(
                config, config.tree, worker, tasks=tasks, counts=counts, turns=turns
            )

    def mount(self, mount: Mount, context: Context) -> Job:
        """Take a volume; returns the background job that the volume has in a tree."""
        self._contexts[mount.number] = context
        self._shadows[mount.path] = ShadowTopics(context)
        return ShadowRemoval(context, self._contexts)

    def connect(self, clients: Clients, audit: Audit) -> None:
        """Serve the tree to clients, and to peers if they may ask."""
        hub = LaneHub(
            self._turns,
            clients.volumes,
            clients.under_way,
            clients.addresses,
            clients.perform,
            self._shadows,
            None if self.peers is None else self.peers.others,
        )
        clients.admission.tree_of = partial(Lanes, hub)
        if self.peers is not None:
            self.peers.answer_by(hub, audit)
