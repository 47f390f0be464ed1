"""DescribeConfigs: a topic's own configs, the configs that it inherits, and a namespace's
configs."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gateway.acl_model import CLUSTER
from gateway.catalog.entities import PrincipalHome
from gateway.views.authorized_access import AuthorizedAccess
from protocol.pausing import EVERY, on_pause
from tests.changes.config_requests import (
    TOPIC,
    alter,
    describe,
    describe_all,
    moving,
    setting,
)
from tests.changes.fake_broker import DEFAULTS
from tests.changes.fakes import FakeGateway, World
from tests.changes.judges import judge
from tests.session.allowing import Allowing

OWN, INHERITED, DEFAULT = 1, 3, 5
BY_DEFAULT = "producer.acks=upgrade (the default); producer.idempotence=observe (the default)"


@pytest.fixture
def world() -> World:
    world = World(["org:apache:kafka", "org:gnu", "team-a:sub"])
    world.broker.make("orders", "org..x", "org.apache..y", "team-a..x")
    return world


@pytest.fixture
async def gateway(world: World) -> FakeGateway:
    gateway = world.gateway()
    await alter(gateway, "org:", setting(retention_ms="1", segment_bytes="1"))
    await alter(gateway, "org:apache:", setting(retention_ms="2"))
    await alter(gateway, "org:x", setting(retention_ms="3"))
    return gateway


async def test_own_and_inherited_configs_of_a_topic(gateway: FakeGateway) -> None:
    told = await describe(gateway, "org:x")
    assert told["retention.ms"] == ("3", OWN)
    assert told["segment.bytes"] == ("1", INHERITED)
    assert told["cleanup.policy"] == ("delete", DEFAULT)
    assert told["gateway.namespace"] == ("org", DEFAULT)
    assert told.keys() == {*DEFAULTS, "gateway.namespace", "gateway.policies"}
    told = await describe(gateway, "org.apache..y")
    assert told["retention.ms"] == ("2", INHERITED)
    assert told["gateway.namespace"] == ("org:apache", DEFAULT)
    told = await describe(gateway, "orders")
    assert told.keys() == DEFAULTS.keys()


async def test_synonyms_tell_what_it_falls_back_to(gateway: FakeGateway) -> None:
    resources = [(TOPIC, name, None) for name in ("org:x", "org:apache:y", "org:apache:")]
    results = await describe_all(gateway, resources, synonyms=True)
    layers = [
        [(s.name, s.value, s.source) for s in config.synonyms]
        for result in results
        for config in result.configs
        if config.name == "retention.ms"
    ]
    by_default = ("log.retention.ms", DEFAULTS["retention.ms"], DEFAULT)
    assert layers == [
        [("retention.ms", "3", OWN), ("retention.ms", "1", INHERITED), by_default],
        [("retention.ms", "2", INHERITED), by_default],
        [("retention.ms", "2", OWN), ("retention.ms", "1", INHERITED), by_default],
    ]
    for result in await describe_all(gateway, resources):
        assert not any(config.synonyms for config in result.configs)


async def test_own_and_inherited_configs_of_a_namespace(gateway: FakeGateway) -> None:
    for name in ("org:apache:", "org.apache.."):
        told = await describe(gateway, name)
        assert told["retention.ms"] == ("2", OWN)
        assert told["segment.bytes"] == ("1", INHERITED)
        assert told["cleanup.policy"] == ("delete", DEFAULT)
        assert told["gateway.namespaces"] == ("org:apache:kafka", DEFAULT)
        assert told["gateway.topics"] == ("1", DEFAULT)
        virtual = {"gateway.namespaces", "gateway.topics", "gateway.policies"}
        assert told.keys() == {*DEFAULTS, *virtual}
    told = await describe(gateway, "org:apache:kafka:")
    assert told["retention.ms"] == ("2", INHERITED)
    told = await describe(gateway, "org:")
    assert told["gateway.namespaces"] == ("org:apache,org:gnu", DEFAULT)


@pytest.mark.parametrize("home", ["", "org"])
async def test_how_a_listener_writes_names_needs_no_right(gateway: FakeGateway, home: str) -> None:
    """Commands request this first, and a denial would be logged for each of them."""
    access = AuthorizedAccess(gateway.view(home), "User:bob", "127.0.0.1", Allowing([]))
    keys = ("gateway.spelling", "gateway.authorization")
    (result,) = await describe_all(gateway, [(TOPIC, ":", keys)], access=access)
    assert int(result.error_code) == 0
    assert [(one.name, one.value) for one in result.configs] == [
        ("gateway.spelling", "colon"),
        ("gateway.authorization", "true"),
    ]
    told = await describe(gateway, ":")
    assert told["gateway.authorization"] == ("false", DEFAULT)
    assert "gateway.spelling" not in await describe(gateway, "org:")
    if home:
        more = [(TOPIC, ":", (*keys, "retention.ms"))]
        (result,) = await describe_all(gateway, more, access=access)
        assert int(result.error_code) == 29


async def test_how_a_listener_writes_names_costs_nothing_else(gateway: FakeGateway) -> None:
    """Any client may request it, and every command does, so neither brokers nor namespaces are
    read."""
    keys = ("gateway.spelling", "gateway.authorization")
    await gateway.cluster.refresh()
    gateway.broker.down = True
    asked = len(gateway.broker.asked)
    (result,) = await describe_all(gateway, [(TOPIC, ":", keys)])
    assert (int(result.error_code), len(result.configs)) == (0, 2)
    assert len(gateway.broker.asked) == asked
    (result,) = await describe_all(gateway, [(TOPIC, ":", (*keys, "gateway.topics"))])
    assert int(result.error_code) != 0


async def test_others_are_served_while_many_namespaces_are_described() -> None:
    world = World([f"n{number}" for number in range(5_000)])
    world.broker.make(*(f"t{number}" for number in range(5_000)))
    gateway = world.gateway()
    pauses = 0

    def pause() -> None:
        nonlocal pauses
        pauses += 1

    on_pause(pause)
    try:
        told = await describe(gateway, ":")
    finally:
        on_pause(None)
    assert told["gateway.topics"] == ("5000", DEFAULT)
    # The tree is made of its namespaces and topics, and then the direct children are looked at.
    assert pauses >= 4 * 5_000 // EVERY


async def test_the_outermost_namespace(gateway: FakeGateway) -> None:
    told = await describe(gateway, ":")
    assert told["gateway.namespaces"] == ("org,team-a", DEFAULT)
    assert told["gateway.topics"] == ("1", DEFAULT)
    assert told["retention.ms"] == (DEFAULTS["retention.ms"], DEFAULT)
    told = await describe(gateway, ":", view=gateway.view("team-a"))
    assert told["gateway.namespaces"] == ("sub", DEFAULT)
    assert told["gateway.topics"] == ("1", DEFAULT)


@pytest.mark.parametrize(
    ("allowed", "told"),
    [
        ([], {"gateway.namespaces": ""}),
        (["DESCRIBE TOPIC org:gnu:"], {"gateway.namespaces": "org:gnu"}),
        (["DESCRIBE TOPIC org:"], {"gateway.namespaces": "", "gateway.topics": "1"}),
        ([f"DESCRIBE {CLUSTER}"], {"gateway.namespaces": "", "gateway.principals": "User:bob"}),
    ],
)
async def test_what_may_not_be_described_is_not_told(
    gateway: FakeGateway, allowed: list[str], told: dict[str, str]
) -> None:
    await gateway.catalog.change(lambda _: [PrincipalHome("User:bob", "org")])
    authorizer = Allowing(["DESCRIBE_CONFIGS TOPIC org:", *allowed])
    alice = AuthorizedAccess(gateway.view(), "User:alice", "127.0.0.1", authorizer)
    (result,) = await describe_all(gateway, [(TOPIC, "org:", None)], access=alice)
    found = {c.name: c.value for c in result.configs if c.name.startswith("gateway.")}
    # A client that may describe the configs of a namespace gets the values that policies require.
    assert found == {**told, "gateway.policies": BY_DEFAULT}


async def test_under_a_home_namespaces_are_relative(gateway: FakeGateway) -> None:
    home = gateway.view("org")
    assert (await describe(gateway, "x", view=home))["gateway.namespace"] == ("", DEFAULT)
    assert (await describe(gateway, "apache:y", view=home))["gateway.namespace"] == (
        "apache",
        DEFAULT,
    )
    told = await describe(gateway, "apache:", view=home)
    assert told["gateway.namespaces"] == ("apache:kafka", DEFAULT)
    escaping = gateway.view("team-a", escape=True)
    told = await describe(gateway, ":org:x", view=escaping)
    assert told["gateway.namespace"] == (":org", DEFAULT)
    (result,) = await describe_all(gateway, [(TOPIC, ":org:", None)], view=home)
    assert int(result.error_code) == 17


async def test_an_alias_out_of_a_home_does_not_tell_where_the_topic_is(
    gateway: FakeGateway,
) -> None:
    await alter(gateway, "team-a:x", moving("org:gnu", "z", "2030-01-01"))
    told = await describe(gateway, "x", view=gateway.view("team-a"))
    assert not told.keys() & {"gateway.namespace", "gateway.policies"}


async def test_which_policies_apply(world: World) -> None:
    gateway = world.gateway(
        judge(
            everywhere={"partitions": {"max": 12}},
            namespaces={"org": {"mode": "warn", "name_pattern": "[a-z]+"}},
        )
    )
    everywhere = "partitions.max=12 (policies.everywhere, enforce); "
    org = "name_pattern=[a-z]+ (policies.namespaces.org, warn); "
    observed = BY_DEFAULT.replace("upgrade", "observe")
    for name, told in (
        ("org:", everywhere + org + BY_DEFAULT),
        ("org:x", everywhere + org + BY_DEFAULT),
        ("org:apache:y", everywhere + org + BY_DEFAULT),
        ("team-a:", everywhere + BY_DEFAULT),
        ("orders", everywhere + observed),
        (":", everywhere + observed),
    ):
        assert (await describe(gateway, name))["gateway.policies"] == (told, DEFAULT), name
    home = gateway.view("team-a")
    assert "gateway.policies" in await describe(gateway, "x", view=home)


async def test_the_default_namespace_without_policies(gateway: FakeGateway) -> None:
    """For its topics, only the broker's configs are returned."""
    assert "gateway.policies" not in await describe(gateway, "orders")
    told = await describe(gateway, ":")
    assert told["gateway.policies"] == (BY_DEFAULT.replace("upgrade", "observe"), DEFAULT)


