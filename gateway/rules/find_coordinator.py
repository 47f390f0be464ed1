"""FindCoordinator: a coordinator whose broker has no address here is not available (yet)."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import Any

from gateway.error_codes import COORDINATOR_NOT_AVAILABLE
from gateway.rules.nested import changed, has_field
from protocol import messages

_NOWHERE = {"error_code": COORDINATOR_NOT_AVAILABLE, "node_id": -1, "host": "", "port": -1}


def hide_nodes(version: int, body: bytes, hidden_node_ids: Collection[int]) -> bytes:
    """A FindCoordinatorResponse in which these brokers coordinate nothing.

    Clients retry COORDINATOR_NOT_AVAILABLE; the group may move. Raises ProtocolError.
    """
    response = messages.parse("FindCoordinatorResponse", version, body)
    if has_field(type(response), "coordinators"):
        shown = tuple(_shown(entry, hidden_node_ids) for entry in response.coordinators)
        return messages.write(replace(response, coordinators=shown))
    return messages.write(_shown(response, hidden_node_ids))


def _shown(entry: Any, hidden_node_ids: Collection[int]) -> Any:
    return changed(entry, _NOWHERE) if entry.node_id in hidden_node_ids else entry
