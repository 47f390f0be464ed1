"""What a member of a group subscribes to, for the heartbeats of consumer groups (KIP-848) and share
groups (KIP-932): the topics that reject the heartbeat, and the topics that a member is not shown.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from gateway.apis.counting import TOPIC_ID, TOPIC_NAME
from gateway.decision import Denied, Resolved
from gateway.error_codes import INVALID_REQUEST, TOPIC_AUTHORIZATION_FAILED
from gateway.exchanges.kept import Kept
from gateway.exchanges.state import ConnectionState
from gateway.rules.heartbeat_outcomes import Sent
from gateway.rules.rename import one_by_link
from gateway.rules.shadows import Far, is_shadow
from gateway.views.access import DESCRIBE
from gateway.views.authorized_access import ACL_RULE
from protocol.pausing import eased, paced
from protocol.walkers import Span


@dataclass(frozen=True, slots=True)
class SentHeartbeat(Kept):
    """The forwarded heartbeat, in the form in which the worker remembers its member."""

    sent: Sent


def flat_of(state: ConnectionState, name: str, far: Far | None = None) -> bytes | None:
    """The flat name of a member's topic, even of a frozen topic: the member keeps the topic until
    the name changes hands. If ``far`` has the topic, its shadow, once this worker knows the
    shadow."""
    found = state.view.subscribed(name.encode())
    return _flat_of(state, name, found, far)


def _flat_of(
    state: ConnectionState, name: str, found: Resolved | Denied, far: Far | None
) -> bytes | None:
    if not isinstance(found, Denied):
        return found.flat
    if far is None or found.rule != "volume":
        return None
    shadow = far.subscribed(name.encode())
    if shadow is None or not state.worker.cluster.index.exists(shadow):
        return None
    return shadow


def is_elsewhere(state: ConnectionState, name: str) -> bool:
    """Whether a name is in another volume than the group."""
    found = state.view.resolve(name.encode())
    return isinstance(found, Denied) and found.rule == "volume"


def shadows_of(state: ConnectionState, names: Iterable[str], far: Far | None) -> dict[bytes, bytes]:
    """The names in other volumes among these names -> their shadows. Every such name has a
    shadow."""
    if far is None:
        return {}
    found = {name: flat_of(state, name, far) for name in paced(names) if is_elsewhere(state, name)}
    return {name.encode(): flat for name, flat in found.items() if flat is not None}


def hidden_ids(state: ConnectionState, spans: list[Span]) -> set[bytes]:
    """The broker's ids of topics that this view reaches under no name."""
    if not state.view.has_topic_ids:
        return set()
    index = state.worker.cluster.index
    ids = {value: index.name_of(value) for kind, _, _, value in eased(spans) if kind == TOPIC_ID}
    return {
        value
        for value, flat in eased(ids.items())
        if flat and not state.view.reaches(flat) and not (state.tree and is_shadow(flat))
    }


def forbidden(
    state: ConnectionState, spans: list[Span], far: Far | None = None
) -> dict[bytes, Denied] | None:
    """The names in a subscription that ACLs deny, those of the volume that has the topic: a single
    such name rejects the heartbeat (KIP-848)."""
    if far is None and not state.access.authorizes:
        return None
    denied = {}
    for kind, _, _, value in eased(spans):
        if kind != TOPIC_NAME or not value:
            continue
        found = state.access.topic(DESCRIBE, value)
        if not isinstance(found, Denied):
            continue
        if found.rule == "volume" and far is not None:
            there = far.topic(DESCRIBE, value)
            if isinstance(there, Denied) and there.code == TOPIC_AUTHORIZATION_FAILED:
                denied[value] = there
        elif found.rule == ACL_RULE:
            denied[value] = found
    return denied or None


def elsewhere(state: ConnectionState, spans: list[Span], keeps_to_one: str) -> Denied | None:
    """The denial of a member of a group without offsets under shadows (share groups, groups of
    Streams) that names a topic outside the group's volume: a broker can only assign partitions of
    its own cluster. INVALID_REQUEST is fatal, and clients show its text, which ends with
    ``keeps_to_one``: which groups do so. None without a tree."""
    tree = state.tree
    if tree is None:
        return None
    for kind, _, _, value in eased(spans):
        if not value or kind not in (TOPIC_NAME, TOPIC_ID):
            continue
        if kind == TOPIC_NAME:
            found = state.view.resolve(value)
            foreign = isinstance(found, Denied) and found.rule == "volume"
            named = f"Topic '{value.decode(errors='replace')}'"
        else:
            foreign = tree.topic_id(value) not in (None, state.worker.mount)
            named = "A topic of this member"
        if foreign:
            why = f"{named} is in another volume than the group, and {keeps_to_one}."
            return Denied(INVALID_REQUEST, why, "volume")
    return None


def linked(state: ConnectionState, spans: list[Span]) -> dict[bytes, Denied] | None:
    """The name in a subscription that is a link to another of its topics, or a topic of a link."""
    if not state.view.snapshot.links:
        return None
    seen: dict[bytes, bytes] = {}
    for kind, _, _, value in eased(spans):
        found = state.view.resolve(value) if kind == TOPIC_NAME and value else None
        if found is None or isinstance(found, Denied):
            continue
        why = one_by_link(state.view, seen.setdefault(found.flat, value), value)
        if why is not None:
            return {value: why}
    return None


def unwanted(state: ConnectionState, name: str, seen: set[bytes], far: Far | None = None) -> bool:
    """Whether to leave a name out of a subscription: the name denotes no topic, or a topic that was
    ``seen`` under another spelling, or a topic that the client may no longer describe. Only names
    that the gateway repeats are left out; a heartbeat that holds such a name itself is rejected."""
    flat = _flat_of(state, name, state.access.subscribed(name.encode()), far)
    if flat is None or flat in seen:
        return True
    seen.add(flat)
    return False