async def test_a_guarantee_is_told_in_the_default_namespace(world: World) -> None:
    gateway = world.gateway(judge(default_namespace={"producer": {"acks": "upgrade"}}))
    told = await describe(gateway, "orders")
    assert told["gateway.policies"] == (
        "producer.acks=upgrade (policies.default_namespace); "
        "producer.idempotence=observe (the default)",
        DEFAULT,
    )


async def test_policies_can_only_be_read(gateway: FakeGateway) -> None:
    for name in ("org:", "org:x"):
        code, message = await alter(gateway, name, setting(**{"gateway.policies": "none"}))
        assert (code, message) == (
            40,
            "'gateway.policies' is read-only: only the gateway sets it.",
        )


async def test_only_the_keys_that_are_asked_for(gateway: FakeGateway) -> None:
    results = await describe_all(
        gateway,
        [
            (TOPIC, "org:x", ("retention.ms",)),
            (TOPIC, "org:x", ("gateway.namespace",)),
            (TOPIC, "org..x", ("segment.bytes", "gateway.namespace", "no.such")),
            (TOPIC, "org:", ("gateway.topics", "retention.ms")),
            (TOPIC, "orders", ("gateway.namespace", "gateway.policies")),
            (TOPIC, "org:", ("gateway.policies",)),
        ],
    )
    assert [[config.name for config in result.configs] for result in results] == [
        ["retention.ms"],
        ["gateway.namespace"],
        ["segment.bytes", "gateway.namespace"],
        ["retention.ms", "gateway.topics"],
        [],
        ["gateway.policies"],
    ]
    assert "gateway." not in repr(gateway.broker.asked)


