"""What a member of a group subscribes to, for the heartbeats of consumer groups (KIP-848) and share
groups (KIP-932): the topics that reject the heartbeat, and the topics that a member is not shown.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from gateway.apis import generic
from gateway.apis.counting import TOPIC_ID, TOPIC_NAME
from gateway.apis.walking import response_spans
from gateway.decision import Denied
from gateway.error_codes import INVALID_REQUEST, TOPIC_AUTHORIZATION_FAILED
from gateway.exchanges.exchange import Exchange
from gateway.exchanges.kept import Kept
from gateway.exchanges.state import ConnectionState
from gateway.rules import partial
from gateway.rules.heartbeat_outcomes import Sent
from gateway.rules.rename import one_by_link
from gateway.rules.shadows import Far, is_shadow, origin_of
from gateway.views.access import DESCRIBE, READ
from gateway.views.authorized_access import ACL_RULE
from protocol.pausing import eased, paced
from protocol.splice import Edit
from protocol.walkers import Span


@dataclass(frozen=True, slots=True)
class SentHeartbeat(Kept):
    """The forwarded heartbeat, in the form in which the worker remembers its member."""

    sent: Sent


def scope_of(state: ConnectionState) -> tuple[str, str]:
    """The scope in which members are kept: one principal's, so that nobody takes the room of
    another's members."""
    return (state.view.settings.scope, state.access.principal)


def flat_of(state: ConnectionState, name: str) -> bytes | None:
    """The flat name of a member's topic, even of a frozen topic: the member keeps the topic until
    the name changes hands."""
    found = state.view.subscribed(name.encode())
    return None if isinstance(found, Denied) else found.flat


def is_elsewhere(state: ConnectionState, name: str) -> bool:
    """Whether a name is in another volume than the group."""
    found = state.view.resolve(name.encode())
    return isinstance(found, Denied) and found.rule == "volume"


class Elsewhere:
    """The shadows of the topics in other volumes that a heartbeat is about, each decided once:
    other clients' changes may come between two slices of the decision.

    The client needs DESCRIBE and READ on such a topic, because partitions of its shadow are made
    for members that read, and no member may learn from its assignment whether others read it.
    """

    def __init__(self, state: ConnectionState, far: Far) -> None:
        self._state = state
        self._far = far
        self._shadows: dict[str, bytes | None] = {}

    def has(self, name: str) -> bool:
        """Whether a name is in another volume than the group."""
        return is_elsewhere(self._state, name)

    def shadow(self, name: str) -> bytes | None:
        """The shadow behind a name in another volume; None for other names."""
        if name not in self._shadows:
            found = self.has(name)
            self._shadows[name] = self._far.to_read(name.encode()) if found else None
        return self._shadows[name]

    def flat(self, name: str) -> bytes | None:
        """:func:`flat_of`, or the shadow."""
        found = flat_of(self._state, name)
        return self.shadow(name) if found is None else found

    def is_unread(self, name: str) -> bool:
        """Whether nothing can be said yet of a name in another volume (:meth:`Far.is_unread`)."""
        return self.has(name) and self._far.is_unread(name.encode())

    def keep(self, reached: Mapping[bytes, str]) -> None:
        """Use the shadows that a member keeps for names of which nothing can be said yet, among
        the topics that it is subscribed to."""
        for flat, name in paced(reached.items()):
            if is_shadow(flat) and self.shadow(name) is None:
                self._shadows[name] = flat

    def kept_ids(
        self, unknown: Collection[bytes], reached: Mapping[bytes, str]
    ) -> dict[bytes, bytes]:
        """The ids of the shadows that a member keeps -> the ``unknown`` ids by which the client
        owns partitions of them. A topic that was moved has another id for the client, which only
        its cluster's catalog could tell: its partitions are not among them."""
        index, found = self._state.worker.cluster.index, {}
        for flat in paced(reached):
            origin = origin_of(flat) if is_shadow(flat) else None
            if origin is None or origin.topic_id not in unknown:
                continue
            own = index.id_of(flat)
            if own is not None and self._far.is_unread_shadow(flat):
                found[own] = origin.topic_id
        return found

    def names(self, names: Iterable[str]) -> dict[bytes, bytes]:
        """The names in other volumes among these names -> their shadows."""
        found = {name: self.shadow(name) for name in paced(names)}
        return {name.encode(): flat for name, flat in found.items() if flat is not None}

    def ids(self, spelled_ids: Mapping[bytes, bytes]) -> dict[bytes, bytes]:
        """The client's ids of topics in other volumes -> their shadows' ids, from the ids that were
        decided (the broker's -> the client's)."""
        index = self._state.worker.cluster.index
        return {
            value: own
            for own, value in eased(spelled_ids.items())
            if (flat := index.name_of(own)) is not None and is_shadow(flat)
        }


