"""CreateTopics under policies: validated first, then judged, then made."""

from __future__ import annotations

import pytest

from tests.changes.admin_requests import Shape, create_shaped, made
from tests.changes.fakes import FakeGateway, World
from tests.changes.judges import Asked, everywhere, judge

POLICY_VIOLATION, EXISTS, INVALID_PARTITIONS, INVALID_CONFIG, TIMED_OUT = 44, 36, 37, 40, 7
CLASS = {"create.topic.policy.class.name": "any:Class"}


def gateway(asked: Asked, **block: object) -> FakeGateway:
    world = World(["org"])
    return world.gateway(judge(asked, **everywhere(**CLASS, **block)))


async def test_policies_see_what_the_broker_would_make() -> None:
    """-1 is resolved, so that it does not evade a limit; the namespace's values and the broker's
    defaults are seen."""
    asked = Asked()
    one = gateway(asked)
    (told,) = await create_shaped(one, "org:x", partitions=-1, replicas=-1, retention__ms="5")
    assert told.code == 0
    (seen,) = asked.asked
    assert (seen.topic, seen.namespace, seen.principal) == ("org:x", "org", "User:ANONYMOUS")
    assert (seen.num_partitions, seen.replication_factor) == (1, 1)
    assert seen.replicas_assignments is None
    assert seen.configs == {"retention.ms": "5"}
    assert seen.effective_configs["min.insync.replicas"] == "1"
    assert (seen.namespace_topics, seen.namespace_partitions) == (0, 0)
    await create_shaped(one, "org:y", partitions=4)
    await create_shaped(one, "org:z")
    assert (asked.asked[-1].namespace_topics, asked.asked[-1].namespace_partitions) == (2, 5)


async def test_what_was_judged_is_what_is_made() -> None:
    one = gateway(Asked())
    await create_shaped(one, "org:x", partitions=-1, replicas=-1)
    validated, asked = one.broker.requests("CreateTopicsRequest")
    assert (validated.validate_only, asked.validate_only) == (True, False)
    assert (asked.topics[0].num_partitions, asked.topics[0].replication_factor) == (1, 1)


async def test_assignments_stand_in_place_of_counts() -> None:
    asked = Asked()
    await create_shaped(gateway(asked), "plain", assignments={0: [1], 1: [1]})
    (seen,) = asked.asked
    assert (seen.num_partitions, seen.replication_factor) == (None, None)
    assert seen.replicas_assignments == {0: (1,), 1: (1,)}
    assert seen.partitions == 2


async def test_one_topic_is_rejected_and_the_others_are_made() -> None:
    one = gateway(Asked())
    told = await create_shaped(one, "refused", "org:refused", "org:fine", "fine")
    assert [each.code for each in told] == [POLICY_VIOLATION, POLICY_VIOLATION, 0, 0]
    assert told[1].message == "org:refused is refused."
    assert set(one.broker.topics) == {"org..fine", "fine"}


async def test_the_broker_is_asked_before_a_policy() -> None:
    asked = Asked()
    one = gateway(asked)
    one.broker.make("taken")
    told = await create_shaped(one, "taken", "org:refused", partitions=0)
    assert [each.code for each in told] == [EXISTS, INVALID_PARTITIONS]
    (told_of_config,) = await create_shaped(one, "refused", retention__ms="long")
    assert told_of_config.code == INVALID_CONFIG
    assert asked.asked == []


async def test_nothing_is_made_of_what_is_only_validated() -> None:
    asked = Asked()
    one = gateway(asked)
    told = await create_shaped(one, "org:x", "refused", validate_only=True)
    assert [each.code for each in told] == [0, POLICY_VIOLATION]
    assert one.broker.topics == {}
    assert len(one.broker.requests("CreateTopicsRequest")) == 1
    assert len(asked.asked) == 2


async def test_where_no_policy_applies_the_broker_is_asked_once() -> None:
    world = World(["org"])
    one = world.gateway(judge(Asked(), default_namespace=CLASS))
    (told,) = await create_shaped(one, "org:refused")
    assert told.code == 0
    assert len(one.broker.requests("CreateTopicsRequest")) == 1


async def test_what_cannot_be_resolved_is_rejected() -> None:
    """Brokers before Kafka 2.4 do not return their defaults."""
    one = gateway(Asked())
    one.broker.newest["CreateTopicsRequest"] = 4
    (told,) = await create_shaped(one, "org:x", partitions=-1)
    assert told.code == POLICY_VIOLATION
    assert "ask for numbers" in told.message
    (told,) = await create_shaped(one, "org:x")
    assert told.code == 0


async def test_a_cluster_that_is_away_makes_nothing() -> None:
    one = gateway(Asked())
    one.broker.down = True
    (told,) = await create_shaped(one, "org:x")
    assert told.code == TIMED_OUT


@pytest.mark.parametrize("validate_only", [False, True])
async def test_both_spellings_get_the_same_answer(validate_only: bool) -> None:
    one = gateway(Asked())
    told = await create_shaped(one, "org:refused", "org..refused", validate_only=validate_only)
    assert [each.code for each in told] == [POLICY_VIOLATION] * 2
    told = await create_shaped(one, "org:fine", "org..fine", validate_only=validate_only)
    assert [each.code for each in told] == [0, 0]


async def test_a_rejection_is_told_to_who_counts_denials() -> None:
    one = gateway(Asked())
    answered = await made(one, "org:refused")
    ((_, why),) = answered.denied
    assert (why.code, why.rule) == (POLICY_VIOLATION, "policies")


async def test_a_client_is_told_by_the_name_it_knows() -> None:
    one = World(["org"]).gateway(judge(namespaces={"org": {"partitions": {"max": 1}}}))
    answered = await made(one, "x", shape=Shape(partitions=2), view=one.view("org"))
    ((_, why),) = answered.denied
    assert why.message.startswith("Topic 'x' has 2 partitions")
