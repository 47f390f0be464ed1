"""Every API that the gateway has decided, and the plans made of them."""

from __future__ import annotations

from importlib import import_module
from pkgutil import walk_packages
from typing import Final

import gateway.apis
from gateway.apis import generic
from gateway.apis.records import fetch, produce
from gateway.exchanges.api import APIS
from gateway.exchanges.exchange import Plan

__all__ = ["APIS", "PLANS", "any_plan", "plan_of", "prepare"]

PLANS: Final[dict[int, Plan]] = {}
"""Plans made so far, by key: ``api_key << 16 | version``."""

# Each module of a folder of ``gateway.apis`` declares its APIs when it is imported.
for _module in walk_packages(gateway.apis.__path__, f"{gateway.apis.__name__}."):
    import_module(_module.name)
for _key in sorted(APIS):  # their order is that of the keys, whatever the modules are called
    APIS[_key] = APIS.pop(_key)


def plan_of(api_key: int, version: int) -> Plan | None:
    """The plan of one API at one version; None when the gateway has not decided it."""
    plan = PLANS.get(api_key << 16 | version)
    return plan if plan is not None else _make(api_key, version)


def _make(api_key: int, version: int) -> Plan | None:
    api = APIS.get(api_key)
    if api is None or not api.first <= version <= api.last:
        return None
    on_request, on_response = api.request or generic.request, api.response or generic.response
    plan = Plan(api, version, on_request, on_response, plan_of)
    PLANS[plan.key] = plan
    return plan


def prepare() -> None:
    """Make the plans of Produce and Fetch, so that no client's first record waits for them.

    A plan takes some milliseconds: kio's module is loaded and walkers are generated.
    """
    for api in (produce.API, fetch.API):
        for version in range(api.first, api.last + 1):
            plan_of(api.key, version)


def any_plan() -> Plan:
    """Some plan: for an exchange that is answered here and whose plan is never asked."""
    plan = plan_of(18, 0)
    assert plan is not None
    return plan