def is_cut(
    state: ConnectionState,
    spans: list[Span],
    far: Far,
    spelled: Mapping[bytes, bytes],
    reached: Mapping[bytes, str] | None,
) -> bool:
    """Whether an assignment has a topic of another volume that the client is not shown, or may have
    one whose shadow this worker does not know yet. ``reached``: the topics that the member is
    subscribed to, None if they are not known. A broker does not repeat an assignment, so such a
    member has to ask for it again. A topic of which nothing can be said yet is left out instead
    (:func:`unread_ids`): while its cluster is down the member has to go on with the others."""
    index = state.worker.cluster.index
    has_unknown = False
    for kind, _, _, value in eased(spans):
        if kind != TOPIC_ID or not value or not any(value):
            continue
        flat = index.name_of(value)
        if flat is None:
            has_unknown = True
        elif (
            is_shadow(flat)
            and far.id_to_show(flat, spelled.get(flat)) is None
            and not far.is_unread_shadow(flat)
        ):
            return True
    if not has_unknown or reached is None:
        return has_unknown
    return any(is_shadow(flat) for flat in eased([*reached]))


def unread_ids(
    state: ConnectionState,
    spans: list[Span],
    far: Far,
    spelled: Mapping[bytes, bytes],
    owned: Collection[bytes],
) -> dict[bytes, bytes]:
    """The ids of shadows in an assignment -> the shadows of whose topics nothing can be said yet,
    so that the client's id for the topic is not known, unless it is among the ids that the client
    ``owned`` in its heartbeat."""
    index = state.worker.cluster.index
    ids = {value: index.name_of(value) for kind, _, _, value in eased(spans) if kind == TOPIC_ID}
    return {
        value: flat
        for value, flat in eased(ids.items())
        if flat is not None
        and is_shadow(flat)
        and value not in owned
        and far.id_to_show(flat, spelled.get(flat)) is None
        and far.is_unread_shadow(flat)
    }


def assignment(
    state: ConnectionState,
    exchange: Exchange,
    buf: bytes,
    start: int,
    end: int,
    spans: list[Span],
    hidden: set[bytes],
    far: Far | None = None,
) -> list[Edit] | bytes:
    """The response to a heartbeat, without the ``hidden`` ids. A broker authorizes the names of a
    heartbeat, and no assignment: a member whose right was revoked keeps what it has until it names
    its topics again (KafkaApis: handleConsumerGroupHeartbeat, handleShareGroupHeartbeat)."""
    plan = exchange.plan
    if not hidden:
        return generic.restore(state, exchange, buf, start, end, spans, far=far, assigned=True)
    body = partial.drop(plan.api, plan.version, buf[start:end], hidden)
    end, spans = len(body), response_spans(plan, body, 0, len(body))
    edits = generic.restore(state, exchange, body, 0, end, spans, far=far, assigned=True)
    return generic.whole(body, edits)


def spelled(
    state: ConnectionState, spans: list[Span], kept: Kept | None
) -> dict[bytes, bytes] | None:
    """The client's names for the topics of an assignment: those by which the member is subscribed
    to them, or else those of this connection's subscriptions."""
    if not isinstance(kept, SentHeartbeat) or not any(span[0] == TOPIC_ID for span in eased(spans)):
        return state.spelled
    names = dict(state.spelled or {})
    names.update((flat, name.encode()) for flat, name in paced(kept.sent.reached.items()))
    return names


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
    """The names in a subscription that ACLs deny: a single such name rejects the heartbeat
    (KIP-848). A topic of another volume needs READ, too, see :class:`Elsewhere`."""
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
            for operation in (DESCRIBE, READ):
                there = far.topic(operation, value)
                if isinstance(there, Denied) and there.code == TOPIC_AUTHORIZATION_FAILED:
                    denied[value] = there
                    break
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


def unwanted(
    state: ConnectionState, name: str, seen: set[bytes], elsewhere: Elsewhere | None = None
) -> bool:
    """Whether to leave a name out of a subscription: the name denotes no topic, or a topic that was
    ``seen`` under another spelling, or a topic that the client may no longer describe. Only names
    that the gateway repeats are left out; a heartbeat that holds such a name itself is rejected."""
    found = state.access.subscribed(name.encode())
    flat = None if isinstance(found, Denied) else found.flat
    if flat is None and elsewhere is not None:
        flat = elsewhere.shadow(name)
    if flat is None or flat in seen:
        return True
    seen.add(flat)
    return False