async def test_what_is_not_there(gateway: FakeGateway) -> None:
    results = await describe_all(
        gateway,
        [
            (TOPIC, "missing:", None),
            (TOPIC, "missing:x", None),
            (TOPIC, "org:z", None),
            (4, "1", None),
            (TOPIC, "org:x", None),
            (TOPIC, "a_b:", None),
        ],
    )
    assert [int(result.error_code) for result in results] == [3, 3, 3, 31, 0, 17]
    assert results[0].error_message == "Namespace 'missing' does not exist."
    assert results[1].error_message.startswith("InvalidNamespaceException: ")
    assert results[2].error_message == "Topic 'org:z' does not exist."


async def test_a_namespace_that_is_being_deleted(world: World, gateway: FakeGateway) -> None:
    world.log.append([replace(world.snapshot.namespaces["org"], deleting=1)])
    for name in ("org:", "org:apache:"):
        assert (await describe(gateway, name))["gateway.deleting"] == ("true", DEFAULT)
    assert "gateway.deleting" not in await describe(gateway, "team-a:")


async def test_what_has_yet_to_reach_the_broker_is_inherited(
    world: World, gateway: FakeGateway
) -> None:
    namespace = world.snapshot.namespaces["org:apache"]
    late = replace(namespace, configs={"retention.ms": "9"}, apply=("retention.ms",))
    world.log.append([late])
    assert (await describe(gateway, "org:apache:y"))["retention.ms"] == ("2", INHERITED)


