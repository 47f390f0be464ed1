"""AlterConfigs and IncrementalAlterConfigs as a client sees them: each resource gets a result."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.changes.config_requests import (
    APPEND,
    SET,
    SUBTRACT,
    TOPIC,
    Change,
    alter,
    alter_all,
    broker_configs,
    deleting,
    describe,
    moving,
    own_keys,
    replace_configs,
    setting,
)
from tests.changes.fakes import FakeGateway, World

DONE = (0, None)


async def test_a_namespace_s_configs_reach_the_topics_below(
    world: World, gateway: FakeGateway
) -> None:
    assert await alter(gateway, "org:", setting(retention_ms="1000")) == DONE
    assert world.snapshot.namespaces["org"].configs == {"retention.ms": "1000"}
    assert world.snapshot.namespaces["org"].apply == ()
    assert broker_configs(world, "org..x") == {"retention.ms": "1000"}
    assert broker_configs(world, "org.apache..y") == {"retention.ms": "1000"}
    assert broker_configs(world, "orders") == broker_configs(world, "team-a..x") == {}
    assert world.snapshot.topics == {}
    assert await alter(gateway, "org..", deleting("retention.ms")) == DONE
    assert world.snapshot.namespaces["org"].configs == {}
    assert broker_configs(world, "org..x") == broker_configs(world, "org.apache..y") == {}


async def test_the_innermost_namespace_wins_and_falls_back(
    world: World, gateway: FakeGateway
) -> None:
    await alter(gateway, "org:apache:", setting(retention_ms="2"))
    await alter(gateway, "org:", setting(retention_ms="1", segment_bytes="9"))
    assert broker_configs(world, "org..x") == {"retention.ms": "1", "segment.bytes": "9"}
    assert broker_configs(world, "org.apache..y") == {"retention.ms": "2", "segment.bytes": "9"}
    await alter(gateway, "org:apache:", deleting("retention.ms"))
    assert broker_configs(world, "org.apache..y") == {"retention.ms": "1", "segment.bytes": "9"}


async def test_a_topic_s_own_config_overrides_and_falls_back(
    world: World, gateway: FakeGateway
) -> None:
    await alter(gateway, "org:", setting(retention_ms="1"))
    assert await alter(gateway, "org:x", setting(retention_ms="7")) == DONE
    assert own_keys(world, "org..x") == ("retention.ms",)
    await alter(gateway, "org:", setting(retention_ms="2"))
    assert broker_configs(world, "org..x") == {"retention.ms": "7"}
    assert broker_configs(world, "org.apache..y") == {"retention.ms": "2"}
    assert await alter(gateway, "org:x", deleting("retention.ms")) == DONE
    assert broker_configs(world, "org..x") == {"retention.ms": "2"}
    assert world.snapshot.topics == {}


async def test_setting_what_is_inherited_already_makes_it_the_topic_s_own(
    world: World, gateway: FakeGateway
) -> None:
    await alter(gateway, "org:", setting(retention_ms="1"))
    await alter(gateway, "org:x", setting(retention_ms="1"))
    await alter(gateway, "org:", setting(retention_ms="2"))
    assert broker_configs(world, "org..x") == {"retention.ms": "1"}


async def test_what_was_set_before_the_namespace_had_the_key_is_the_topic_s_own(
    world: World, gateway: FakeGateway
) -> None:
    world.broker.topics["org..x"].configs = {"retention.ms": "5", "segment.bytes": "6"}
    await alter(gateway, "org:", setting(retention_ms="1"))
    assert broker_configs(world, "org..x") == {"retention.ms": "5", "segment.bytes": "6"}
    assert own_keys(world, "org..x") == ("retention.ms",)
    assert (await describe(gateway, "org:x"))["retention.ms"] == ("5", 1)


async def test_lists(world: World, gateway: FakeGateway) -> None:
    appended: list[Change] = [("cleanup.policy", APPEND, "compact")]
    assert await alter(gateway, "org:", appended) == DONE
    assert world.snapshot.namespaces["org"].configs == {"cleanup.policy": "delete,compact"}
    assert await alter(gateway, "org:apache:", [("cleanup.policy", SUBTRACT, "delete")]) == DONE
    assert world.snapshot.namespaces["org:apache"].configs == {"cleanup.policy": "compact"}
    assert broker_configs(world, "org.apache..y") == {"cleanup.policy": "compact"}
    code, message = await alter(gateway, "org:", [("retention.ms", APPEND, "1")])
    assert (code, message) == (
        40,
        "Config 'retention.ms' is no list, so nothing is added to it or taken off.",
    )
    assert await alter(gateway, "org:x", [("cleanup.policy", SUBTRACT, "delete")]) == DONE
    assert own_keys(world, "org..x") == ("cleanup.policy",)


@pytest.mark.parametrize("name", ["org:", "org..", "org:x", "org..x"])
@pytest.mark.parametrize("validate_only", [False, True])
async def test_the_broker_judges_keys_and_values(
    world: World, gateway: FakeGateway, name: str, validate_only: bool
) -> None:
    before = world.snapshot
    for changes, text in (
        (setting(retention_ms="soon"), "Invalid value soon for configuration retention.ms"),
        ([("no.such", SET, "1")], "Unknown topic config name: no.such"),
    ):
        answer = await alter(gateway, name, changes, validate_only=validate_only)
        assert answer == (40, text)
    assert world.snapshot == before
    assert broker_configs(world, "org..x") == {}


async def test_validate_only_changes_nothing(world: World, gateway: FakeGateway) -> None:
    before = world.snapshot
    for name, changes in (
        ("org:", setting(retention_ms="1")),
        ("org:x", setting(retention_ms="1")),
        ("orders", setting(retention_ms="1")),
        ("orders", moving("org")),
    ):
        assert await alter(gateway, name, changes, validate_only=True) == DONE
    assert world.snapshot == before
    assert not any(topic.configs for topic in world.broker.topics.values())
    code, _ = await alter(gateway, "orders", moving("org", "x"), validate_only=True)
    assert code == 36


async def test_every_resource_is_answered_in_order(world: World, gateway: FakeGateway) -> None:
    answers = await alter_all(
        gateway,
        [
            (4, "1", setting(log_level="INFO")),
            (TOPIC, "org:x", setting(retention_ms="1")),
            (TOPIC, "orders", setting(retention_ms="2")),
            (TOPIC, "org:", setting(segment_bytes="3")),
            (TOPIC, "missing:", setting(segment_bytes="3")),
            (TOPIC, "missing:x", setting(segment_bytes="3")),
            (TOPIC, "org:y", setting(segment_bytes="3")),
            (TOPIC, "team-a:x", moving("team-b")),
            (TOPIC, "a b:", setting(segment_bytes="3")),
            (32, "group", moving("org")),
        ],
    )
    assert [code for code, _ in answers] == [31, 0, 0, 0, 3, 3, 3, 0, 17, 42]
    assert broker_configs(world, "orders") == {"retention.ms": "2"}
    assert broker_configs(world, "org..x") == {"retention.ms": "1", "segment.bytes": "3"}
    assert answers[4][1] == "Namespace 'missing' does not exist."
    assert answers[8][1] is not None
    assert answers[8][1].startswith("tier 'a b' of namespace 'a b'")
    written = world.broker.requests("IncrementalAlterConfigsRequest")
    asked = [r.resource_name for request in written for r in request.resources]
    assert "org..y" in asked  # only the broker knows whether it exists


async def test_default_topics_alone_go_to_the_broker_as_they_are(
    world: World, gateway: FakeGateway
) -> None:
    changes = [*setting(retention_ms="1"), *deleting("segment.bytes")]
    assert await alter(gateway, "orders", changes) == DONE
    (request,) = world.broker.requests("IncrementalAlterConfigsRequest")
    sent = [(c.name, c.config_operation, c.value) for c in request.resources[0].configs]
    assert sent == changes
    assert world.log.decisions == []


async def test_two_spellings(world: World, gateway: FakeGateway) -> None:
    answers = await alter_all(
        gateway,
        [
            (TOPIC, "org:x", setting(retention_ms="1")),
            (TOPIC, "org..x", setting(retention_ms="1")),
            (TOPIC, "org:apache:", setting(retention_ms="1")),
            (TOPIC, "org.apache..", setting(retention_ms="2")),
            (TOPIC, "org:x", setting(retention_ms="1")),
        ],
    )
    twice = (42, "This is already in the request, as 'org:x'.")
    assert answers[:3] == [DONE, DONE, DONE]
    assert answers[3] == (42, "This is already in the request, as 'org:apache:'.")
    assert answers[4] == twice


async def test_the_same_error_under_both_spellings(gateway: FakeGateway) -> None:
    wrong = setting(retention_ms="soon")
    first, second = await alter_all(gateway, [(TOPIC, "org:x", wrong), (TOPIC, "org..x", wrong)])
    assert first == second
    assert first[0] == 40


@pytest.mark.parametrize("name", ["org:", "orders", "org:x"])
async def test_virtual_keys_are_told_what_they_are(gateway: FakeGateway, name: str) -> None:
    code, message = await alter(gateway, name, [("gateway.topics", SET, "1")])
    assert (code, message) == (
        40,
        "'gateway.topics' is read-only: only the gateway sets it.",
    )
    code, message = await alter(gateway, name, [("gateway.unheard.of", SET, "1")])
    assert code == 40
    assert message is not None
    assert "is no config of this gateway" in message


async def test_nothing_virtual_reaches_the_broker(world: World, gateway: FakeGateway) -> None:
    await alter(gateway, "orders", [*moving("org"), *setting(retention_ms="1")])
    await alter(gateway, "orders", moving("org"))
    await alter(gateway, "org:", [("gateway.adopt", SET, "true")])
    await replace_configs(gateway, [("org:orders", {"gateway.namespace": "org"})])
    assert "gateway." not in repr(world.broker.asked)


async def test_the_default_namespace_has_no_configs(gateway: FakeGateway) -> None:
    assert await alter(gateway, ":", setting(retention_ms="1")) == (
        42,
        "The default namespace has no configs of its own.",
    )


async def test_what_is_being_deleted(world: World, gateway: FakeGateway) -> None:
    world.log.append([replace(world.snapshot.namespaces["org"], deleting=1)])
    for name in ("org:", "org:apache:"):
        code, message = await alter(gateway, name, setting(retention_ms="1"))
        assert code == 17
        assert message is not None
        assert message.startswith("InvalidNamespaceException: namespace 'org")
    assert (await alter(gateway, "org:x", setting(retention_ms="1")))[0] == 3
    code, message = await alter(gateway, "orders", moving("org:apache"))
    assert code == 17
    assert message is not None
    assert "'org' is being deleted" in message


# -- AlterConfigs ----------------------------------------------------------------------------------


async def test_alter_configs_replaces_what_is_the_topic_s_own(
    world: World, gateway: FakeGateway
) -> None:
    await alter(gateway, "org:", setting(retention_ms="1"))
    await alter(gateway, "org:x", setting(retention_ms="5", segment_bytes="6"))
    broker_configs(world, "orders")["segment.bytes"] = "8"
    answers = await replace_configs(
        gateway,
        [
            ("org:x", {"max.message.bytes": "7", "gateway.namespace": "org"}),
            ("orders", {"retention.ms": "9"}),
            ("org:apache:y", {}),
        ],
    )
    assert answers == [DONE] * 3
    assert broker_configs(world, "org..x") == {"retention.ms": "1", "max.message.bytes": "7"}
    assert own_keys(world, "org..x") == ("max.message.bytes",)
    assert broker_configs(world, "orders") == {"retention.ms": "9"}
    assert broker_configs(world, "org.apache..y") == {"retention.ms": "1"}


async def test_alter_configs_of_a_namespace(world: World, gateway: FakeGateway) -> None:
    await alter(gateway, "org:", setting(retention_ms="1", segment_bytes="2"))
    assert await replace_configs(gateway, [("org:", {"retention.ms": "3"})]) == [DONE]
    assert world.snapshot.namespaces["org"].configs == {"retention.ms": "3"}
    assert broker_configs(world, "org..x") == {"retention.ms": "3"}
    ((code, _),) = await replace_configs(gateway, [("org:", {"retention.ms": None})])
    assert code == 42


@pytest.mark.parametrize("version", [0, 1, 2])
async def test_alter_configs_moves_nothing(gateway: FakeGateway, version: int) -> None:
    answers = await replace_configs(
        gateway, [("org:x", {"gateway.namespace": "team-b"})], version=version
    )
    ((code, message),) = answers
    assert code == 40
    assert message is not None
    assert "IncrementalAlterConfigs" in message


# -- catalog or broker unavailable -----------------------------------------------------------------


@pytest.mark.parametrize("changes", [setting(retention_ms="1"), moving("team-b")])
@pytest.mark.parametrize("name", ["org:x", "orders", "org:"])
async def test_without_the_broker_everything_is_answered(
    world: World, gateway: FakeGateway, name: str, changes: list[Change]
) -> None:
    world.broker.down = True
    code, message = await alter(gateway, name, changes)
    assert message is not None
    assert "10.0.0.1" not in message
    assert code == (40 if name == "org:" and changes[0][0] != "retention.ms" else 7)


async def test_without_the_catalog_nothing_is_changed(world: World, gateway: FakeGateway) -> None:
    gateway.catalog.down = True
    for name, changes in (
        ("org:", setting(retention_ms="1")),
        ("org:x", setting(retention_ms="1")),
        ("org:x", moving("team-b")),
    ):
        answer = await alter(gateway, name, changes)
        assert answer == (7, "The catalog cannot be written now; try again later.")
    assert not any(topic.configs for topic in world.broker.topics.values())
    assert world.log.decisions == []
