"""Settings of namespaces: set, inherited, described, and sent to no broker."""

from __future__ import annotations

import pytest

from gateway.changes.base.rejected import Rejected
from gateway.changes.base.resources import APPEND, DEFAULT, DELETE, SET, Operation
from gateway.changes.base.virtual_configs import AUTO_CREATE, DOCUMENTATION, NUM_PARTITIONS
from gateway.changes.namespaces.namespace_settings import (
    altered_settings,
    read_setting,
    wrong_setting,
)
from gateway.error_codes import INVALID_CONFIG, INVALID_REQUEST
from tests.changes.admin_requests import create
from tests.changes.config_requests import alter, describe, replace_configs
from tests.changes.fakes import FakeGateway, World


@pytest.fixture
def gateway() -> FakeGateway:
    return World(["org:inner"]).gateway()


async def increment(gateway: FakeGateway, name: str, put: dict[str, str]) -> tuple[int, str]:
    """Error code and message of setting these configs."""
    code, message = await alter(gateway, name, [(key, SET, put[key]) for key in put])
    return code, message or ""


def own(gateway: FakeGateway, path: str = "org") -> dict[str, str]:
    return dict(gateway.catalog.snapshot.namespaces[path].settings)


@pytest.mark.parametrize(
    ("key", "value", "kept"),
    [
        (AUTO_CREATE, "true", "true"),
        (AUTO_CREATE, " FALSE ", "false"),
        (NUM_PARTITIONS, "3", "3"),
        (NUM_PARTITIONS, "010", "10"),
        (NUM_PARTITIONS, "10000", "10000"),
    ],
)
def test_good_values(key: str, value: str, kept: str) -> None:
    assert read_setting(key, value) == kept


@pytest.mark.parametrize(
    ("key", "value"),
    [
        (AUTO_CREATE, "yes"),
        (AUTO_CREATE, ""),
        (AUTO_CREATE, None),
        (NUM_PARTITIONS, "0"),
        (NUM_PARTITIONS, "-1"),
        (NUM_PARTITIONS, "10001"),
        (NUM_PARTITIONS, "٣"),
        (NUM_PARTITIONS, "1" * 10_000),
        (NUM_PARTITIONS, "many"),
    ],
)
def test_bad_values(key: str, value: str | None) -> None:
    with pytest.raises(Rejected) as rejected:
        read_setting(key, value)
    assert rejected.value.why.code == INVALID_CONFIG
    assert key in rejected.value.why.message


def test_what_an_import_may_bring() -> None:
    assert wrong_setting(AUTO_CREATE, "true") is None
    for key, value in ((AUTO_CREATE, "maybe"), (NUM_PARTITIONS, "007"), ("gateway.x", "1")):
        assert key in (wrong_setting(key, value) or "")


def test_operations() -> None:
    present = {AUTO_CREATE: "true"}
    assert altered_settings(present, [Operation(NUM_PARTITIONS, SET, "2")]) == {
        AUTO_CREATE: "true",
        NUM_PARTITIONS: "2",
    }
    assert altered_settings(present, [Operation(AUTO_CREATE, DELETE)]) == {}
    for operations, code in (
        ([Operation(AUTO_CREATE, APPEND, "true")], INVALID_CONFIG),
        ([Operation(AUTO_CREATE, DELETE)] * 2, INVALID_REQUEST),
    ):
        with pytest.raises(Rejected) as rejected:
            altered_settings(present, operations)
        assert rejected.value.why.code == code


async def test_they_are_set_along_with_configs(gateway: FakeGateway) -> None:
    told = await increment(
        gateway, "org:", {AUTO_CREATE: "true", NUM_PARTITIONS: "2", "retention.ms": "5"}
    )
    assert told == (0, "")
    assert own(gateway) == {AUTO_CREATE: "true", NUM_PARTITIONS: "2"}
    assert gateway.catalog.snapshot.namespaces["org"].configs == {"retention.ms": "5"}
    assert "gateway." not in str(gateway.broker.asked)


async def test_a_bad_one_changes_nothing(gateway: FakeGateway) -> None:
    code, _ = await increment(gateway, "org:", {NUM_PARTITIONS: "none", "retention.ms": "5"})
    assert code == INVALID_CONFIG
    assert (own(gateway), gateway.catalog.snapshot.namespaces["org"].configs) == ({}, {})


async def test_they_are_inherited(gateway: FakeGateway) -> None:
    await increment(gateway, "org:", {AUTO_CREATE: "true", NUM_PARTITIONS: "2"})
    await increment(gateway, "org:inner:", {NUM_PARTITIONS: "4"})
    found = gateway.catalog.snapshot.effective_settings("org:inner")
    assert found == {AUTO_CREATE: ("true", "org"), NUM_PARTITIONS: ("4", "org:inner")}
    told = await describe(gateway, "org:inner:")
    assert (told[AUTO_CREATE], told[NUM_PARTITIONS]) == (("true", DEFAULT), ("4", DEFAULT))


async def test_who_writes_back_the_whole_changes_nothing(gateway: FakeGateway) -> None:
    await increment(gateway, "org:", {AUTO_CREATE: "true", "retention.ms": "5"})
    before = gateway.catalog.snapshot.namespaces["org"]
    configs: dict[str, str | None] = {AUTO_CREATE: "true", "retention.ms": "5"}
    assert await replace_configs(gateway, [("org:", configs)]) == [(0, None)]
    assert gateway.catalog.snapshot.namespaces["org"] == before
    assert await replace_configs(gateway, [("org:", {"retention.ms": "5"})]) == [(0, None)]
    assert own(gateway) == {}


async def test_a_namespace_may_be_created_with_them(gateway: FakeGateway) -> None:
    configs: dict[str, str | None] = {AUTO_CREATE: "false", "retention.ms": "5"}
    (told,) = await create(gateway, "new:deep:", configs=configs)
    assert told.code == 0, told.message
    assert (own(gateway, "new"), own(gateway, "new:deep")) == ({}, {AUTO_CREATE: "false"})


@pytest.mark.parametrize("key", [AUTO_CREATE, NUM_PARTITIONS])
async def test_topics_have_none(gateway: FakeGateway, key: str) -> None:
    await create(gateway, "org:t")
    (rejected,) = await create(gateway, "org:u", configs={key: "1"})
    for code, message in (
        await increment(gateway, "org:t", {key: "1"}),
        (rejected.code, rejected.message),
    ):
        assert code == INVALID_CONFIG
        assert "is a config of namespaces" in message
    assert key not in await describe(gateway, "org:t")
    assert key in DOCUMENTATION
