"""Fetch responses of a tree: the walk of ``fetch_stream``, with virtual node ids.

A partition names its preferred read replica before its records (KIP-392), and its leader after them
(KIP-951).
"""

from __future__ import annotations

from gateway.exchanges.exchange import Exchange
from gateway.exchanges.fetch_stream import FetchStream, Stage
from gateway.exchanges.framing import Buffer, slice_of
from gateway.exchanges.state import ConnectionState
from gateway.rules.node_numbers import node_edits
from protocol.pausing import eased
from protocol.splice import Edit
from protocol.walkers import Span


class NumberedStream(FetchStream):
    """Walks one Fetch response of the cluster with the worker state's number."""

    __slots__ = ("_nodes", "_number")

    def __init__(self, state: ConnectionState, exchange: Exchange) -> None:
        super().__init__(state, exchange)
        self._number = state.worker.number
        self._segments = exchange.plan.numbered_segments()
        self._nodes: list[Edit] = []

    def _advance(self, spans: list[Span]) -> None:
        if self._stage is Stage.PARTITION_HEAD or self._stage is Stage.PARTITION_TAIL:
            self._nodes += node_edits(spans, self._number)
        super()._advance(spans)

    def _pass_on(self, buf: bytes, passed: int, at: int, out: list[Buffer]) -> None:
        nodes, self._nodes = self._nodes, []
        for start, stop, new in eased(nodes):
            out.append(slice_of(buf, passed, start))
            out.append(new)
            passed = stop
        if at > passed:
            super()._pass_on(buf, passed, at, out)
