"""Auto-creation by Metadata of what the gateway creates itself (``gateway.changes.topics``).

A broker would create a topic of a namespace without the configs that it inherits, one that policies
have a say in without them being asked (KIP-108), and one whose name a new namespace takes at that
moment inside of it. What exists when it is asked for may be deleted before the broker comes to the
request, which can wait for minutes behind another one of its connection. So a request that names
any such topic, there or not, says itself that the broker is to create nothing; and what it would
have created of the others the gateway creates as well.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from gateway.apis.counting import BEING_CREATED
from gateway.apis.topics import metadata_legacy
from gateway.apis.topics import metadata_messages as metadata
from gateway.catalog.source import Actor
from gateway.decision import Denied
from gateway.error_codes import UNKNOWN_TOPIC_OR_PARTITION
from gateway.exchanges.exchange import Exchange
from gateway.exchanges.kept import Kept
from gateway.exchanges.state import ConnectionState
from gateway.names import LogicalName, may_be_captured
from gateway.rules.access import check_creation
from protocol.entities import Kind
from protocol.pausing import eased
from protocol.splice import splice
from protocol.walkers import Span

AUTO_CREATION: Final = int(Kind.AUTO_CREATION)

_NO: Final = b"\x00"


class MadeHere(Kept):
    """Marks an exchange whose client lets topics be created, and whose broker may not do it."""


def is_allowed(version: int, spans: Sequence[Span]) -> bool:
    """Whether a MetadataRequest lets topics be created; before v4 every one does."""
    if version < metadata.FORBIDS_AUTO_CREATION:
        return True
    return any(kind == AUTO_CREATION and value for kind, _, _, value in eased(spans))


def is_ours(state: ConnectionState, version: int, names: Sequence[bytes], body: bytes) -> bool:
    """Whether the broker may create nothing for a request that lets topics be created."""
    if not names:  # "all" is asked for by the names that are listed
        old = version < metadata.FORBIDS_AUTO_CREATION
        return old and metadata.wants_all(version, body)
    # Of two topics one cannot be forbidden alone.
    return _is_enforced(state) or any(_is_guarded(state, name) for name in names)


def forbidding(
    exchange: Exchange, buf: bytes, start: int, end: int, spans: Sequence[Span]
) -> bytes:
    """The request by which the broker creates nothing; ``exchange`` keeps :class:`MadeHere`.

    Versions that cannot say so are sent as the first one that can.
    """
    exchange.kept = MadeHere()
    version = exchange.plan.version
    if version >= metadata.FORBIDS_AUTO_CREATION:
        edits = [(at, stop, _NO) for kind, at, stop, _ in eased(spans) if kind == AUTO_CREATION]
        return splice(buf, start, end, edits)
    exchange.plan = exchange.plan.at(metadata_legacy.TRANSLATED_TO)
    exchange.then(lambda answer: metadata_legacy.response_from_v4(version, answer))
    return metadata_legacy.request_to_v4(version, buf[start:end])


def why_not_created(
    state: ConnectionState, exchange: Exchange, flat: bytes, spelled: str, *, allowed: bool
) -> Denied | None:
    """The answer for a topic that does not exist; None: what the broker says, which
    creates it if the request lets it."""
    denied = check_creation(state.view, spelled)
    if denied is not None:
        return Denied(UNKNOWN_TOPIC_OR_PARTITION, denied.message, denied.rule)
    resource = state.access.flat_resource(flat)
    ours = isinstance(exchange.kept, MadeHere)
    if not ours and not resource.namespace:
        return state.access.creation(resource) if allowed else None
    name = LogicalName(resource.namespace, resource.name)
    if not ours or not state.worker.auto_creation.allows(name):
        if not resource.namespace:
            return None
        message = f"Topic '{spelled}' does not exist."
        return Denied(UNKNOWN_TOPIC_OR_PARTITION, message, "auto_creation")
    denied = state.access.creation(resource)
    if denied is not None:
        return denied
    message = f"Topic '{spelled}' is being created."
    return Denied(UNKNOWN_TOPIC_OR_PARTITION, message, BEING_CREATED)


def begin(state: ConnectionState, refused: Mapping[bytes, Denied]) -> None:
    """Create those of the refused topics (by the client's spellings) that are to be."""
    names: dict[LogicalName, str] = {}
    for spelled, why in refused.items():
        if why.rule == BEING_CREATED:
            text = spelled.decode()
            names[state.view.parse(text)] = text
    if names:
        source = state.source
        who = (source.principal, source.client_address, source.listener, source.client_id)
        state.worker.auto_creation.begin(state.access, Actor(*who, "Metadata"), names)


def _is_enforced(state: ConnectionState) -> bool:
    """Whether policies may refuse topics of the default namespace: what only warns refuses none."""
    policies = state.worker.judge.policies
    if not policies.judges:
        return False
    return any(placed.block.mode == "enforce" for placed in policies.of(""))


def _is_guarded(state: ConnectionState, spelled: bytes) -> bool:
    """Whether a name leads to a topic of a namespace, or to one that is stored like one."""
    found = state.view.resolve(spelled)
    if isinstance(found, Denied):
        return False  # it is not asked of the broker at all
    flat, snapshot = found.flat.decode(), state.view.snapshot
    return flat in snapshot.topics or may_be_captured(flat) or bool(snapshot.owner(flat).namespace)
