"""ApiVersions (API 18, KIP-511): forwarded; the response is cut to the versions that the gateway
serves.

A request names no topic and needs no operation. The client's software name and version go into the
traffic log. An unknown version gets the response of version 0.
"""

from __future__ import annotations

from gateway.apis import walking
from gateway.error_codes import INVALID_REQUEST, UNSUPPORTED_VERSION
from gateway.exchanges.api import APIS, Api
from gateway.exchanges.exchange import Answer, Exchange, Outcome
from gateway.exchanges.state import ConnectionState
from gateway.exchanges.tree import Tree
from gateway.rules import api_versions
from gateway.rules.declaration import Do, Effect
from protocol.splice import Edit


def request(
    state: ConnectionState, exchange: Exchange, buf: bytes, start: int, end: int
) -> Outcome:
    """Forward the request unchanged; the broker rejects a malformed software name."""
    plan = exchange.plan
    walking.request_spans(plan, buf, start, end)
    valid = True
    try:
        name, version = api_versions.client_software(plan.version, buf[start:end])
    except api_versions.InvalidClientSoftware:
        name, version = api_versions.UNKNOWN_SOFTWARE
        valid = False
    if (name, version) != (state.source.software_name, state.source.software_version):
        state.note_software(name, version)
    exchange.flow = state.flow(plan.api_key, plan.version, b"")
    return [] if state.tree is None else Answer(_in_tree(state.tree, plan.version, valid=valid))


def response(
    state: ConnectionState, exchange: Exchange, buf: bytes, start: int, end: int
) -> list[Edit] | bytes:
    """Cut the broker's APIs and versions to the versions that the gateway serves."""
    return api_versions.cut(exchange.plan.version, buf[start:end], APIS)


def _in_tree(tree: Tree, version: int, *, valid: bool) -> bytes:
    """The response of a node in a tree, made without the broker."""
    return tree.api_versions(version) if valid else api_versions.rejected(version, INVALID_REQUEST)


def _unsupported(version: int, body: bytes, code: int) -> bytes | None:
    """The response to an unknown version, in the form of version 0 (KIP-511)."""
    return api_versions.unsupported_version() if code == UNSUPPORTED_VERSION else None


API = Api(
    "ApiVersions",
    api_versions.OWN_VERSIONS,
    Do.FORWARD,
    effect=Effect.LOOKUP,
    rejection=_unsupported,
    request=request,
    response=response,
)
