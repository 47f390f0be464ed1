"""How many subscriptions of client metrics a catalog holds at most.

Every worker holds them all, and compares a client's telemetry with those that concern it. A tenant
that had the whole catalog's number in its own namespaces would leave others none.
"""

from __future__ import annotations

from typing import Final

from gateway.names import parents

SUBSCRIPTIONS: Final = "subscriptions"
"""Their name among the catalog's tallies."""

MOST_IN_TREE: Final = 100
"""Subscriptions in an outermost namespace with all below it, and in the default namespace."""

MOST: Final = 1_000
"""Subscriptions in a catalog."""


def number_limits(namespace: str) -> tuple[tuple[str | None, int], ...]:
    """The tiers whose number counts for a subscription in a namespace, each with its limit; None:
    the whole catalog (``Snapshot.tally``)."""
    return ((parents(namespace) or [""])[0], MOST_IN_TREE), (None, MOST)
