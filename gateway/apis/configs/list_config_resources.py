"""ListConfigResources (API 74, KIP-1142): the resources that can have configs.

Needs DESCRIBE_CONFIGS on the cluster, as in KafkaApis, and then shows what the view has. For client
metrics alone, DESCRIBE_CONFIGS on their namespaces, or on the home, is enough.

==================  ==============================================================================
resource            shown
==================  ==============================================================================
topic               topics of the listing, each once, in the listener's spelling
group               groups of the view, under the client's ids
broker, logger      brokers with an address at this listener; in a tree by virtual node ids
client metrics      subscriptions of the catalog, never the brokers' own. Version 0 lists nothing
                    else. The gateway answers a request for them alone
==================  ==============================================================================
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from gateway.acl_model import Operation, PatternType, ResourceType
from gateway.apis import administrators, walking
from gateway.apis.counting import RESOURCE_NAME, RESOURCE_TYPE, count_errors
from gateway.changes.base.context import write_response
from gateway.changes.base.subscription_rights import subscription_denial
from gateway.exchanges.api import Api
from gateway.exchanges.exchange import Answer, Exchange, Outcome, Refresh
from gateway.exchanges.kept import Kept
from gateway.exchanges.state import ConnectionState
from gateway.names import DELIMITER
from gateway.node_ids import virtual_node_id
from gateway.rules.access import BROKER_LOGGER_RESOURCE, BROKER_RESOURCE, TOPIC_RESOURCE
from gateway.rules.declaration import Do, Effect
from gateway.rules.division import Division, Requested
from gateway.rules.far_answers import NotBelieved
from gateway.rules.other_versions import not_expressible
from gateway.rules.volume_items import CLIENT_METRICS_RESOURCE, GROUP_RESOURCE
from gateway.views.subscription_names import spell_subscription
from protocol.entities import Kind
from protocol.messages import made
from protocol.pausing import eased, joined, let_go, paced
from protocol.primitives import compact_string, write_uvarint
from protocol.walkers import Span

_RESPONSE: Final = "ListConfigResourcesResponse"
_DESCRIBE_CONFIGS: Final = int(Operation.DESCRIBE_CONFIGS)
_KINDS: Final = frozenset(
    {
        *(TOPIC_RESOURCE, BROKER_RESOURCE, BROKER_LOGGER_RESOURCE),
        *(CLIENT_METRICS_RESOURCE, GROUP_RESOURCE),
    }
)
_CLIENT_METRICS: Final = frozenset({CLIENT_METRICS_RESOURCE})
_HEAD_BYTES: Final = 6
"""Throttle time and error code."""

_NO_TAGS: Final = b"\x00"


@dataclass(frozen=True, slots=True)
class _Listed(Kept):
    """Whether a request that was forwarded lists client metrics, too."""

    with_client_metrics: bool


def request(
    state: ConnectionState, exchange: Exchange, buf: bytes, start: int, end: int
) -> Outcome:
    """Answer a request for client metrics alone; forward any other request of a principal that may
    describe the cluster's configs. A broker rejects types that do not exist."""
    plan, body = exchange.plan, buf[start:end]
    spans = walking.request_spans(plan, buf, start, end)
    types = frozenset(value for kind, _, _, value in eased(spans) if kind == RESOURCE_TYPE)
    # Version 0 lists client metrics, and a list without a type every type.
    wanted = types or (_KINDS if plan.version else _CLIENT_METRICS)
    alone = wanted == _CLIENT_METRICS
    access = state.access
    denied = access.cluster(_DESCRIBE_CONFIGS)
    if alone:
        denied = administrators.cluster_or_home(access, _DESCRIBE_CONFIGS)
    if state.view.closed:
        return administrators.reject(state, exchange, body, administrators.STALE)
    if denied is not None and not alone:
        return administrators.reject(state, exchange, body, denied)
    if not exchange.refreshed:  # the catalog owns the names in the response
        return Refresh.CATALOG
    if not alone:
        exchange.flow = state.flow(plan.api_key, plan.version, b"")
        exchange.kept = _Listed(CLIENT_METRICS_RESOURCE in wanted)
        return []
    shown = [*_subscriptions(state)]
    if denied is not None and not shown:
        return administrators.reject(state, exchange, body, denied)
    exchange.flow = state.flow(plan.api_key, plan.version, b"")
    entries = (
        {"resource_name": name, "resource_type": CLIENT_METRICS_RESOURCE} for name in paced(shown)
    )
    return Answer(write_response(_RESPONSE, plan.version, "config_resources", entries))


