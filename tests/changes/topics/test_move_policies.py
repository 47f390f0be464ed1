"""Topics that come to a namespace, moved, adopted or released, are subject to its policies."""

from __future__ import annotations

from typing import Any

import pytest

from gateway.catalog.entities import Alias, Namespace, TopicEntry
from gateway.changes.base.rejected import Rejected
from gateway.changes.base.virtual_configs import Move
from gateway.changes.topics.move_topics import move_topic
from gateway.names import LogicalName
from tests.changes.admin_requests import codes, create, create_shaped
from tests.changes.config_requests import RELEASING, alter, alter_all, moving
from tests.changes.fakes import Clock, FakeGateway, World, allowed, once
from tests.changes.judges import Asked, judge

TOPIC = 2
TIMED_OUT, INVALID_TOPIC, POLICY_VIOLATION = 7, 17, 44
CLASS = {"create.topic.policy.class.name": "any:Class"}
ADOPT: dict[str, str | None] = {"gateway.adopt": "true"}


def world() -> World:
    made = World(["org:sub", "org:other", "free"])
    made.broker.make("free..a", "free..b", "plain")
    for topic in made.broker.topics.values():
        topic.partitions = 3
    return made


def strict(one: World, namespace: str = "org", **block: object) -> FakeGateway:
    """A gateway with policies for a namespace and all below it."""
    return one.gateway(judge(namespaces={namespace: block}))


# -- moves -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("validate_only", [False, True])
@pytest.mark.parametrize("name", ["free:a", "plain"])
async def test_a_move_meets_the_policies_of_where_it_goes(name: str, validate_only: bool) -> None:
    one = world()
    gateway = strict(one, partitions={"max": 2})
    code, text = await alter(gateway, name, moving("org:sub"), validate_only=validate_only)
    assert code == POLICY_VIOLATION
    assert f"Topic 'org:sub:{name.rpartition(':')[2]}' has 3 partitions" in (text or "")
    assert one.log.decisions == []
    assert await alter(gateway, name, moving("free", "x")) == (0, None)


async def test_policies_see_the_topic_as_it_would_be_there() -> None:
    one = world()
    one.log.append([Namespace("org", {"retention.ms": "5"}), Namespace("free", {"flush.ms": "1"})])
    one.broker.topics["free..a"].configs = {"flush.ms": "1", "segment.bytes": "7"}
    one.broker.topics["free..a"].assigned = {1: (1, 2)}
    asked = Asked()
    gateway = one.gateway(judge(asked, namespaces={"org": CLASS}))
    code, _ = await alter(gateway, "free:a", moving("org", "y"))
    assert code == 0
    (seen,) = asked.asked
    assert (seen.topic, seen.namespace, seen.principal) == ("org:y", "org", "User:ANONYMOUS")
    assert seen.replicas_assignments == {0: (1,), 1: (1, 2), 2: (1,)}
    assert seen.configs == {"retention.ms": "5", "segment.bytes": "7"}
    assert seen.effective_configs["min.insync.replicas"] == "1"
    assert (seen.namespace_topics, seen.namespace_partitions) == (0, 0)
    assert (await alter(gateway, "free:b", moving("org", "refused")))[0] == POLICY_VIOLATION


async def test_what_cannot_be_needs_no_policy_to_say_so() -> None:
    one = world()
    asked = Asked("org")
    gateway = one.gateway(judge(asked, namespaces={"org": CLASS}))
    code, text = await alter(gateway, "plain", moving("org:none"))
    assert code == INVALID_TOPIC
    assert "'org:none' does not exist" in (text or "")
    assert asked.asked == []


async def test_a_new_name_meets_the_name_pattern() -> None:
    one = world()
    gateway = strict(one, name_pattern="[a-z]+")
    assert (await alter(gateway, "plain", moving("org", "x1")))[0] == POLICY_VIOLATION
    assert await alter(gateway, "plain", moving("org", "x")) == (0, None)
    assert (await alter(gateway, "org:x", moving("org", "x2")))[0] == POLICY_VIOLATION


async def test_the_default_namespace_has_policies_too() -> None:
    one = world()
    one.log.append([TopicEntry("plain", LogicalName("org", "x"), own_configs=())])
    gateway = one.gateway(judge(default_namespace={"partitions": {"max": 2}}))
    code, text = await alter(gateway, "org:x", RELEASING)
    assert code == POLICY_VIOLATION
    assert "Topic 'plain' has 3 partitions" in (text or "")
    assert (await alter(gateway, "org:x", moving(":", "y")))[0] == POLICY_VIOLATION
    assert one.snapshot.topics["plain"].name == LogicalName("org", "x")


