"""Subscriptions of client metrics: limits, the catalog's format, and what happens in between.

What a broker does with configs is in tests/scenarios and
``tests/live/operations/test_client_metrics.py``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from gateway.catalog.entities import CatalogFormat, ClientMetrics, Gateway, Namespace
from gateway.changes.configs.alter_client_metrics import incremental_alter_client_metrics
from gateway.changes.configs.describe_client_metrics import describe_client_metrics
from gateway.error_codes import (
    CLUSTER_AUTHORIZATION_FAILED,
    INVALID_CONFIG,
    INVALID_REQUEST,
    POLICY_VIOLATION,
    REQUEST_TIMED_OUT,
)
from gateway.views.access import Access
from gateway.views.authorized_access import AuthorizedAccess
from protocol import messages
from tests.changes.fakes import FakeGateway, World, allowed, once
from tests.scenarios.entities import entity
from tests.session.allowing import Allowing

METRICS = {"metrics": "a."}
OLD = Gateway("gw-old", 5, "0.1")


@pytest.fixture
def world() -> World:
    return World(["org:apache", "team-a", "team-b"])


async def altered(
    gateway: FakeGateway,
    wanted: Mapping[str, Mapping[str, str | None]],
    *,
    access: Access | None = None,
    validate_only: bool = False,
) -> list[tuple[int, str | None]]:
    """Error code and message of each subscription; None deletes a config."""
    resources = [
        {
            "resource_type": 16,
            "resource_name": name,
            "configs": [
                {"name": key, "config_operation": int(value is None), "value": value}
                for key, value in configs.items()
            ],
        }
        for name, configs in wanted.items()
    ]
    cls = messages.message_class("IncrementalAlterConfigsRequest", 1)
    asked = entity(cls, {"resources": resources, "validate_only": validate_only})
    found = await incremental_alter_client_metrics(
        gateway.context, access or allowed(gateway), 1, messages.write(asked)
    )
    response = messages.parse("IncrementalAlterConfigsResponse", 1, found.body)
    return [(int(one.error_code), one.error_message) for one in response.responses]


async def codes(gateway: FakeGateway, *names: str, **more: Any) -> list[int]:
    return [code for code, _ in await altered(gateway, dict.fromkeys(names, METRICS), **more)]


def granted(gateway: FakeGateway, *rights: str) -> Access:
    return AuthorizedAccess(gateway.view(), "User:alice", "127.0.0.1", Allowing(rights))


# -- the catalog's format --------------------------------------------------------------------------


async def test_the_first_one_raises_the_format(world: World) -> None:
    gateway = world.gateway()
    world.log.append([CatalogFormat(5), Gateway("gw-new", 6, "0.2")])
    assert await codes(gateway, "lag", validate_only=True) == [0]
    assert world.snapshot.format == 5
    assert await codes(gateway, "lag") == [0]
    assert (world.snapshot.format, set(world.snapshot.client_metrics)) == (6, {"lag"})


async def test_a_gateway_that_cannot_read_it_keeps_it_away(world: World) -> None:
    gateway = world.gateway()
    world.log.append([CatalogFormat(5), OLD])
    for validate_only in (True, False):
        ((code, text),) = await altered(gateway, {"lag": METRICS}, validate_only=validate_only)
        assert code == INVALID_REQUEST
        assert text == (
            "Subscriptions of client metrics need format 6 of the catalog, which not every gateway"
            " that takes part can read; an operator upgrades those first."
        )
    assert (world.snapshot.format, world.snapshot.client_metrics) == (5, {})


async def test_what_makes_no_subscription_raises_no_format(world: World) -> None:
    gateway = world.gateway()
    world.log.append([CatalogFormat(5)])
    nothing = granted(gateway)
    assert await codes(gateway, "lag", access=nothing) == [CLUSTER_AUTHORIZATION_FAILED]
    wrong = await altered(gateway, {"lag": {"interval.ms": "soon"}, "none": {"metrics": None}})
    assert [code for code, _ in wrong] == [INVALID_CONFIG, 0]
    assert (world.snapshot.format, world.snapshot.client_metrics) == (5, {})


# -- limits ----------------------------------------------------------------------------------------


async def test_an_outermost_namespace_holds_a_hundred_with_all_below(world: World) -> None:
    gateway = world.gateway()
    names = [f"org:apache:m{number}" for number in range(60)]
    assert set(await codes(gateway, *names)) == {0}
    found = await codes(gateway, *(f"org:m{number}" for number in range(45)))
    assert found == [0] * 40 + [POLICY_VIOLATION] * 5
    assert await codes(gateway, "org:m1", "org:new", "team-a:m", "m") == [0, POLICY_VIOLATION, 0, 0]
    gone = await altered(gateway, {"org:m1": {"metrics": None}, "org:new": METRICS})
    assert [code for code, _ in gone] == [0, 0], "one goes, and another one comes"


async def test_the_default_namespace_counts_by_itself(world: World) -> None:
    gateway = world.gateway()
    world.log.append([ClientMetrics(f"m{number}", METRICS) for number in range(99)])
    assert await codes(gateway, "m99", "m100", "org:m") == [0, POLICY_VIOLATION, 0]


async def test_a_catalog_holds_a_thousand(world: World) -> None:
    paths = [f"t{number}" for number in range(11)]
    world.log.append(list(map(Namespace, paths)))
    world.log.append(
        [ClientMetrics(f"{path}:m{number}", METRICS) for path in paths[:9] for number in range(100)]
    )
    gateway = world.gateway()
    names = [f"t9:m{number}" for number in range(99)]
    assert set(await codes(gateway, *names)) == {0}
    found = await altered(gateway, {"t10:a": METRICS, "t10:b": METRICS})
    assert found[0] == (0, None)
    assert found[1][0] == POLICY_VIOLATION
    assert (
        found[1][1] == "A catalog holds at most 1,000 subscriptions of client metrics; delete some."
    )


async def test_long_values_are_rejected_together(world: World) -> None:
    gateway = world.gateway()
    long = {"metrics": "m" * 32_000, "match": f"client_id={'a' * 900}"}
    found = await altered(gateway, {"lag": long, "l" * 32_700: long})
    assert [code for code, _ in found] == [0, INVALID_CONFIG]


async def test_errors_that_quote_long_texts_fit_every_version(world: World) -> None:
    gateway = world.gateway()
    long = "x" * 32_000
    for version in (0, 1):
        cls = messages.message_class("IncrementalAlterConfigsRequest", version)
        configs = [{"name": long, "value": "a" * 32_000}]
        resources = [
            {"resource_type": 16, "resource_name": name, "configs": configs}
            for name in ("lag", f"{'t' * 32_000}:{'x' * 700}")
        ]
        asked = messages.write(entity(cls, {"resources": resources}))
        access = granted(gateway, "ALTER_CONFIGS TOPIC org:", "ALTER_CONFIGS CLUSTER kafka-cluster")
        for each in (access, granted(gateway)):
            found = await incremental_alter_client_metrics(gateway.context, each, version, asked)
            response = messages.parse("IncrementalAlterConfigsResponse", version, found.body)
            assert all(one.error_code for one in response.responses)


# -- namespaces ------------------------------------------------------------------------------------


async def test_a_namespace_that_is_being_deleted_holds_none(world: World) -> None:
    gateway = world.gateway()
    world.log.append([ClientMetrics("org:lag", METRICS), Namespace("org", deleting=1)])
    (found,) = await altered(gateway, {"org:apache:lag": METRICS})
    assert found == (
        INVALID_REQUEST,
        "InvalidNamespaceException: namespace 'org' is being deleted, so it can hold no client"
        " metrics.",
    )
    assert (await described(gateway, "org:lag"))["metrics"] == ("", 5)


async def described(gateway: FakeGateway, name: str) -> dict[str, tuple[str | None, int]]:
    cls = messages.message_class("DescribeConfigsRequest", 4)
    resource = {"resource_type": 16, "resource_name": name, "configuration_keys": None}
    asked = entity(cls, {"resources": [resource]})
    found = await describe_client_metrics(
        gateway.context, allowed(gateway), 4, messages.write(asked)
    )
    (result,) = messages.parse("DescribeConfigsResponse", 4, found.body).results
    return {one.name: (one.value, int(one.config_source)) for one in result.configs}


async def test_a_namespace_that_is_deleted_meanwhile_gets_none(world: World) -> None:
    """The catalog's writer decides on the newest state."""
    world.log.append([CatalogFormat(6)])
    gateway = world.gateway()
    world.step = once("change", lambda: world.log.append([Namespace("org", deleting=1)]))
    assert await codes(gateway, "org:lag") == [INVALID_REQUEST]
    assert "change" in world.steps
    assert world.snapshot.client_metrics == {}


async def test_what_one_gateway_makes_another_describes(world: World) -> None:
    one, other = world.gateway(), world.gateway()
    assert await codes(one, "team-a:lag") == [0]
    assert (await described(other, "team-a:lag"))["metrics"] == ("a.", 7)


async def test_a_catalog_that_is_away_is_retriable(world: World) -> None:
    gateway = world.gateway()
    gateway.catalog.down = True
    assert await codes(gateway, "lag", "other") == [REQUEST_TIMED_OUT, REQUEST_TIMED_OUT]


async def test_the_audit_log_gets_denials_by_name(world: World) -> None:
    gateway = world.gateway()
    cls = messages.message_class("IncrementalAlterConfigsRequest", 1)
    resources = [{"resource_type": 16, "resource_name": name} for name in ("team-a:x", "team-b:x")]
    found = await incremental_alter_client_metrics(
        gateway.context,
        granted(gateway, "ALTER_CONFIGS TOPIC team-a:"),
        1,
        messages.write(entity(cls, {"resources": resources})),
    )
    ((name, why),) = found.denied
    assert (name, why.code) == ("team-b:x", CLUSTER_AUTHORIZATION_FAILED)
    assert (why.operation, why.resource) == ("ALTER_CONFIGS", "TOPIC team-b:")
