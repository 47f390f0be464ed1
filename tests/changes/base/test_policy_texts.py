"""Rejections by policies use the client's names."""

from __future__ import annotations

from gateway.changes.base.rejected import respelled, shown_topic
from gateway.decision import Denied
from gateway.error_codes import POLICY_VIOLATION
from gateway.names import LogicalName
from tests.changes.admin_requests import create
from tests.changes.config_requests import alter, moving, replace_configs, setting
from tests.changes.fakes import FakeGateway, World, allowed
from tests.changes.judges import judge
from tests.changes.topics.test_create_partitions import grow


def test_what_is_called_so() -> None:
    why = Denied(44, "Topic 'a:b:x' is not 'a:b:xy' (set by namespace 'a:b').", "policies")
    told = respelled(why, "a:b:x", "x")
    assert told.message == "Topic 'x' is not 'a:b:xy' (set by namespace 'a:b')."
    assert told.code == POLICY_VIOLATION


def strict() -> FakeGateway:
    world = World(["team:sub", "free"])
    world.broker.make("team..x", "team.sub..y", "free..z")
    for topic in world.broker.topics.values():
        topic.partitions = 3
    block = {"partitions": {"max": 2}, "retention.ms": {"max": 5}, "max_topics": 1}
    return world.gateway(judge(namespaces={"team": block}))


def test_a_topic_that_there_may_be() -> None:
    gateway = strict()
    home = gateway.view("team")
    assert shown_topic(home, LogicalName("team", "x")) == "x"
    assert shown_topic(home, LogicalName("team:sub", "new")) == "sub:new"
    assert shown_topic(gateway.view(legal=True), LogicalName("team:sub", "new")) == "team.sub..new"
    assert shown_topic(home, LogicalName("team:none", "new")) == "team:none:new"


async def test_under_a_home() -> None:
    gateway = strict()
    home = gateway.view("team")
    _, text = await alter(gateway, "x", setting(retention_ms="9"), view=home)
    assert (text or "").startswith("Topic 'x' has retention.ms=9")
    ((_, text),) = await replace_configs(gateway, [("sub:y", {"retention.ms": "9"})], view=home)
    assert (text or "").startswith("Topic 'sub:y' has retention.ms=9")
    _, text = await alter(gateway, "sub:", setting(retention_ms="9"), view=home)
    assert (text or "").startswith("Namespace 'sub' has retention.ms=9")
    (told,) = await create(gateway, "new:", configs={"retention.ms": "9"}, view=home)
    assert told.message.startswith("Namespace 'new' has retention.ms=9")
    _, text = await alter(gateway, "x", moving("sub"), view=home)
    assert (text or "").startswith("Topic 'sub:x' has 3 partitions")
    ((_, _, grown),) = await grow(gateway, ("x", 4), access=allowed(gateway, home))
    assert grown.startswith("Topic 'x' has 4 partitions")


async def test_counted_limits_under_a_home() -> None:
    gateway = strict()
    for topic in gateway.broker.topics.values():
        topic.partitions = 1
        topic.configs = {"retention.ms": "5"}
    _, text = await alter(gateway, "x", moving("sub"), view=gateway.view("team"))
    assert (text or "").startswith("With topic 'sub:x', namespace 'team:sub' would have 2 topics")
