"""Configs of topics and namespaces are changed only if policies allow it, by either API."""

from __future__ import annotations

from typing import Any

import pytest

from gateway.catalog.entities import Namespace, TopicEntry
from gateway.changes.base.config_policies import changed_keys
from gateway.changes.base.rejected import Rejected
from gateway.changes.base.resources import SET, Operation
from gateway.changes.configs.alter_configs import incremental_alter_configs
from gateway.changes.namespaces.namespace_configs import alter_namespace
from gateway.names import LogicalName
from gateway.views.authorized_access import AuthorizedAccess
from protocol import messages
from protocol.messages import element_class, make
from tests.changes.admin_requests import Shape, codes, create, made
from tests.changes.config_requests import (
    APPEND,
    SUBTRACT,
    alter,
    alter_all,
    deleting,
    replace_configs,
    setting,
)
from tests.changes.fakes import FakeGateway, World, allowed, once
from tests.changes.judges import Asked, judge
from tests.session.allowing import Allowing

TOPIC = 2
TIMED_OUT, INVALID_CONFIG, POLICY_VIOLATION = 7, 40, 44
CLASS: dict[str, Any] = {"create.topic.policy.class.name": "any:Class"}
RANGE: dict[str, Any] = {"retention.ms": {"min": 10, "max": 50}}
KEY = "retention.ms"


def world(**configs: str) -> World:
    """``org`` with these configs, and a topic in it, a topic below it, and a topic outside."""
    made = World(["org:sub", "free"])
    inherited = {key.replace("_", "."): value for key, value in configs.items()}
    made.log.append([Namespace("org", inherited)])
    made.broker.make("org..a", "org.sub..b", **configs)
    made.broker.make("free..c", "plain")
    return made


def strict(one: World, asked: Asked | None = None, **block: object) -> FakeGateway:
    """A gateway with policies for ``org`` and below."""
    block = block if asked is None else {**CLASS, **block}
    return one.gateway(judge(asked, namespaces={"org": block}))


def held(one: World, flat: str = "org..a") -> dict[str, str]:
    return one.broker.topics[flat].configs


# -- topics ----------------------------------------------------------------------------------------


async def test_some_are_rejected_and_the_rest_is_served() -> None:
    one = world()
    told = await alter_all(
        strict(one, **RANGE),
        [
            (TOPIC, "org:a", setting(retention_ms="60")),
            (TOPIC, "org:sub:b", setting(retention_ms="40")),
            (TOPIC, "free:c", setting(retention_ms="60")),
            (TOPIC, "plain", setting(retention_ms="60")),
        ],
    )
    assert [code for code, _ in told] == [POLICY_VIOLATION, 0, 0, 0]
    text = told[0][1] or ""
    assert "Topic 'org:a' has retention.ms=60" in text
    assert "retention.ms.max, set by namespace 'org'" in text
    assert held(one) == {}
    assert held(one, "org.sub..b") == held(one, "free..c") | {KEY: "40"}


async def test_alter_configs_is_no_way_round() -> None:
    one = world(retention_ms="20")
    gateway = strict(one, **RANGE)
    told = await replace_configs(
        gateway, [("org:a", {KEY: "60"}), ("org:sub:b", {"segment.bytes": "7"})]
    )
    assert [code for code, _ in told] == [POLICY_VIOLATION, 0]
    assert held(one) == {KEY: "20"}
    assert held(one, "org.sub..b") == {KEY: "20", "segment.bytes": "7"}


async def test_what_a_deleted_config_falls_back_to_is_judged() -> None:
    one = world()
    one.broker.topics["org..a"].configs = {KEY: "20"}
    gateway = strict(one, **RANGE)
    assert (await alter(gateway, "org:a", deleting(KEY)))[0] == POLICY_VIOLATION, "Kafka's default"
    assert held(one) == {KEY: "20"}
    one.log.append([Namespace("org", {KEY: "30"})])
    assert await alter(gateway, "org:a", deleting(KEY)) == (0, None)
    assert held(one) == {KEY: "30"}


async def test_lists_are_judged_as_they_would_be() -> None:
    one = world()
    gateway = strict(one, configs={"required": {"cleanup.policy": "delete"}})
    assert await alter(gateway, "org:a", setting(cleanup_policy="delete")) == (0, None)
    code, text = await alter(gateway, "org:a", [("cleanup.policy", APPEND, "compact")])
    assert code == POLICY_VIOLATION
    assert "cleanup.policy='delete,compact'" in (text or "")
    one.broker.topics["org..a"].configs = {"cleanup.policy": "delete,compact"}
    assert await alter(gateway, "org:a", [("cleanup.policy", SUBTRACT, "compact")]) == (0, None)


async def test_the_broker_is_asked_before_a_policy() -> None:
    one = world()
    asked = Asked("org")
    code, text = await alter(strict(one, asked), "org:a", setting(retention_ms="long"))
    assert (code, text) == (INVALID_CONFIG, "Invalid value long for configuration retention.ms")
    assert asked.asked == []


