"""The other volumes of a tree, as the handlers of one client connection reach them."""

from __future__ import annotations

from collections.abc import Collection, Coroutine, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from gateway.flows import Flow
from gateway.rules.declaration import Shadows
from gateway.rules.division import Names
from gateway.rules.shadows import Far
from gateway.rules.tree_brokers import Broker


class TreeFacts(NamedTuple):
    """The brokers in every response of a listener, whatever the request and the node: all brokers
    in the listener's reach, with the cluster id and the controller of the listener's volume."""

    brokers: Sequence[Broker]
    cluster_id: str | None
    controller_id: int


class VolumeUnreachable(Exception):
    """A volume's cluster does not respond in time; the text is a sentence for the client."""


class Tree(Names, Protocol):
    """The tree as one client connection sees it.

    :class:`gateway.tree.lanes.Lanes`, in a layer above handlers. Tests fill in the other
    volumes that a case is about, because sessions are tested without lanes.
    """

    def reach(self) -> Sequence[str]:
        """The mount paths of the volumes that the listener's clients can reach."""
        ...

    def api_versions(self, version: int) -> bytes:
        """The body of an ApiVersions response of the connection's node."""
        ...

    def facts(self) -> TreeFacts:
        """The brokers that this client's listener shows, as last known."""
        ...

    def far(self, shadows: Shadows, *, final: bool, thawed: bool = False) -> Far:
        """The topics outside the node's volume, for one request of a group's member. ``final``:
        nothing more is prepared for this request. ``thawed``: no topic counts as frozen."""
        ...

    def take_flows(self) -> list[Flow]:
        """The counts for this client in other volumes since the last call."""
        ...

    async def ask(
        self, path: str, api_key: int, version: int, body: bytes, *, alone: bool = True
    ) -> bytes:
        """The response body to a part of a request, for this client, in the volume at ``path``.
        ``alone``: no other volume's response waits for this one. Raises VolumeUnreachable.
        """
        ...

    async def at_once(self, parts: Iterable[Coroutine[Any, Any, bytes]]) -> list[bytes]:
        """The results of coroutines that run together; long ones let other clients be served."""
        ...

    async def meet(self, path: str, node_ids: Collection[int]) -> None:
        """Look up the brokers of a volume if the brokers in a response (virtual ids) are not the
        known ones."""
        ...

    def remembered(
        self, path: str, names: Iterable[str] | None, ids: Iterable[bytes]
    ) -> Mapping[str, tuple[bytes | None, int]]:
        """The topics that a volume had when it was last seen and that the client may describe, from
        these names and ids: client's name -> topic id and partition count. ``names`` None: all
        listed topics."""
        ...
