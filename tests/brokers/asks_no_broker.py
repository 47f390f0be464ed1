"""Admins of a cluster whose users ask no broker in particular."""

from __future__ import annotations

from typing import Any

from protocol.messages import Request


class AsksNoBroker:
    """The part of a ClusterAdmin that such a user never calls."""

    async def ask_at(
        self, address: tuple[str, int], request: Request, *, within: float | None = None
    ) -> Any:
        """See :class:`gateway.brokers.messages.ClusterAdmin`."""
        raise AssertionError(f"the broker at {address} is asked")
