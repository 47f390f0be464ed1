"""Existing topics as policies see them."""

from __future__ import annotations

from contextlib import nullcontext

import pytest

from gateway.catalog.entities import Namespace, TopicEntry
from gateway.changes.base import topic_policies as module
from gateway.changes.base.rejected import Rejected
from gateway.changes.base.topic_policies import MAX_NEW, Layout, Metadata, TopicFacts, read_facts
from gateway.names import LogicalName
from tests.changes.fakes import FakeGateway, World

KEY = "retention.ms"


def world() -> World:
    made = World(["org:sub"])
    made.log.append([Namespace("org", {KEY: "5"})])
    made.broker.make("org..x", retention_ms="5", segment_bytes="7")
    made.broker.make("plain", "other", cleanup_policy="compact")
    made.broker.topics["plain"].partitions = 2
    return made


def asker(gateway: FakeGateway) -> Metadata:
    return Metadata(gateway.context, "User:alice", gateway.catalog.snapshot)


async def test_a_topic_as_the_broker_has_it() -> None:
    gateway = world().gateway()
    facts = await read_facts(gateway.context, ["org..x", "plain"])
    one = facts["org..x"]
    assert (one.flat, one.replicas) == ("org..x", {0: (1,)})
    assert one.dynamic == {KEY: "5", "segment.bytes": "7"}
    # A value that is set on the topic hides the default, which a new topic would get.
    assert one.defaults[KEY] == "604800000"
    assert one.defaults["max.message.bytes"] == "1048588"
    assert one.own(gateway.catalog.snapshot) == {"segment.bytes": "7"}
    assert facts["plain"].own(gateway.catalog.snapshot) == {"cleanup.policy": "compact"}
    assert facts["plain"].replicas == {0: (1,), 1: (1,)}


async def test_defaults_that_are_not_told() -> None:
    """Brokers before Kafka 2.4 do not return the defaults of a new topic."""
    one = world()
    one.broker.newest["CreateTopicsRequest"] = 4
    facts = await read_facts(one.gateway().context, ["org..x"])
    assert facts["org..x"].defaults[KEY] is None
    assert facts["org..x"].defaults["max.message.bytes"] == "1048588"


async def test_a_broker_that_has_not_heard_of_it_yet(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_PAUSE", 0.0)
    one = world()
    looks = 0

    async def step(name: str) -> None:
        nonlocal looks
        looks += name == "ask MetadataRequest"
        if looks == 3:
            one.broker.make("late")

    one.step = step
    facts = await read_facts(one.gateway().context, ["late", "plain"])
    assert set(facts) == {"late", "plain"}
    assert looks == 3


async def test_what_does_not_exist_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_PAUSE", 0.0)
    one = world()
    assert set(await read_facts(one.gateway().context, ["gone", "plain"])) == {"plain"}
    one.broker.topics.clear()
    assert await read_facts(one.gateway().context, ["plain"]) == {}


async def test_a_topic_that_goes_between_two_questions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_PAUSE", 0.0)
    one = world()

    async def step(name: str) -> None:
        if name == "ask DescribeConfigsRequest":
            one.broker.topics.pop("plain", None)

    one.step = step
    assert set(await read_facts(one.gateway().context, ["plain", "other"])) == {"other"}


async def test_a_broker_that_does_not_tell(monkeypatch: pytest.MonkeyPatch) -> None:
    one = world()
    describe = one.broker._DescribeConfigsRequest

    def reject(request: object, cls: type) -> object:
        response = describe(request, cls)
        (result,) = response.results
        object.__setattr__(result, "error_code", type(result.error_code)(29))
        return response

    monkeypatch.setattr(one.broker, "_DescribeConfigsRequest", reject)
    with pytest.raises(Rejected, match="does not tell"):
        await read_facts(one.gateway().context, ["plain"])


def facts(*replicas: tuple[int, ...]) -> TopicFacts:
    return TopicFacts("plain", dict(enumerate(replicas)), {}, {KEY: "9", "flush.ms": None})


def test_new_partitions_are_like_the_first() -> None:
    assert facts((1, 2), (2, 3)).grown(4) == Layout(4, 2)
    assert facts((1, 2), (2, 3)).grown(2**31 - 1) == Layout(2**31 - 1, 2), "none is told apart"
    all_of_them = {0: (1, 2), 1: (3,), 2: (1, 2), 3: (1, 2)}
    assert facts((1, 2), (3,)).grown(4) == Layout(assignments=all_of_them)
    assigned = {0: (1, 2), 1: (4,), 2: (5,)}
    assert facts((1, 2)).grown(3, [(4,), (5,)]) == Layout(assignments=assigned)
    # Partitions that the broker has added meanwhile are counted.
    assert facts((1,), (2,)).grown(1) == Layout(2, 1)
    assert facts((1,), (2, 1)).grown(1) == Layout(assignments={0: (1,), 1: (2, 1)})


def test_more_than_a_request_may_make() -> None:
    for total, rejected in ((MAX_NEW + 2, False), (MAX_NEW + 3, True), (2**31 - 1, True)):
        with pytest.raises(Rejected) if rejected else nullcontext():
            facts((1,), (2, 1)).grown(total)


def test_counts_where_all_partitions_are_alike() -> None:
    gateway = world().gateway()
    name = LogicalName("org:sub", "x")
    seen = asker(gateway).of_topic(facts((1, 2), (2, 3)), name, {"flush.ms": "4"})
    assert (seen.topic, seen.namespace, seen.principal) == ("org:sub:x", "org:sub", "User:alice")
    assert (seen.num_partitions, seen.replication_factor) == (2, 2)
    assert seen.replicas_assignments is None
    assert seen.configs == {KEY: "5", "flush.ms": "4"}, "with what it inherits there"
    assert seen.effective_configs == {KEY: "5", "flush.ms": "4"}
    seen = asker(gateway).of_topic(facts((1, 2), (2,)), name, {}, {})
    assert (seen.num_partitions, seen.replication_factor) == (None, None)
    assert seen.replicas_assignments == {0: (1, 2), 1: (2,)}
    assert (seen.configs, seen.effective_configs[KEY]) == ({}, "9")
    layout = Layout(assignments={0: (1,), 1: (2,)})
    seen = asker(gateway).of_topic(facts((1,)), name, {}, layout=layout)
    assert seen.replicas_assignments == {0: (1,), 1: (2,)}


def test_a_topic_is_not_counted_among_the_others() -> None:
    one = world()
    gateway = one.gateway()
    here = asker(gateway).of_topic(facts((1,)), LogicalName("", "plain"), {})
    assert (here.namespace_topics, here.namespace_partitions) == (1, 1)
    there = asker(gateway).of_topic(facts((1,)), LogicalName("org", "plain"), {})
    assert (there.namespace_topics, there.namespace_partitions) == (1, 1)
    one.log.append([TopicEntry("plain", LogicalName("", "plain"), counted=7)])
    here = asker(gateway).of_topic(facts((1,)), LogicalName("", "plain"), {})
    assert (here.namespace_topics, here.namespace_partitions) == (1, 1)


def test_a_namespace() -> None:
    seen = asker(world().gateway()).of_namespace("org", {KEY: "6"}, {KEY: "1", "flush.ms": "2"})
    assert (seen.topic, seen.namespace, seen.partitions) == ("org:", "org", None)
    assert seen.configs == {KEY: "6"}
    assert seen.effective_configs == {KEY: "6", "flush.ms": "2"}
    assert (seen.namespace_topics, seen.namespace_partitions) == (1, 1)