async def test_a_class_sees_the_result() -> None:
    one = world(retention_ms="20")
    one.broker.topics["org..a"].configs["segment.bytes"] = "7"
    one.broker.topics["org..a"].partitions = 3
    asked = Asked()
    gateway = strict(one, asked)
    assert await alter(gateway, "org:a", setting(max_message_bytes="9")) == (0, None)
    (seen,) = asked.asked
    assert (seen.topic, seen.num_partitions, seen.replication_factor) == ("org:a", 3, 1)
    assert seen.configs == {KEY: "20", "segment.bytes": "7", "max.message.bytes": "9"}
    assert seen.effective_configs["min.insync.replicas"] == "1"
    assert (seen.namespace_topics, seen.namespace_partitions) == (0, 0)


async def test_what_was_wrong_before_can_be_repaired_step_by_step() -> None:
    one = world()
    one.broker.topics["org..a"].configs = {KEY: "60", "segment.bytes": "9000"}
    gateway = strict(one, **RANGE, configs={"ranges": {"segment.bytes": {"max": 9}}})
    assert await alter(gateway, "org:a", setting(max_message_bytes="9")) == (0, None)
    assert await alter(gateway, "org:a", setting(retention_ms="50")) == (0, None)
    code, text = await alter(gateway, "org:a", setting(segment_bytes="8000"))
    assert code == POLICY_VIOLATION
    assert "segment.bytes.max" in (text or "")
    # By AlterConfigs as well, which replaces all configs.
    (told,) = await replace_configs(gateway, [("org:a", {KEY: "40", "segment.bytes": "9000"})])
    assert told == (0, None)


async def test_nothing_is_changed_of_what_is_only_validated() -> None:
    one = world()
    gateway = strict(one, **RANGE)
    for value, code in (("60", POLICY_VIOLATION), ("40", 0)):
        answer = await alter(gateway, "org:a", setting(retention_ms=value), validate_only=True)
        assert answer[0] == code
    assert held(one) == {}
    assert one.log.decisions == [(Namespace("org", {}),)]


async def test_where_no_policy_applies_it_is_kept_what_was_set() -> None:
    """The former value is kept, to undo the alteration if the topic is moved meanwhile."""
    one = world()
    gateway = strict(one, **RANGE)
    assert await alter(gateway, "plain", setting(retention_ms="60")) == (0, None)
    asked = [name for name, _ in one.broker.asked]
    assert asked == ["DescribeConfigsRequest", "IncrementalAlterConfigsRequest"]


async def test_both_spellings_get_the_same_answer_and_it_is_told_as_a_denial() -> None:
    gateway = strict(world(), **RANGE)
    cls = messages.message_class("IncrementalAlterConfigsRequest", 1)
    resource = element_class(cls, "resources")
    config = make(element_class(resource, "configs"), {"name": KEY, "value": "60"})
    resources = tuple(
        make(resource, {"resource_type": TOPIC, "resource_name": name, "configs": (config,)})
        for name in ("org:a", "org..a", "free:c")
    )
    body = messages.write(make(cls, {"resources": resources}))
    answer = await incremental_alter_configs(gateway.context, allowed(gateway), 1, body)
    response = messages.parse("IncrementalAlterConfigsResponse", 1, answer.body)
    codes_told = [int(each.error_code) for each in response.responses]
    assert codes_told == [POLICY_VIOLATION, POLICY_VIOLATION, 0]
    assert {name: why.rule for name, why in answer.denied} == {
        "org:a": "policies",
        "org..a": "policies",
    }


async def test_a_topic_that_nobody_tells_of() -> None:
    one = world()
    gateway = strict(one, **RANGE)
    one.step = once("ask MetadataRequest", lambda: one.broker.topics.pop("org..a"))
    code, text = await alter(gateway, "org:a", setting(retention_ms="40"))
    assert code == TIMED_OUT
    assert "policies cannot judge it" in (text or "")


# -- namespaces ------------------------------------------------------------------------------------


@pytest.mark.parametrize("validate_only", [False, True])
async def test_the_configs_of_a_namespace_are_judged(validate_only: bool) -> None:
    one = world()
    gateway = strict(one, **RANGE)
    code, text = await alter(
        gateway, "org:", setting(retention_ms="60"), validate_only=validate_only
    )
    assert code == POLICY_VIOLATION
    assert "Namespace 'org' has retention.ms=60" in (text or "")
    (told,) = await replace_configs(gateway, [("org:", {KEY: "60"})], validate_only=validate_only)
    assert told[0] == POLICY_VIOLATION
    assert (await alter(gateway, "org:sub:", setting(retention_ms="9")))[0] == POLICY_VIOLATION
    assert await alter(gateway, "free:", setting(retention_ms="60")) == (0, None)
    assert one.snapshot.namespaces["org"].configs == {}
    assert await alter(gateway, "org:", setting(retention_ms="40")) == (0, None)
    assert held(one, "org.sub..b") == {KEY: "40"}