async def test_a_move_that_is_done_already_is_not_asked_about() -> None:
    gateway = strict(world(), "free", partitions={"max": 2})
    assert await alter(gateway, "free:a", moving("free")) == (0, None)


async def test_a_rejection_stands_alone_and_is_told_as_a_denial() -> None:
    one = world()
    gateway = strict(one, max_topics=1)
    told = await alter_all(
        gateway, [(TOPIC, "free:a", moving("org")), (TOPIC, "free:b", moving("org"))]
    )
    assert [code for code, _ in told] == [0, POLICY_VIOLATION]


# -- counts ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("limits", "rule"),
    [
        ({"max_topics": 1}, "max_topics"),
        ({"max_partitions": 5}, "max_partitions"),
        ({"max_topics_in_tree": 1}, "max_topics_in_tree"),
        ({"max_partitions_in_tree": 5}, "max_partitions_in_tree"),
    ],
)
@pytest.mark.parametrize("validate_only", [False, True])
async def test_counted_limits(limits: dict[str, Any], rule: str, validate_only: bool) -> None:
    one = world()
    gateway = strict(one, **limits)
    assert await alter(gateway, "free:a", moving("org:sub")) == (0, None)
    code, text = await alter(gateway, "free:b", moving("org:sub"), validate_only=validate_only)
    assert code == POLICY_VIOLATION
    assert rule in (text or "")
    assert one.snapshot.owner("free..b").namespace == "free"


async def test_what_stays_in_a_tree_is_no_more_of_it() -> None:
    one = world()
    gateway = strict(one, max_topics_in_tree=2, max_partitions_in_tree=6, max_topics=1)
    for name, where in (("free:a", "org:sub"), ("free:b", "org:other")):
        assert await alter(gateway, name, moving(where)) == (0, None)
    assert await alter(gateway, "org:sub:a", moving("org")) == (0, None)
    assert (await alter(gateway, "org:other:b", moving("org")))[0] == POLICY_VIOLATION, "max_topics"
    assert await alter(gateway, "org:a", moving("org", "renamed")) == (0, None)
    assert (await alter(gateway, "plain", moving("org:sub")))[0] == POLICY_VIOLATION
    # A topic that leaves makes room.
    assert await alter(gateway, "org:renamed", moving("free")) == (0, None)
    assert await alter(gateway, "plain", moving("org:sub")) == (0, None)


async def test_every_namespace_together_gets_no_more_by_a_move() -> None:
    one = world()
    gateway = one.gateway(judge(everywhere={"max_topics_in_tree": 3}))
    assert await alter(gateway, "free:a", moving("org")) == (0, None)
    assert codes(await create(gateway, "org:new")) == [POLICY_VIOLATION]


async def test_two_that_move_at_once() -> None:
    """The second move is decided after the first, though it looked before it."""
    one = world()
    first, second = strict(one, max_topics=1), strict(one, max_topics=1)

    async def other() -> None:
        await move_topic(second.context, allowed(second), "free:b", Move("org"))

    one.step = once("change", other)
    with pytest.raises(Rejected, match="would have 2 topics") as caught:
        await move_topic(first.context, allowed(first), "free:a", Move("org"))
    assert caught.value.why.rule == "policies"
    assert one.snapshot.owner("free..b").namespace == "org"
    assert one.snapshot.owner("free..a").namespace == "free"


async def test_what_has_come_counts_with_what_it_has() -> None:
    """Another gateway's listing is from before the topic had so many partitions."""
    one = world()
    first, second = strict(one, max_partitions=7), strict(one, max_partitions=7)
    assert await alter(first, "free:a", moving("org")) == (0, None)
    assert one.snapshot.topics["free..a"].counted == 3
    second.cluster.lagging = {}
    assert codes(await create_shaped(second, "org:x", partitions=5)) == [POLICY_VIOLATION]
    assert codes(await create_shaped(second, "org:x", partitions=4)) == [0]


