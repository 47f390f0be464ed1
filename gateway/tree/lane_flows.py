"""Counts of the lanes of a client, which outlive each lane."""

from __future__ import annotations

from gateway.exchanges.state import ConnectionState
from gateway.flows import Flow, FlowSource

Flows = dict[tuple[int, int, bytes], Flow]


class LaneFlows:
    """The flows of a client's lanes, by volume. A lane lives for one request, so if it had flows
    of its own, there would be as many flows as requests."""

    __slots__ = ("_by_volume", "_open", "_source")

    def __init__(self) -> None:
        self._by_volume: dict[str, Flows] = {}
        self._open = 0
        self._source: FlowSource | None = None

    def opened(self, path: str, lane: ConnectionState, client: ConnectionState) -> None:
        """Make a client's lane to the volume at ``path`` count on the flows of earlier lanes."""
        if client.source is not self._source:  # a flow belongs to its source
            client.earlier = [*(client.earlier or ()), *self.take()]
            self._by_volume = {}
            self._source = client.source
        lane.flows = self._by_volume.setdefault(path, {})
        self._open += 1

    def closed(self, client: ConnectionState) -> None:
        """Note the end of a lane; its counts are collected with the client's own."""
        self._open -= 1
        if client.flows is None:
            client.flows = {}

    def take(self) -> list[Flow]:
        """The flows with counts since the last call."""
        taken = [
            flow.moved()
            for flows in self._by_volume.values()
            for flow in flows.values()
            if not flow.empty
        ]
        if not self._open:  # an open lane goes on counting on its flows
            self._by_volume = {}
        return taken
