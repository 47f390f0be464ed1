"""GetTelemetrySubscriptions (API 71) and PushTelemetry (API 72), KIP-714.

The gateway answers both itself, wherever the client is connected: brokers see all clients of a
gateway as one. A client needs no right, as in Kafka. What it is to push is what the subscriptions
of its home request (``gateway.client_metrics``); in a tree, its home in the listener's volume.
"""

from __future__ import annotations

import datetime
from functools import partial
from typing import Any, Final
from uuid import UUID, uuid4

from gateway.apis import walking
from gateway.client_metrics import Client, Requested, requested
from gateway.counts import namespace_label
from gateway.error_codes import NONE, REQUEST_TIMED_OUT
from gateway.exchanges.api import Api
from gateway.exchanges.exchange import Answer, Exchange, Outcome, Plan, Work
from gateway.exchanges.state import ConnectionState
from gateway.exchanges.tree import Tree, VolumeUnreachable
from gateway.rules.declaration import Do
from gateway.telemetry.instances import ACCEPTED, RESERVED, InstanceKey, Owner, Push
from gateway.telemetry.limits import MAX_BYTES
from gateway.telemetry.telemetry import Pusher, instance_text
from protocol import messages
from protocol.messages import made

_GET: Final = "GetTelemetrySubscriptions"
_PUSH: Final = "PushTelemetry"
_NO_ID: Final = bytes(16)
_UNKNOWN: Final = "unknown"
"""Kafka's name for the software of a client that has not sent ApiVersions."""


def get_subscriptions(
    state: ConnectionState, exchange: Exchange, buf: bytes, start: int, end: int
) -> Outcome:
    """Respond with the metrics that the client is to push, and how often."""
    body, version = _begun(state, exchange, buf, start, end), exchange.plan.version
    instance_id = _instance_id(messages.parse(f"{_GET}Request", version, body))
    if instance_id == _NO_ID:
        instance_id = _new_id()
    if state.view.closed:
        return _error(_GET, version, REQUEST_TIMED_OUT)
    wanted = _requested(state, _client(state, instance_id))
    if not wanted.metrics:
        return Answer(_subscription(version, instance_id, wanted))
    telemetry, key = state.worker.telemetry, _key(state, instance_id)

    async def run() -> bytes:
        code = telemetry.get(key, wanted)
        if code:
            return made(f"{_GET}Response", version, {"error_code": code})
        return _subscription(version, instance_id, wanted)

    # Not here, because a request may be decided several times, and the second would be too early.
    return Work(run)


def push(state: ConnectionState, exchange: Exchange, buf: bytes, start: int, end: int) -> Outcome:
    """Check a push, and keep its metrics."""
    body, version = _begun(state, exchange, buf, start, end), exchange.plan.version
    asked = messages.parse(f"{_PUSH}Request", version, body)
    if state.view.closed:
        return _error(_PUSH, version, REQUEST_TIMED_OUT)
    instance_id, metrics = _instance_id(asked), bytes(asked.metrics or b"")
    telemetry, key = state.worker.telemetry, _key(state, instance_id)
    client = _client(state, instance_id)
    wanted = _requested(state, client)
    pushed = Push(asked.subscription_id, asked.compression_type, len(metrics), asked.terminating)
    if not wanted.metrics:
        return _error(_PUSH, version, telemetry.check(key, wanted, pushed))
    pusher = Pusher(key, client, namespace_label(state.source.place, key.owner.home))

    async def run() -> bytes:
        code = await telemetry.take(pusher, wanted, pushed, metrics)
        return made(f"{_PUSH}Response", version, {"error_code": code})

    return Work(run)


def _begun(state: ConnectionState, exchange: Exchange, buf: bytes, start: int, end: int) -> bytes:
    """The body of a request that is counted, and whose fields are where they should be."""
    plan = exchange.plan
    walking.request_spans(plan, buf, start, end)
    exchange.flow = state.flow(plan.api_key, plan.version, b"")
    return buf[start:end]


def _key(state: ConnectionState, instance_id: bytes) -> InstanceKey:
    home = state.view.settings.home
    listener, cluster = state.source.listener, state.worker.place.cluster
    return InstanceKey(Owner(cluster, listener, home, state.identity.principal), instance_id)


def _client(state: ConnectionState, instance_id: bytes) -> Client:
    """The client as subscriptions match it."""
    source = state.source
    address, _, port = source.client_address.rpartition(":")
    return Client(
        instance_id,
        None if state.client_id is None else source.client_id,
        source.software_name or _UNKNOWN,
        source.software_version or _UNKNOWN,
        state.host or address.strip("[]"),
        int(port) if port.isdecimal() else 0,
    )


def _requested(state: ConnectionState, client: Client) -> Requested:
    view = state.view
    return requested(view.snapshot.subscriptions_of(view.settings.home), client)


def _subscription(version: int, instance_id: bytes, wanted: Requested) -> bytes:
    values = {
        "client_instance_id": UUID(bytes=instance_id),
        "subscription_id": wanted.subscription_id,
        "accepted_compression_types": ACCEPTED,
        "push_interval": datetime.timedelta(milliseconds=wanted.interval_ms),
        "telemetry_max_bytes": MAX_BYTES,
        # Prometheus counts from the beginning.
        "delta_temporality": False,
        "requested_metrics": wanted.metrics,
    }
    return made(f"{_GET}Response", version, values)


def _instance_id(asked: Any) -> bytes:
    given: UUID | None = asked.client_instance_id
    return _NO_ID if given is None else given.bytes


def _new_id() -> bytes:
    """A random id. As Kafka's, it begins with no dash, so that tools do not take it for an
    option."""
    while True:
        new = uuid4().bytes
        if new not in RESERVED and not instance_text(new).startswith("-"):
            return new


def _error(api: str, version: int, code: int) -> Answer:
    return Answer(made(f"{api}Response", version, {"error_code": code}))


# -- in a tree -------------------------------------------------------------------------------------


def in_tree(tree: Tree, mount: str, plan: Plan, body: bytes) -> Outcome | None:
    """Every node answers by the subscriptions of the listener's volume. If another gateway has that
    volume, nothing is requested: its subscriptions are for its own clients."""
    if tree.own == mount:
        return None
    if tree.own in tree.reach():
        return Work(partial(_in_own_volume, tree, plan, body))
    if plan.api.name == _PUSH:
        return _error(_PUSH, plan.version, NONE)
    asked = _instance_id(messages.parse(f"{_GET}Request", plan.version, body))
    instance_id = _new_id() if asked == _NO_ID else asked
    nothing = requested((), Client(instance_id, "", "", "", "", 0))
    return Answer(_subscription(plan.version, instance_id, nothing))


async def _in_own_volume(tree: Tree, plan: Plan, body: bytes) -> bytes:
    try:
        return await tree.ask(tree.own, plan.api_key, plan.version, body)
    except VolumeUnreachable:
        return _error(plan.api.name, plan.version, REQUEST_TIMED_OUT).body


GET_TELEMETRY_SUBSCRIPTIONS = Api(
    _GET,
    (0, 0),
    Do.ANSWER,
    why="subscriptions of the client's home (KIP-714)",
    # The subscriptions that a client may match are many, not its request.
    small_request=0,
    request=get_subscriptions,
    in_tree=in_tree,
)
PUSH_TELEMETRY = Api(
    _PUSH,
    (0, 0),
    Do.ANSWER,
    why="kept by the gateway, for Prometheus",
    # What is short when packed may take long.
    small_request=0,
    request=push,
    in_tree=in_tree,
)
