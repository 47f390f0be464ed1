"""How an operator's tool reaches a worker of a gateway on its own machine.

Each worker listens at an address of its own that is a name, not a file (Linux's abstract Unix
sockets), because a container may have no directory that can be written to. Only the worker's own
user, and root, get a response.
"""

from __future__ import annotations


def address(metrics_port: int, worker_id: int) -> str:
    """The address of a worker. No two gateways of one machine have the same port for metrics."""
    return f"\0kafka-gateway/{metrics_port}/{worker_id}"
