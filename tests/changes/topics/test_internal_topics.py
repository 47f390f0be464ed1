"""Internal topics of Streams groups that the gateway creates: which, how, and with what result."""

from __future__ import annotations

from collections.abc import Coroutine, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from gateway.catalog.entities import Namespace
from gateway.catalog.source import ACTOR, Actor
from gateway.changes.topics import internal_topics
from gateway.changes.topics.internal_partitions import InternalTopic, Subtopology
from gateway.changes.topics.internal_topics import (
    KEPT_BYTES,
    KEPT_ERRORS,
    LONGEST_ERROR,
    MAX_OF_A_TENANT,
    MAX_UNDER_WAY,
    InternalTopics,
    Topology,
)
from gateway.rules.group_members import LONGEST_IDS, MemberKey
from tests.changes.fake_broker import FakeTopic
from tests.changes.fakes import FakeGateway, World, allowed

ALICE = Actor("User:alice", api="StreamsGroupHeartbeat")
MEMBER: MemberKey = ("scope", "app", "m1")
LINES, REPARTITION, CHANGELOG = "org..lines", "org..app-r", "org..app-c"


@dataclass
class Sides:
    """A gateway whose broker has a source topic; ``waiting`` is the work to be run."""

    gateway: FakeGateway
    waiting: list[Coroutine[Any, Any, None]] = field(default_factory=list)
    now: float = 100.0

    def __post_init__(self) -> None:
        self.topics = InternalTopics(
            self.gateway.context, self.waiting.append, clock=lambda: self.now
        )
        self.gateway.broker.topics[LINES] = FakeTopic(b"1" * 16, {}, partitions=3)

    def create(self, topology: Topology, member: MemberKey = MEMBER, hold: float = 10.0) -> int:
        """Begin to create the topics; returns how many creations wait then."""
        self.topics.create(allowed(self.gateway), ALICE, member, topology, hold)
        return len(self.waiting)

    async def run(self) -> None:
        while self.waiting:
            await self.waiting.pop(0)

    @property
    def made(self) -> dict[str, FakeTopic]:
        return {name: topic for name, topic in self.gateway.broker.topics.items() if name != LINES}


def sides(configs: Mapping[str, str] | None = None) -> Sides:
    world = World(["org"])
    world.log.append([replace(world.snapshot.namespaces["org"], configs=configs or {})])
    assert isinstance(world.snapshot.namespaces["org"], Namespace)
    return Sides(world.gateway())


def topology(*parts: Subtopology, size: int = 100) -> Topology:
    named = [
        topic.name.encode() for part in parts for topic in (*part.repartitions, *part.changelogs)
    ]
    return Topology(named, lambda: parts, size)


def word_count() -> Topology:
    configs = (("cleanup.policy", "compact"),)
    return topology(
        Subtopology("0", sources=(LINES,), sinks=(REPARTITION,)),
        Subtopology(
            "1",
            repartitions=(InternalTopic(REPARTITION),),
            changelogs=(InternalTopic(CHANGELOG, configs=configs),),
        ),
    )


async def test_missing_topics_get_their_namespaces_configs() -> None:
    """Streams' own configs come before inherited ones."""
    both = sides({"cleanup.policy": "delete", "retention.ms": "77"})
    wanted = word_count()
    assert both.create(wanted) == 1
    await both.run()
    found = {name: (topic.partitions, topic.configs) for name, topic in both.made.items()}
    inherited = {"cleanup.policy": "delete", "retention.ms": "77"}
    compacted = {"cleanup.policy": "compact", "retention.ms": "77"}
    assert found == {REPARTITION: (3, inherited), CHANGELOG: (3, compacted)}
    assert wanted.errors == {}
    assert ACTOR.get().principal == "User:alice"


async def test_what_exists_is_left_alone_and_the_rest_is_created() -> None:
    both = sides()
    both.gateway.broker.topics[REPARTITION] = FakeTopic(b"2" * 16, {}, partitions=3)
    both.create(word_count())
    await both.run()
    requests = both.gateway.broker.requests("CreateTopicsRequest")
    assert [[topic.name for topic in request.topics] for request in requests] == [[CHANGELOG]]


async def test_nothing_is_created_while_a_source_is_missing_or_counts_differ() -> None:
    both = sides()
    both.gateway.broker.topics[REPARTITION] = FakeTopic(b"2" * 16, {}, partitions=5)
    wanted = word_count()
    both.create(wanted)
    await both.run()
    del both.gateway.broker.topics[LINES], both.gateway.broker.topics[REPARTITION]
    both.now += 60
    both.create(wanted)
    await both.run()
    assert not both.gateway.broker.requests("CreateTopicsRequest")
    assert wanted.errors == {}


