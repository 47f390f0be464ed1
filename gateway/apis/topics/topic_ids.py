"""Topic ids in forwarded responses."""

from __future__ import annotations

from collections.abc import Sequence

from gateway.apis.counting import TOPIC_ID, TOPIC_NAME
from gateway.exchanges.state import ConnectionState
from protocol.pausing import eased
from protocol.walkers import Span


def learn_ids(state: ConnectionState, spans: Sequence[Span]) -> None:
    """Note the id of each topic (flat name) in a response; an id follows its name."""
    index = state.worker.cluster.index
    flat: bytes | None = None
    for kind, _, _, value in eased(spans):
        if kind == TOPIC_NAME:
            flat = value
        elif kind == TOPIC_ID and flat and any(value):
            index.learn(flat, value)