async def test_a_namespace_is_made_with_configs_that_policies_allow() -> None:
    one = world()
    gateway = strict(one, **RANGE, configs={"forbidden": ("segment.bytes",)})
    for configs in ({KEY: "60"}, {"segment.bytes": "7"}):
        for validate_only in (True, False):
            (told,) = await create(
                gateway, "org:new:", configs=dict(configs), validate_only=validate_only
            )
            assert told.code == POLICY_VIOLATION
            assert "Namespace 'org:new'" in told.message
    assert "org:new" not in one.snapshot.namespaces
    assert codes(await create(gateway, "org:new:", configs={KEY: "40"})) == [0]
    assert codes(await create(gateway, "free:new:", configs={KEY: "60"})) == [0]


async def test_a_namespace_that_is_rejected_is_told_as_a_denial() -> None:
    gateway = strict(world(), **RANGE)
    answer = await made(gateway, "org:new:", shape=Shape(configs={KEY: "60"}))
    assert {name: why.rule for name, why in answer.denied} == {"org:new:": "policies"}


async def test_a_class_is_asked_about_a_namespace() -> None:
    one = world()
    asked = Asked()
    gateway = strict(one, asked)
    assert await alter(gateway, "org:sub:", setting(retention_ms="40")) == (0, None)
    (seen,) = asked.asked
    assert (seen.topic, seen.namespace, seen.partitions) == ("org:sub:", "org:sub", None)
    assert seen.configs == {KEY: "40"}
    assert (seen.namespace_topics, seen.namespace_partitions) == (1, 1)
    assert codes(await create(gateway, "org:refused:", configs={KEY: "40"})) == [POLICY_VIOLATION]


async def test_what_topics_inherit_no_more_is_judged() -> None:
    one = world(retention_ms="20")
    gateway = strict(one, **RANGE)
    code, text = await alter(gateway, "org:", deleting(KEY))
    assert code == POLICY_VIOLATION
    assert "Topic 'org:*' has retention.ms=604800000" in (text or "")
    # If every topic has its own value, no topic inherits.
    for name in ("org:a", "org:sub:b"):
        assert await alter(gateway, name, setting(retention_ms="30")) == (0, None)
    assert await alter(gateway, "org:", deleting(KEY)) == (0, None)


async def test_stricter_policies_below_have_a_say_in_what_comes_from_above() -> None:
    one = world(retention_ms="20")
    rules = {"org:sub": {KEY: {"max": 30}, "configs": {"required": ["retention.ms"]}}}
    gateway = one.gateway(judge(namespaces=rules))
    code, text = await alter(gateway, "org:", setting(retention_ms="40"))
    assert code == POLICY_VIOLATION
    assert "Topic 'org:sub:*'" in (text or "")
    code, text = await alter(gateway, "org:", deleting(KEY))
    assert code == POLICY_VIOLATION
    assert "does not set retention.ms" in (text or "")
    # A namespace in between overrides it.
    one.log.append([Namespace("org:sub", {KEY: "25"})])
    assert await alter(gateway, "org:", setting(retention_ms="40")) == (0, None)
    # If there is no topic, nothing inherits.
    one.log.append([Namespace("org:sub")])
    del one.broker.topics["org.sub..b"]
    assert await alter(gateway, "org:", setting(retention_ms="45")) == (0, None)


async def test_namespaces_below_that_may_not_be_described_are_not_named() -> None:
    one = world(retention_ms="20")
    gateway = one.gateway(judge(namespaces={"org:sub": {KEY: {"max": 30}}}))
    operations = [Operation(KEY, SET, "40")]
    for rights, shown in ((["DESCRIBE TOPIC org:sub:"], True), ([], False)):
        alice = AuthorizedAccess(gateway.view(), "User:alice", "127.0.0.1", Allowing(rights))
        with pytest.raises(Rejected) as caught:
            await alter_namespace(gateway.context, "org", lambda _: operations, access=alice)
        assert caught.value.why.code == POLICY_VIOLATION
        assert ("org:sub" in caught.value.why.message) is shown


async def test_what_topics_inherit_can_be_repaired() -> None:
    one = world(retention_ms="90")
    gateway = strict(one, **RANGE)
    assert await alter(gateway, "org:", setting(segment_bytes="9")) == (0, None)
    assert (await alter(gateway, "org:", setting(retention_ms="80")))[0] == POLICY_VIOLATION
    assert await alter(gateway, "org:", setting(retention_ms="50")) == (0, None)


async def test_a_moved_topic_is_judged_where_it_is() -> None:
    one = world()
    one.log.append([TopicEntry("plain", LogicalName("org", "p"))])
    code, text = await alter(strict(one, **RANGE), "org:p", setting(retention_ms="60"))
    assert code == POLICY_VIOLATION
    assert "'org:p'" in (text or "")


def test_changed_keys() -> None:
    assert changed_keys({"a": "1", "b": "2"}, {"b": "3", "c": "4"}) == {"a", "b", "c"}
    assert changed_keys({"a": "1"}, {"a": "1"}) == set()