async def test_a_rejection_is_reported_in_the_clients_names_and_tried_again_later() -> None:
    both = sides()
    both.gateway.broker.uncreatable[CHANGELOG] = (44, "x" * 5000)
    wanted = word_count()
    both.create(wanted)
    await both.run()
    assert [*both.made] == [REPARTITION]
    assert [*wanted.errors] == ["org:app-c"]
    assert len(wanted.errors["org:app-c"]) == LONGEST_ERROR
    assert both.create(wanted) == 0
    both.gateway.broker.uncreatable.clear()
    both.now += 10
    assert both.create(wanted) == 1
    await both.run()
    assert {*both.made} == {REPARTITION, CHANGELOG}
    assert wanted.errors == {}


async def test_an_unreachable_cluster_is_reported() -> None:
    both = sides()
    both.gateway.broker.down = True
    wanted = word_count()
    both.create(wanted)
    await both.run()
    assert [*wanted.errors] == [""]


async def test_a_group_is_served_once_at_a_time_and_few_groups_together() -> None:
    both = sides()
    for number in range(MAX_UNDER_WAY + 2):
        for member in "ab":
            both.create(word_count(), (f"scope-{number}", "app", member))
    assert len(both.waiting) == MAX_UNDER_WAY
    await both.run()
    assert both.create(word_count()) == 1
    await both.run()


async def test_a_tenant_leaves_room_for_others() -> None:
    both = sides()
    for number in range(MAX_UNDER_WAY):
        both.create(word_count(), ("large", f"app-{number}", "m"))
    assert len(both.waiting) == MAX_OF_A_TENANT
    assert both.create(word_count(), ("small", "app", "m")) == MAX_OF_A_TENANT + 1
    await both.run()


async def test_few_errors_are_kept_and_all_are_counted() -> None:
    both = sides()
    changelogs = tuple(InternalTopic(f"org..c{number}") for number in range(150))
    for one in changelogs:
        both.gateway.broker.uncreatable[one.name] = (44, "no")
    wanted = topology(Subtopology("2", (LINES,), changelogs=changelogs))
    both.create(wanted)
    await both.run()
    assert (len(wanted.errors), wanted.failed) == (KEPT_ERRORS, len(changelogs))


async def test_many_partitions_are_created_in_several_requests() -> None:
    both = sides()
    names = [f"org..r{number}" for number in range(5)]
    changelogs = tuple(InternalTopic(f"org..c{number}") for number in range(150))
    parts = (
        Subtopology("0", (LINES,), tuple(names)),
        *(Subtopology(f"1{n}", repartitions=(InternalTopic(n, 4_000),)) for n in names),
        Subtopology("2", (LINES,), changelogs=changelogs),
    )
    wanted = topology(*parts)
    both.create(wanted)
    await both.run()
    assert wanted.errors == {}
    assert len(both.made) == len(names) + len(changelogs)
    requests = both.gateway.broker.requests("CreateTopicsRequest")
    assert all(sum(t.num_partitions for t in one.topics) <= 10_000 for one in requests)


def test_what_is_kept_is_bounded_for_each_tenant() -> None:
    """The tenant that keeps most loses its oldest; the others lose nothing."""
    kept = sides().topics
    size = KEPT_BYTES // 4
    kept.keep(("small", "app", "m"), topology(size=10))
    for number in range(20):
        kept.keep(("large", "app", str(number)), topology(size=size))
        assert kept.bytes_kept <= KEPT_BYTES
    assert kept.topology_of(("small", "app", "m")) is not None
    assert kept.topology_of(("large", "app", "19")) is not None
    assert kept.topology_of(("large", "app", "0")) is None
    kept.keep(("large", "app", "x" * LONGEST_IDS), topology(size=10))
    assert kept.topology_of(("large", "app", "x" * LONGEST_IDS)) is None
    kept.keep(("large", "app", "x"), topology(size=KEPT_BYTES + 1))
    assert kept.topology_of(("large", "app", "x")) is None
    for number in range(20):
        kept.forget(("large", "app", str(number)))
    kept.forget(("small", "app", "m"))
    assert kept.bytes_kept == 0


def test_a_topology_that_is_kept_again_counts_once() -> None:
    kept = sides().topics
    add = partial(kept.keep, MEMBER)
    add(topology(size=10))
    once = kept.bytes_kept
    add(topology(size=10))
    assert kept.bytes_kept == once
    assert once < 10 + 2 * internal_topics._OVERHEAD
