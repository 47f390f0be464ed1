"""Auto-creation by Metadata where policies have a say (KIP-108): a topic is not made by being asked
for, since no policy would be asked.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from gateway.decision import Denied
from gateway.rules import metadata
from gateway.state import ConnectionState

FORBIDS_AUTO_CREATION: Final = 4
"""The first version of Metadata whose request can forbid auto-creation."""


def forbidding(
    state: ConnectionState, version: int, names: Sequence[bytes], body: bytes
) -> bytes | None:
    """A Metadata request without auto-creation, where policies have a say in all that it names;
    None: it may stay as it is, or cannot say so.

    What is known to exist may have been deleted since, and would come back by being asked for.
    """
    if version < FORBIDS_AUTO_CREATION or not metadata.allows_auto_creation(version, body):
        return None
    # Of two topics one cannot be forbidden alone; in a namespace it is asked for if it exists.
    if _is_enforced(state) or all(_is_in_namespace(state, name) for name in names):
        return metadata.without_auto_creation(version, body)
    return None


def needs_listing(state: ConnectionState, version: int) -> bool:
    """Whether the cluster has to be listed before a request that cannot forbid auto-creation is
    decided: only what exists may be asked for."""
    return version < FORBIDS_AUTO_CREATION and _is_enforced(state)


def _is_enforced(state: ConnectionState) -> bool:
    """Whether policies may refuse topics of the default namespace: what only warns refuses none."""
    policies = state.worker.judge.policies.of("")
    return any(placed.block.mode == "enforce" for placed in policies)


def _is_in_namespace(state: ConnectionState, spelled: bytes) -> bool:
    found = state.view.resolve(spelled)
    if isinstance(found, Denied):
        return True  # it is not asked of the broker at all
    return bool(state.view.snapshot.owner(found.flat.decode()).namespace)