def response(state: ConnectionState, exchange: Exchange, buf: bytes, start: int, end: int) -> bytes:
    """Restore the names that the view shows, and drop the others."""
    plan = exchange.plan
    spans = walking.response_spans(plan, buf, start, end)
    codes = [value for kind, _, _, value in eased(spans) if kind == Kind.ERROR_CODE]
    if state.view.closed:  # an empty list would read as if there were nothing
        codes = [administrators.STALE.code]
    count_errors(exchange, codes)
    if any(codes):
        return made(_RESPONSE, plan.version, {"error_code": codes[0]})
    # Edits of bytes: as objects, 100,000 resources take long to make and to free.
    shown: list[bytes | memoryview] = []
    for kind, name in _shown(state, spans):
        of_kind = kind.to_bytes(1, "big") if plan.version else b""
        shown.append(compact_string(name) + of_kind + _NO_TAGS)
    if isinstance(exchange.kept, _Listed) and exchange.kept.with_client_metrics:
        of_kind = CLIENT_METRICS_RESOURCE.to_bytes(1, "big")
        for each in _subscriptions(state):
            shown.append(compact_string(each.encode()) + of_kind + _NO_TAGS)
    let_go(spans)
    head = buf[start : start + _HEAD_BYTES] + write_uvarint(len(shown) + 1)
    shown.append(_NO_TAGS)
    return head + joined(shown)


def _shown(state: ConnectionState, spans: list[Span]) -> Iterator[tuple[int, bytes]]:
    """Type and the client's name of each resource of the broker that is shown."""
    name = b""
    for kind, _, _, value in eased(spans):
        if kind == RESOURCE_NAME:
            name = value
        if kind == RESOURCE_TYPE:
            shown = _name_shown(state, value, name)
            if shown is not None:
                yield value, shown


def _subscriptions(state: ConnectionState) -> Iterator[str]:
    """The subscriptions of the view that the client may describe, in its spelling."""
    view, access = state.view, state.access
    for name in paced(sorted(view.snapshot.client_metrics)):
        shown = spell_subscription(view, name)
        namespace = name.rpartition(DELIMITER)[0]
        if shown is not None and subscription_denial(access, _DESCRIBE_CONFIGS, namespace) is None:
            yield shown


def _node_id(name: bytes) -> int | None:
    """A node id as brokers write it, which has at most ten digits; None for anything else."""
    if len(name) > len(str(2**31)) or not name.isdigit():
        return None
    node_id = int(name)
    return node_id if str(node_id).encode() == name else None


def _name_shown(state: ConnectionState, kind: int, name: bytes) -> bytes | None:
    view = state.view
    if kind == TOPIC_RESOURCE:
        return view.listed(name)
    if kind == GROUP_RESOURCE:
        return view.id_to_client(name)
    if kind in (BROKER_RESOURCE, BROKER_LOGGER_RESOURCE):
        node_id = _node_id(name)
        if node_id is None or state.addresses.endpoint(node_id) is None:
            return None
        return str(virtual_node_id(state.worker.number, node_id)).encode()
    return None


# -- in a tree ------------------------------------------------------------------------------------


def _translated(request: Any, before: int, after: int, where: str) -> dict[str, object]:
    """Version 0 lists client metrics, which version 1 does by their type."""
    if before == 0:
        return {"resource_types": (CLIENT_METRICS_RESOURCE,)}
    if set(request.resource_types) != {CLIENT_METRICS_RESOURCE}:
        raise not_expressible(where, "which types to list")
    return {"resource_types": ()}


def _believed(asked: Any, response: Any, wanted: Requested) -> None:
    """Check that another gateway's response has topics and groups of its volume alone, and only
    types that were requested."""
    kinds = frozenset(getattr(asked, "resource_types", (CLIENT_METRICS_RESOURCE,))) or _KINDS
    of_group, literal = int(ResourceType.GROUP), int(PatternType.LITERAL)
    for one in paced(response.config_resources):
        kind, name = getattr(one, "resource_type", CLIENT_METRICS_RESOURCE), one.resource_name
        if kind not in kinds:
            raise NotBelieved(f"has a resource of type {kind}, which was not requested")
        if kind == TOPIC_RESOURCE:
            path = wanted.topic(name.encode())
        elif kind in (GROUP_RESOURCE, CLIENT_METRICS_RESOURCE):
            path = wanted.acl_pattern(of_group, literal, name)
        else:
            continue
        if path != wanted.path:
            raise NotBelieved("has a resource that is not below that mount")


API = Api(
    "ListConfigResources",
    (0, 1),
    Do.ABSENT,
    null=Do.FILTER,
    why="v0: client metrics alone",
    effect=Effect.DESCRIPTION,
    translated=_translated,
    division=Division(not_under_far_home=True, believed=_believed),
    request=request,
    response=response,
)
