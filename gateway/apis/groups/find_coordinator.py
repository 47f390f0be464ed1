"""FindCoordinator (API 10): the brokers that coordinate groups and transactional ids.

Keys are rewritten as group or transactional ids, by the request's key type, and need DESCRIBE.
Other key types are rejected. The response has the gateway's addresses in place of the brokers'. A
coordinator without such an address is COORDINATOR_NOT_AVAILABLE, after which clients retry.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import fields, replace
from typing import Any, Final

from gateway.apis import generic, walking
from gateway.apis.groups.sought_again import checked
from gateway.decision import Denied
from gateway.error_codes import (
    COORDINATOR_NOT_AVAILABLE,
    GROUP_AUTHORIZATION_FAILED,
    INVALID_REQUEST,
    TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
)
from gateway.exchanges.api import Api
from gateway.exchanges.exchange import Exchange, Outcome
from gateway.exchanges.state import ConnectionState
from gateway.rules.declaration import DESCRIBE, KIB, Do, Effect, ItemShape, Needs
from gateway.rules.division import Codes, Division, Item, Names
from gateway.rules.other_versions import as_class, not_expressible
from gateway.rules.restore import hidden_nodes
from protocol import messages
from protocol.entities import Kind
from protocol.errors import ProtocolError
from protocol.messages import changed, element_class, has_field
from protocol.pausing import eased
from protocol.splice import Edit
from protocol.walkers import Span

KEY_TYPE = int(Kind.KEY_TYPE)
COORDINATOR_KEY = int(Kind.COORDINATOR_KEY)
GROUP_ID = int(Kind.GROUP_ID)
TRANSACTIONAL_ID = int(Kind.TRANSACTIONAL_ID)

GROUP_KEY = 0
TRANSACTION_KEY = 1
"""Key types (Kafka's CoordinatorType); a share group's key has another type."""

FIRST_WITH_KEYS: Final = 4
"""The first version that requests several keys at once (KIP-699)."""

_NOBODY = {"node_id": -1, "host": "", "port": -1}
_NOT_AVAILABLE = {**_NOBODY, "error_code": COORDINATOR_NOT_AVAILABLE}


def request(
    state: ConnectionState, exchange: Exchange, buf: bytes, start: int, end: int
) -> Outcome:
    """Rewrite the keys by their type, which may follow the keys."""
    plan = exchange.plan
    spans = walking.request_spans(plan, buf, start, end)
    exchange.flow = state.flow(plan.api_key, plan.version, b"")
    key_type = next((span[3] for span in eased(spans) if span[0] == KEY_TYPE), GROUP_KEY)
    if key_type not in (GROUP_KEY, TRANSACTION_KEY):
        denied = Denied(
            INVALID_REQUEST, f"Coordinators of key type {key_type} are not served here.", "access"
        )
        return generic.answer_error(exchange, buf[start:end], denied)
    renamer = generic.renamer_for(state, exchange)
    renamer.add(_typed(spans, key_type))
    if renamer.rejections is not None:
        return generic.reject(state, exchange, buf[start:end], renamer.rejections)
    return renamer.edits


def response(
    state: ConnectionState, exchange: Exchange, buf: bytes, start: int, end: int
) -> list[Edit] | bytes:
    """Restore the keys; a coordinator without an address at this listener is not available."""
    plan = exchange.plan
    spans = walking.response_spans(plan, buf, start, end)
    hidden = hidden_nodes(spans, state.addresses)
    if hidden:
        body = hide_nodes(plan.version, buf[start:end], hidden)
        return generic.whole(body, response(state, exchange, body, 0, len(body)))
    return generic.restore(state, exchange, buf, start, end, _typed(spans, GROUP_KEY))


def _typed(spans: list[Span], key_type: int) -> list[Span]:
    """The spans, with coordinator keys turned into group or transactional ids."""
    kind = TRANSACTIONAL_ID if key_type == TRANSACTION_KEY else GROUP_ID
    return [
        (kind, span[1], span[2], span[3]) if span[0] == COORDINATOR_KEY else span
        for span in eased(spans)
    ]


def hide_nodes(version: int, body: bytes, hidden_node_ids: Collection[int]) -> bytes:
    """A FindCoordinatorResponse in which these brokers coordinate nothing. Raises ProtocolError."""
    response = messages.parse("FindCoordinatorResponse", version, body)
    if has_field(type(response), "coordinators"):
        shown = tuple(_shown(entry, hidden_node_ids) for entry in eased(response.coordinators))
        return messages.write(replace(response, coordinators=shown))
    return messages.write(_shown(response, hidden_node_ids))


def _shown(entry: Any, hidden_node_ids: Collection[int]) -> Any:
    return changed(entry, _NOT_AVAILABLE) if entry.node_id in hidden_node_ids else entry


# -- in a tree -------------------------------------------------------------------------------------


def _whole(request: Any, names: Names) -> str | None:
    """The volume of a request for one key; keys of other types go to the listener's volume."""
    if getattr(request, "key_type", GROUP_KEY) not in (GROUP_KEY, TRANSACTION_KEY):
        return names.own
    if has_field(type(request), "coordinator_keys"):
        return None
    return names.group(request.key.encode())


def _item(key: str, names: Names) -> Item:
    return Item(names.group(key.encode()), key)


def _denied(request: Any) -> int:
    """The error code for a denied coordinator, because Java's producer reports any other code as a
    KafkaException without a cause."""
    of_transaction = getattr(request, "key_type", GROUP_KEY) == TRANSACTION_KEY
    return TRANSACTIONAL_ID_AUTHORIZATION_FAILED if of_transaction else GROUP_AUTHORIZATION_FAILED


def _translated(request: Any, before: int, after: int, where: str) -> Mapping[str, object]:
    if before < FIRST_WITH_KEYS <= after:
        return {"coordinator_keys": (request.key,), "key": ""}
    if before < FIRST_WITH_KEYS or after >= FIRST_WITH_KEYS:
        return {}
    if len(request.coordinator_keys) != 1:
        raise not_expressible(where, f"{len(request.coordinator_keys)} keys in one request")
    return {"key": request.coordinator_keys[0], "coordinator_keys": ()}


def _translated_response(made: Any, response: Any, request: Any) -> Any:
    """The only coordinator of a response, if just one of the two versions has an array. An older
    response does not repeat the key."""
    several = has_field(type(made), "coordinators")
    if several == has_field(type(response), "coordinators"):
        return made
    if several:
        (key,) = request.coordinator_keys
        one = as_class(element_class(type(made), "coordinators"), response)
        return changed(made, {"coordinators": (changed(one, {"key": key}),)})
    if len(response.coordinators) != 1:
        raise ProtocolError(f"{len(response.coordinators)} coordinators answer one key")
    one = response.coordinators[0]
    names = (field.name for field in fields(one))
    return changed(made, {name: getattr(one, name) for name in names})


_CODES: Final = Codes(
    down=COORDINATOR_NOT_AVAILABLE,
    denied=GROUP_AUTHORIZATION_FAILED,
    missing=COORDINATOR_NOT_AVAILABLE,
    rejected=COORDINATOR_NOT_AVAILABLE,
)

API = Api(
    "FindCoordinator",
    (0, 6),
    Do.REWRITE,
    effect=Effect.LOOKUP,
    why="share group keys are denied",
    needs=Needs(group=DESCRIBE, transactional_id=DESCRIBE, empty_group=True),
    items=(ItemShape("coordinator_keys", (), "coordinators", ("key",), _NOBODY, FIRST_WITH_KEYS),),
    beside_error=_NOBODY,
    division=Division(item=_item, whole=_whole, codes=_CODES, denied=_denied),
    translated=_translated,
    translated_response=_translated_response,
    request=request,
    response=response,
    in_fleet=checked,
    small_request=KIB // 4,  # a denied key takes 80 us
)
