"""CreatePartitions under policies: validated first, then judged, counted, then made."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any

import pytest

from gateway.catalog.entities import Alias, Namespace, TopicEntry
from gateway.changes.base.context import Answered
from gateway.changes.topics.create_partitions import create_partitions
from gateway.names import LogicalName
from gateway.views.access import Access
from gateway.views.authorized_access import AuthorizedAccess
from protocol import messages
from protocol.messages import element_class, make
from tests.changes.fake_partitions import FakePartitions, replicas_of
from tests.changes.fakes import Clock, FakeGateway, World, allowed, once
from tests.changes.judges import Asked, everywhere, judge
from tests.session.allowing import Allowing

UNKNOWN, TIMED_OUT, FORBIDDEN, INVALID_PARTITIONS, INVALID_ASSIGNMENT = 3, 7, 29, 37, 39
INVALID_REQUEST, POLICY_VIOLATION = 42, 44
CLASS = {"create.topic.policy.class.name": "any:Class"}
Wanted = tuple[str, int] | tuple[str, int, Sequence[Sequence[int]]]


async def answered(
    gateway: FakeGateway,
    *wanted: Wanted,
    access: Access | None = None,
    version: int = 3,
    validate_only: bool = False,
) -> Answered:
    """CreatePartitions of (name, count) or (name, count, assignments)."""
    cls = messages.message_class("CreatePartitionsRequest", version)
    topic_class = element_class(cls, "topics")
    assignment = element_class(topic_class, "assignments")
    topics = []
    for name, count, *given in wanted:
        values: dict[str, Any] = {"name": name, "count": count, "assignments": None}
        for assignments in given:
            values["assignments"] = tuple(
                make(assignment, {"broker_ids": tuple(brokers)}) for brokers in assignments
            )
        topics.append(make(topic_class, values))
    asked = {"topics": tuple(topics), "timeout": timedelta(seconds=9)}
    body = messages.write(make(cls, {**asked, "validate_only": validate_only}))
    access = access or allowed(gateway)
    return await create_partitions(gateway.context, access, version, body)


async def grow(gateway: FakeGateway, *wanted: Wanted, **more: Any) -> list[tuple[str, int, str]]:
    """The name, the error code and the message of each topic."""
    version = more.get("version", 3)
    answer = await answered(gateway, *wanted, **more)
    results = messages.parse("CreatePartitionsResponse", version, answer.body).results
    return [(one.name, int(one.error_code), one.error_message or "") for one in results]


def codes(told: Sequence[tuple[str, int, str]]) -> list[int]:
    return [code for _, code, _ in told]


def world() -> World:
    made = World(["org:sub", "free"])
    made.broker.make("org..a", "org..b", "org.sub..c", "free..d", "plain")
    return made


def strict(one: World, **limits: object) -> FakeGateway:
    """A gateway with policies for ``org`` and below."""
    return one.gateway(judge(namespaces={"org": limits}))


def partitions(one: World) -> Mapping[str, int]:
    return {name: topic.partitions for name, topic in one.broker.topics.items()}


@pytest.mark.parametrize("version", [0, 1, 2, 3])
async def test_some_are_rejected_and_the_rest_is_served(version: int) -> None:
    one = world()
    gateway = strict(one, partitions={"max": 4})
    told = await grow(
        gateway,
        ("org:a", 4),
        ("org:b", 5),
        ("org:sub:c", 9),
        ("free:d", 9),
        ("plain", 9),
        version=version,
    )
    assert [name for name, _, _ in told] == ["org:a", "org:b", "org:sub:c", "free:d", "plain"]
    assert codes(told) == [0, POLICY_VIOLATION, POLICY_VIOLATION, 0, 0]
    assert told[1][2].startswith("Topic 'org:b' has 5 partitions, ")
    assert told[1][2].endswith("(policies: partitions.max, set by namespace 'org').")
    assert partitions(one) == {"org..a": 4, "org..b": 1, "org.sub..c": 1, "free..d": 9, "plain": 9}


async def test_policies_see_the_topic_as_it_would_be() -> None:
    one = world()
    one.log.append([Namespace("org", {"retention.ms": "5"})])
    one.broker.topics["org..a"].configs = {"retention.ms": "5", "segment.bytes": "7"}
    asked = Asked()
    gateway = one.gateway(judge(asked, **everywhere(**CLASS)))
    assert codes(await grow(gateway, ("org:a", 4))) == [0]
    (seen,) = asked.asked
    assert (seen.topic, seen.namespace, seen.principal) == ("org:a", "org", "User:ANONYMOUS")
    assert (seen.num_partitions, seen.replication_factor) == (4, 1)
    assert seen.replicas_assignments is None
    assert seen.configs == {"retention.ms": "5", "segment.bytes": "7"}
    assert seen.effective_configs["min.insync.replicas"] == "1"
    assert (seen.namespace_topics, seen.namespace_partitions) == (1, 1), "itself is not counted"


async def test_assignments_are_seen_with_those_that_are() -> None:
    one = world()
    asked = Asked()
    gateway = one.gateway(judge(asked, **everywhere(**CLASS)))
    assert codes(await grow(gateway, ("org:a", 3, [[1, 2], [2, 3]]))) == [0]
    (seen,) = asked.asked
    assert (seen.num_partitions, seen.replication_factor) == (None, None)
    assert seen.replicas_assignments == {0: (1,), 1: (1, 2), 2: (2, 3)}
    assert replicas_of(one.broker.topics["org..a"]) == [(1,), (1, 2), (2, 3)]
    # Kafka gives new partitions as many replicas as the first partition has.
    await grow(gateway, ("org:a", 4))
    assert asked.asked[-1].replicas_assignments == {0: (1,), 1: (1, 2), 2: (2, 3), 3: (1,)}


async def test_a_replication_factor_is_no_way_round() -> None:
    one = world()
    gateway = strict(one, replication_factor={"max": 1})
    assert codes(await grow(gateway, ("org:a", 2, [[1, 2]]), ("org:b", 2))) == [POLICY_VIOLATION, 0]


async def test_the_broker_is_asked_before_a_policy() -> None:
    one = world()
    asked = Asked("org")
    gateway = one.gateway(judge(asked, **everywhere(**CLASS)))
    told = await grow(gateway, ("org:a", 1), ("org:gone", 3), ("org:b", 3, [[1]]))
    assert codes(told) == [INVALID_PARTITIONS, UNKNOWN, INVALID_ASSIGNMENT]
    text = "The topic org:a currently has 1 partition(s); 1 would not be an increase."
    assert told[0][2] == text
    assert asked.asked == []


async def test_nothing_is_made_of_what_is_only_validated() -> None:
    one = world()
    gateway = strict(one, partitions={"max": 4}, max_partitions=4)
    wanted = [("org:a", 3), ("org:b", 2), ("org:sub:c", 5), ("plain", 5), ("gone", 5)]
    told = await grow(gateway, *wanted, validate_only=True)
    assert codes(told) == [0, POLICY_VIOLATION, POLICY_VIOLATION, 0, UNKNOWN]
    assert "would have 5 partitions" in told[1][2], "the first one's are expected by then"
    assert set(partitions(one).values()) == {1}
    assert one.log.decisions == []
    assert [each.validate_only for each in one.broker.requests("CreatePartitionsRequest")] == [True]


async def test_duplicates_and_second_spellings() -> None:
    one = world()
    gateway = strict(one, partitions={"max": 4})
    told = await grow(gateway, ("org:a", 2), ("org:a", 3), ("org:b", 3), ("org..b", 3))
    assert [(name, code) for name, code, _ in told] == [
        ("org:a", INVALID_REQUEST),
        ("org:b", 0),
        ("org..b", 0),
    ]
    assert told[0][2] == "Duplicate topic name."
    told = await grow(gateway, ("org:b", 5), ("org..b", 5), ("org:a", 2), ("org..a", 3))
    assert codes(told) == [POLICY_VIOLATION, POLICY_VIOLATION, 0, INVALID_REQUEST]
    assert partitions(one)["org..b"] == 3


async def test_acls_are_asked_on_the_newest_state() -> None:
    one = world()
    gateway = strict(one, partitions={"max": 4})
    gateway.catalog.lags = True
    alice = AuthorizedAccess(
        gateway.view(), "User:alice", "127.0.0.1", Allowing(["ALTER TOPIC org:a"])
    )
    one.log.append([TopicEntry("org..a", LogicalName("free", "a"))])
    answer = await answered(gateway, ("org:a", 2), ("org:b", 2), access=alice)
    results = messages.parse("CreatePartitionsResponse", 3, answer.body).results
    # That name no longer exists, and the topic it stood for is another client's.
    assert [int(each.error_code) for each in results] == [UNKNOWN, FORBIDDEN]
    assert dict(answer.denied)["org:b"].rule == "acl"
    assert set(partitions(one).values()) == {1}


async def test_a_rejection_is_told_to_who_counts_denials() -> None:
    gateway = strict(world(), partitions={"max": 4})
    answer = await answered(gateway, ("org:a", 5), ("nowhere:x", 2))
    assert {name: why.rule for name, why in answer.denied} == {
        "org:a": "policies",
        "nowhere:x": "namespace",
    }


async def test_an_alias_is_no_way_round() -> None:
    one = world()
    alias = Alias(LogicalName("", "plain"), 1 << 60)
    one.log.append([TopicEntry("plain", LogicalName("org", "p"), aliases=(alias,))])
    gateway = strict(one, partitions={"max": 4})
    ((_, code, text),) = await grow(gateway, ("plain", 5))
    assert code == POLICY_VIOLATION
    assert text.startswith("Topic 'plain' has 5 partitions")
    assert text.endswith("set by namespace 'org').")


async def test_an_alias_does_not_tell_where_a_topic_is_now() -> None:
    """Clients of a home know only the alias of a topic that was moved out of the home."""
    one = world()
    alias = Alias(LogicalName("org", "a"), 1 << 60)
    one.log.append([TopicEntry("org..a", LogicalName("free", "secret"), aliases=(alias,))])
    gateway = one.gateway(judge(namespaces={"free": {"partitions": {"max": 4}}}))
    inside = allowed(gateway, gateway.view("org"))
    ((_, code, text),) = await grow(gateway, ("a", 5), access=inside)
    assert code == POLICY_VIOLATION
    assert text == "The policies of where topic 'a' is now do not allow that."


async def test_a_number_that_no_request_may_make() -> None:
    """For a topic whose partitions differ."""
    one = world()
    one.broker.topics["org..a"].partitions = 2
    one.broker.topics["org..a"].assigned = {1: (1, 2)}
    gateway = strict(one, replication_factor={"max": 3})
    ((_, code, text),) = await grow(gateway, ("org:a", 2**31 - 1))
    assert (code, text) == (POLICY_VIOLATION, "Excessively large number of partitions per request.")


async def test_what_is_away_is_to_be_tried_again() -> None:
    one = world()
    gateway = strict(one, partitions={"max": 4})
    one.broker.down = True
    assert codes(await grow(gateway, ("org:a", 2))) == [TIMED_OUT]
    gateway.catalog.down, gateway.catalog.fresh = True, False
    assert codes(await grow(gateway, ("org:a", 2))) == [TIMED_OUT]
    one.broker.down = gateway.catalog.down = False
    gateway.catalog.fresh = True

    def down() -> None:
        one.broker.down = True

    one.step = once("ask MetadataRequest", down)
    assert codes(await grow(gateway, ("org:a", 2))) == [TIMED_OUT]


async def test_a_topic_that_goes_meanwhile() -> None:
    one = world()
    gateway = strict(one, partitions={"max": 4})
    one.step = once("list", lambda: one.broker.topics.pop("org..a"))
    ((_, code, text),) = await grow(gateway, ("org:a", 2))
    assert code == TIMED_OUT
    assert "does not describe the topic" in text


# -- counts ----------------------------------------------------------------------------------------


async def test_only_what_is_added_counts() -> None:
    one = world()
    gateway = strict(one, max_partitions=5, max_topics=2)
    told = await grow(gateway, ("org:a", 3), ("org:b", 3))
    assert codes(told) == [0, POLICY_VIOLATION]
    assert "namespace 'org' would have 6 partitions, and at most 5 are allowed" in told[1][2]
    assert codes(await grow(gateway, ("org:b", 2), ("org:sub:c", 5))) == [0, 0]
    assert codes(await grow(gateway, ("org:b", 3))) == [POLICY_VIOLATION]


async def test_it_counts_before_any_listing_has_it() -> None:
    one = world()
    first, second = strict(one, max_partitions=5), strict(one, max_partitions=5)
    second.cluster.lagging = {"org..b": one.broker.topics["org..b"].topic_id}
    assert codes(await grow(first, ("org:a", 4))) == [0]
    entry = one.snapshot.topics["org..a"]
    assert (entry.counted, entry.creating) == (4, False)
    assert codes(await grow(second, ("org:b", 2))) == [POLICY_VIOLATION]


async def test_what_the_broker_rejects_in_the_end_does_not_count(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    one = world()
    gateway = strict(one, max_partitions=5)
    validate = FakePartitions._grow

    def reject(self: FakePartitions, asked: Any, validate_only: bool) -> tuple[int, str | None]:
        return validate(self, asked, validate_only) if validate_only else (44, "Not here.")

    monkeypatch.setattr(FakePartitions, "_grow", reject)
    assert codes(await grow(gateway, ("org:a", 4))) == [44]
    assert one.snapshot.topics == {}


async def test_what_may_have_been_made_counts() -> None:
    one = world()
    gateway = strict(one, max_partitions=5)

    def down() -> None:
        one.broker.down = True

    one.step = once("changed", down)
    assert codes(await grow(gateway, ("org:a", 4))) == [TIMED_OUT]
    assert one.snapshot.topics["org..a"].counted == 4


async def test_a_topic_that_is_moved_meanwhile_is_to_be_asked_about_again() -> None:
    one = world()
    gateway = strict(one, max_partitions=5)

    def move() -> None:
        one.log.append([TopicEntry("org..a", LogicalName("org:sub", "a"))])

    one.step = once("change", move)
    ((_, code, text),) = await grow(gateway, ("org:a", 4))
    assert (code, text) == (TIMED_OUT, "The topic was moved in the meantime; try again.")
    assert partitions(one)["org..a"] == 1


async def test_a_count_that_is_old_is_none() -> None:
    one = world()
    gateway = strict(one, max_partitions=5)
    clock = gateway.context.clock
    assert isinstance(clock, Clock)
    one.step = once("change", lambda: clock.forward(seconds=31))
    assert codes(await grow(gateway, ("org:a", 2))) == [TIMED_OUT]