@pytest.mark.parametrize("version", [1, 2, 3, 4])
async def test_every_version(gateway: FakeGateway, version: int) -> None:
    resources = [(TOPIC, "org:x", None), (TOPIC, "org:apache:", None)]
    topic, namespace = await describe_all(
        gateway, resources, version=version, documentation=version >= 3
    )
    for result in (topic, namespace):
        by_name = {config.name: config for config in result.configs}
        assert by_name["segment.bytes"].config_source == INHERITED
        if version < 3:
            continue
        assert by_name["retention.ms"].config_type == 5
        documented = by_name.keys() & {
            "gateway.namespace",
            "gateway.namespaces",
            "gateway.policies",
        }
        assert len(documented) == 2
        assert all(by_name[name].documentation for name in documented)
    assert (await describe_all(gateway, resources, version=version))[0].configs[
        0
    ].name == "cleanup.policy"


async def test_a_cluster_without_topics(world: World) -> None:
    gateway = world.gateway()
    await alter(gateway, "org:", setting(retention_ms="1"))
    world.broker.topics.clear()
    told = await describe(gateway, "org:")
    assert told["retention.ms"] == ("1", OWN)
    assert told["segment.bytes"] == (DEFAULTS["segment.bytes"], DEFAULT)


async def test_what_the_first_topic_sets_is_no_default(world: World, gateway: FakeGateway) -> None:
    world.broker.make("__kafka_gateway_catalog", cleanup_policy="compact")
    told = await describe(gateway, "team-a:")
    assert told["cleanup.policy"] == ("delete", DEFAULT)


async def test_without_the_broker(world: World, gateway: FakeGateway) -> None:
    world.broker.down = True
    results = await describe_all(gateway, [(TOPIC, "org:x", None), (TOPIC, "org:", None)])
    assert [int(result.error_code) for result in results] == [7, 7]
    assert "10.0.0.1" not in repr(results)


async def test_without_the_catalog_the_last_state_counts(gateway: FakeGateway) -> None:
    gateway.catalog.down = True
    assert (await describe(gateway, "org:x"))["retention.ms"] == ("3", OWN)
    gateway.catalog.fresh = False
    (result,) = await describe_all(gateway, [(TOPIC, "org:x", None)])
    assert int(result.error_code) == 7