async def test_a_released_topic_counts_too() -> None:
    one = world()
    entry = TopicEntry("plain", LogicalName("org", "x"))
    one.log.append([entry])
    gateway = one.gateway(judge(default_namespace={"max_topics": 1}))
    assert await alter(gateway, "org:x", RELEASING) == (0, None)
    held = one.snapshot.topics["plain"]
    assert (held.name, held.counted) == (LogicalName("", "plain"), 3)
    assert codes(await create(gateway, "more")) == [POLICY_VIOLATION]


async def test_a_count_that_is_old_is_none() -> None:
    one = world()
    gateway = strict(one, max_topics=5)
    clock = gateway.context.clock
    assert isinstance(clock, Clock)
    one.step = once("change", lambda: clock.forward(seconds=31))
    code, _ = await alter(gateway, "free:a", moving("org"))
    assert code == TIMED_OUT


async def test_it_goes_elsewhere_by_now() -> None:
    """Released under a name that a namespace has taken meanwhile: read once more, and rejected."""
    one = World(["org"])
    one.broker.make("new..x")
    alias = Alias(LogicalName("", "old"), 1 << 60)
    one.log.append([TopicEntry("new..x", LogicalName("org", "x"), aliases=(alias,))])
    gateway = one.gateway(judge(namespaces={"new": {"partitions": {"max": 0}}}))
    one.step = once("change", lambda: one.log.append([Namespace("new")]))
    code, text = await alter(gateway, "org:x", RELEASING)
    assert code != 0
    assert "namespace 'new'" in (text or "")
    assert one.snapshot.owner("new..x") == LogicalName("org", "x")


async def test_what_is_too_big_for_a_tree_may_move_within_it() -> None:
    one = World(["org:a", "org:b"])
    one.broker.make("org.a..x")
    one.broker.topics["org.a..x"].partitions = 8
    gateway = one.gateway(judge(namespaces={"org": {"max_partitions_in_tree": 5}}))
    assert await alter(gateway, "org:a:x", moving("org:b")) == (0, None)


async def partly_own(**limits: Any) -> tuple[World, FakeGateway]:
    """Topics of MirrorMaker's own, which are not counted, in ``org`` and below it, under limits."""
    one = World(["org:sub", "free"])
    one.broker.make("org..mm2-1.internal", "org..mm2-2.internal", "org.sub..mm2-3.internal")
    for topic in one.broker.topics.values():
        topic.partitions = 3
    return one, strict(one, **limits)


@pytest.mark.parametrize(
    "limits",
    [
        {"max_topics": 1},
        {"max_partitions": 5},
        {"max_topics_in_tree": 1},
        {"max_partitions_in_tree": 5},
    ],
)
@pytest.mark.parametrize("goes", ["org", "org:sub"])
async def test_a_new_name_in_the_same_tree_counts_what_was_not_counted(
    limits: dict[str, Any], goes: str
) -> None:
    """Renamed in its namespace, and moved below."""
    one, gateway = await partly_own(**limits)
    assert await alter(gateway, "org:mm2-1.internal", moving(goes, "x")) == (0, None)
    code, text = await alter(gateway, "org:mm2-2.internal", moving(goes, "y"))
    assert code == POLICY_VIOLATION
    assert next(iter(limits)) in (text or "")
    assert one.snapshot.owner("org..mm2-2.internal").topic == "mm2-2.internal"
    # Elsewhere, and under another name that is not counted, there is room.
    assert await alter(gateway, "org:mm2-2.internal", moving(goes, "mm2-9.internal")) == (0, None)
    assert await alter(gateway, f"{goes}:mm2-9.internal", moving("free", "z")) == (0, None)


async def test_what_loses_its_count_by_a_new_name_makes_room() -> None:
    _, gateway = await partly_own(max_topics=1)
    assert await alter(gateway, "org:mm2-1.internal", moving("org", "x")) == (0, None)
    assert await alter(gateway, "org:x", moving("org", "mm2-1.internal")) == (0, None)
    assert codes(await create(gateway, "org:new")) == [0]
    assert codes(await create(gateway, "org:more")) == [POLICY_VIOLATION]


async def test_another_namespaces_topics_of_mirrormakers_own_use_up_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("gateway.changes.base.usage.UNCOUNTED", 2)
    one = World(["org", "a"])
    one.broker.make("a..mm2-1.internal", "a..mm2-2.internal", "a..mm2-3.internal")
    gateway = strict(one, max_topics=1)
    assert codes(await create(gateway, "org:mm2-1.internal", "org:mm2-2.internal")) == [0, 0]
    assert codes(await create(gateway, "org:mm2-3.internal")) == [0], "the first that counts"
    assert codes(await create(gateway, "org:mm2-4.internal")) == [POLICY_VIOLATION]


