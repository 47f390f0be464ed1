"""Every API that the gateway serves, the plans of these APIs, and the answer to all other requests.

Each module in a folder of ``gateway.apis`` declares its APIs as constants of the type ``Api``. A
request for an undeclared API gets UNSUPPORTED_VERSION if Kafka has a response with an error code;
otherwise the connection ends.
"""

from __future__ import annotations

from importlib import import_module
from pkgutil import walk_packages
from struct import Struct
from typing import Final

import gateway.apis
from gateway.apis import generic
from gateway.apis.counting import PRODUCE
from gateway.apis.records import fetch, produce, produce_rejections
from gateway.error_codes import UNSUPPORTED_VERSION
from gateway.exchanges.api import APIS, Api, Around, declare
from gateway.exchanges.exchange import Exchange, Plan
from gateway.exchanges.state import ConnectionState
from gateway.exchanges.watch import WATCH
from gateway.rules.api_versions import unsupported_version
from protocol import messages
from protocol.errors import ProtocolError
from protocol.headers import read_request_header, response_header, response_header_version
from protocol.messages import has_field, make
from protocol.schema import API_NAMES, response_name

__all__ = [
    "APIS",
    "DIVIDED",
    "PLANS",
    "any_plan",
    "plan_of",
    "prepare",
    "put_around",
    "unsupported",
]

API_VERSIONS: Final = 18

UNKNOWN_API: Final = -1
UNKNOWN_VERSION: Final = -1
"""Counted in place of numbers that a client could choose freely: flows must stay few."""

PLANS: Final[dict[int, Plan]] = {}
"""Plans made so far, by key: ``api_key << 16 | version``."""

_AROUND: Final[list[Around]] = []
"""Handlers that a tree and a fleet have put around those of every API."""

_HEAD: Final = Struct(">hhih")


def _declare_all() -> None:
    """Import every module of ``gateway.apis`` and declare the APIs found, in the order of keys."""
    found: dict[int, Api] = {}
    for module in walk_packages(gateway.apis.__path__, f"{gateway.apis.__name__}."):
        if module.name != __name__:
            constants = vars(import_module(module.name)).values()
            found |= {id(each): each for each in constants if isinstance(each, Api)}
    for api in sorted(found.values(), key=lambda each: each.key):
        declare(api)


_declare_all()

DIVIDED: Final = frozenset(api.key for api in APIS.values() if api.division is not None)
"""The keys of the APIs whose requests divide by volume in a tree."""


def put_around(around: Around) -> None:
    """Put handlers around those of every API, in all plans that are made from now on. If they are
    there already, nothing changes."""
    if around not in _AROUND:
        _AROUND.append(around)
        _AROUND.sort(key=_place)
        PLANS.clear()


def _place(around: Around) -> int:
    return around.place


def plan_of(api_key: int, version: int) -> Plan | None:
    """The plan of an API at a version; None when the gateway does not serve the version."""
    plan = PLANS.get(api_key << 16 | version)
    return plan if plan is not None else _make(api_key, version)


def _make(api_key: int, version: int) -> Plan | None:
    api = APIS.get(api_key)
    if api is None or not api.first <= version <= api.last:
        return None
    on_request, on_response = api.request or generic.request, api.response or generic.response
    for around in _AROUND:
        on_request = around.request_of(api, version, on_request)
        on_response = around.response_of(api, version, on_response)
    plan = Plan(api, version, on_request, on_response, plan_of, api.on_change)
    PLANS[plan.key] = plan
    watch = WATCH.made
    if watch is not None:
        watch(plan)
    return plan


def prepare() -> None:
    """Make the plans of Produce and Fetch, so that no client's first record waits for them.

    A plan takes some milliseconds: kio's module is loaded and walkers are generated.
    """
    for api in (produce.API, fetch.API):
        for version in api.versions:
            plan_of(api.key, version)


def any_plan() -> Plan:
    """A plan for an exchange that the gateway answers, where any plan will do."""
    plan = plan_of(API_VERSIONS, 0)
    assert plan is not None
    return plan


def unsupported(
    state: ConnectionState, exchange: Exchange, buf: bytes, start: int, end: int
) -> bytes:
    """The whole payload (header and body) that answers a request without a plan; it is counted.

    ``start`` is the position of the request's header. Empty for a Produce request without a
    response. Raises ProtocolError, which ends the connection, for an API or version that Kafka 4.3
    does not know either, or whose response has no error code of its own.
    """
    api_key, version, correlation_id, client_id_size = _HEAD.unpack_from(buf, start)
    flow = state.flow(api_key if api_key in API_NAMES else UNKNOWN_API, UNKNOWN_VERSION, b"")
    exchange.flow = flow
    flow.errors[UNSUPPORTED_VERSION] = flow.errors.get(UNSUPPORTED_VERSION, 0) + 1
    if api_key == API_VERSIONS:
        # KIP-511: a client that is too new gets version 0, which every client can parse.
        return response_header(correlation_id, 0) + unsupported_version()
    if api_key == PRODUCE and version in produce_rejections.OLD_VERSIONS:
        body_at, header_version = start + _HEAD.size + max(client_id_size, 0), 0
        body = produce_rejections.reject_old(version, buf[body_at:end], UNSUPPORTED_VERSION)
    else:
        read_request_header(buf, start, end)
        header_version = response_header_version(api_key, version)
        body = _unsupported_body(api_key, version)
    return response_header(correlation_id, header_version) + body if body else b""


def _unsupported_body(api_key: int, version: int) -> bytes:
    try:
        response = messages.message_class(response_name(api_key), version)
    except (ProtocolError, LookupError):
        response = None
    if response is None or not has_field(response, "error_code"):
        raise ProtocolError(f"API key {api_key} version {version} is not served here")
    message = f"This gateway does not serve API key {api_key} version {version}."
    values: dict[str, object] = {"error_code": UNSUPPORTED_VERSION, "error_message": message}
    return messages.write(make(response, values))
