"""Auto-creation by Metadata where policies have a say (KIP-108): a topic is not made by being asked
for, since no policy would be asked.

What exists when it is asked for may be deleted before the broker comes to the request, which can
wait for minutes behind another one of its connection. So the request itself says that nothing is
to be made.
"""

from __future__ import annotations

from collections.abc import Sequence

from gateway.decision import Denied
from gateway.exchanges.exchange import Exchange
from gateway.exchanges.state import ConnectionState
from gateway.rules import metadata, metadata_legacy


def forbidding(
    state: ConnectionState, exchange: Exchange, names: Sequence[bytes], body: bytes
) -> bytes | None:
    """A Metadata request without auto-creation, where policies may have a say in any topic that
    it names; None: it stays as it is.

    Versions that cannot say so are sent on as the first one that can.
    """
    version = exchange.plan.version
    if version < metadata_legacy.TRANSLATED_TO:
        body = metadata_legacy.request_to_v4(version, body)
        exchange.plan = exchange.plan.at(metadata_legacy.TRANSLATED_TO)
        exchange.then(lambda answer: metadata_legacy.response_from_v4(version, answer))
        return body
    if not names or not metadata.allows_auto_creation(version, body):
        return None
    # Of two topics one cannot be forbidden alone.
    if _is_enforced(state) or any(_is_in_namespace(state, name) for name in names):
        return metadata.without_auto_creation(version, body)
    return None


def _is_enforced(state: ConnectionState) -> bool:
    """Whether policies may refuse topics of the default namespace: what only warns refuses none."""
    policies = state.worker.judge.policies.of("")
    return any(placed.block.mode == "enforce" for placed in policies)


def _is_in_namespace(state: ConnectionState, spelled: bytes) -> bool:
    found = state.view.resolve(spelled)
    if isinstance(found, Denied):
        return False  # it is not asked of the broker at all
    return bool(state.view.snapshot.owner(found.flat.decode()).namespace)