async def test_a_new_name_that_lets_another_topic_count(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first topics by name are left out, so a topic that comes before them makes the last of
    them count."""
    monkeypatch.setattr("gateway.changes.base.usage.UNCOUNTED", 1)
    one = World(["org"])
    one.broker.make("org..mm2-z.internal")
    one.broker.topics["org..mm2-z.internal"].partitions = 20
    gateway = strict(one, max_partitions=10)
    assert codes(await create_shaped(gateway, "org:mm2-a.internal")) == [POLICY_VIOLATION]
    assert codes(await create_shaped(gateway, "org:mm2-zz.internal")) == [0]


# -- adoption --------------------------------------------------------------------------------------


def before_namespaces() -> World:
    made = World(["free"])
    made.broker.make("org..a", "org..b", "org.sub..c", "plain")
    for topic in made.broker.topics.values():
        topic.partitions = 3
    return made


@pytest.mark.parametrize("validate_only", [False, True])
async def test_adopted_topics_meet_the_policies_of_the_namespace(validate_only: bool) -> None:
    one = before_namespaces()
    one.broker.topics["org..b"].partitions = 2
    gateway = strict(one, partitions={"max": 2})
    (told,) = await create(gateway, "org:", configs=ADOPT, validate_only=validate_only)
    assert told.code == POLICY_VIOLATION
    assert "Topic 'org:a' has 3 partitions" in told.message
    assert "'org:b'" not in told.message
    assert "org" not in one.snapshot.namespaces
    one.broker.topics["org..a"].partitions = 2
    assert codes(await create(gateway, "org:", configs=ADOPT)) == [0]


async def test_all_that_is_adopted_counts() -> None:
    one = before_namespaces()
    rejected: tuple[tuple[dict[str, Any], str], ...] = (
        ({"max_topics": 1}, "max_topics"),
        ({"max_partitions": 5}, "max_partitions"),
        ({"max_topics_in_tree": 1}, "max_topics_in_tree"),
    )
    for limits, rule in rejected:
        (told,) = await create(strict(one, **limits), "org:", configs=ADOPT)
        assert told.code == POLICY_VIOLATION
        assert rule in told.message
    assert "org" not in one.snapshot.namespaces
    gateway = strict(one, max_topics=2, max_partitions=6)
    assert codes(await create(gateway, "org:", configs=ADOPT)) == [0]
    assert codes(await create(gateway, "org:more")) == [POLICY_VIOLATION]


async def test_every_tier_that_is_made_adopts() -> None:
    one = before_namespaces()
    (told,) = await create(strict(one, "org:sub", max_topics=0), "org:sub:", configs=ADOPT)
    assert told.code == POLICY_VIOLATION
    assert "topic 'org:sub:c'" in told.message
    (told,) = await create(strict(one, max_topics_in_tree=2), "org:sub:", configs=ADOPT)
    assert told.code == POLICY_VIOLATION


async def test_topics_are_adopted_as_they_are() -> None:
    """The namespace's configs have not reached them, so they are no reason to admit them."""
    one = before_namespaces()
    gateway = strict(one, configs={"required": {"retention.ms": None}})
    configs: dict[str, str | None] = {**ADOPT, "retention.ms": "5"}
    assert codes(await create(gateway, "org:", configs=configs)) == [POLICY_VIOLATION]
    for topic in one.broker.topics.values():
        topic.configs = {"retention.ms": "7"}
    assert codes(await create(gateway, "org:", configs=configs)) == [0]


async def test_many_that_violate() -> None:
    one = World()
    one.broker.make(*(f"org..t{number:02}" for number in range(13)))
    (told,) = await create(strict(one, partitions={"min": 2}), "org:", configs=ADOPT)
    assert told.message.count("has 1 partition") == 10
    assert told.message.endswith("3 more topics violate policies.")


async def test_what_cannot_be_adopted_is_not_judged() -> None:
    one = before_namespaces()
    one.log.append([TopicEntry("plain", LogicalName("", "org..z"))])
    asked = Asked("org")
    gateway = one.gateway(judge(asked, namespaces={"org": CLASS}))
    assert codes(await create(gateway, "org:", configs=ADOPT)) == [INVALID_TOPIC]
    assert asked.asked == []
