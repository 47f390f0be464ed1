"""Random histories of two gateways, with crashes and other changes between any two steps."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from typing import Any, Final

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from gateway.catalog.entities import Change, Removal, TopicEntry
from gateway.changes.jobs.background import Housekeeping
from gateway.changes.jobs.end_topic_removal import EndTopicRemoval
from gateway.changes.jobs.namespace_deletion import NamespaceDeletion
from gateway.decision import Denied
from gateway.names import LogicalName, below, is_end_topic, parents
from tests.changes.admin_requests import codes, create, delete
from tests.changes.fake_broker import FakeTopic
from tests.changes.fakes import Clock, Crash, FakeGateway, World, crash_at
from tests.examples import examples

NAMESPACES: Final = ["org", "org:a", "o"]
TOPICS: Final = ["x", "o..x", "org__x", "org..x", "org:x", "org:a:x", "org.a..y", "o:x", "o:x.y"]

Operation = Callable[["FakeGateway", "_Jobs"], Coroutine[Any, Any, Any]]


class _Jobs:
    """The background jobs of a gateway, which remember the tasks that they have seen."""

    def __init__(self, gateway: FakeGateway) -> None:
        self.deletion = NamespaceDeletion(gateway.context)
        self.housekeeping = Housekeeping(gateway.context)
        clock = gateway.context.clock
        assert isinstance(clock, Clock)
        self.ends = EndTopicRemoval(gateway.context, clock.seconds)


def _create(*names: str, **configs: str) -> Operation:
    values: dict[str, str | None] = {k.replace("_", "."): v for k, v in configs.items()}
    return lambda gateway, _: create(gateway, *names, configs=values)


def _delete(*names: str) -> Operation:
    return lambda gateway, _: delete(gateway, *names)


async def _vanish(gateway: FakeGateway, jobs: _Jobs) -> None:
    """Delete every namespace for good."""
    await delete(gateway, *(f"{path}:" for path in gateway.catalog.log.newest.namespaces))
    clock = gateway.context.clock
    assert isinstance(clock, Clock)
    for _ in range(5):
        await _work(gateway, jobs)
        clock.forward(seconds=2)


async def _work(gateway: FakeGateway, jobs: _Jobs) -> None:
    for job in (jobs.deletion, jobs.housekeeping, jobs.ends):
        for task in list(job.tasks(gateway.catalog.snapshot)):
            await job.run(task)


paths = st.sampled_from(NAMESPACES).map(lambda path: path + ":")
topics = st.sampled_from(TOPICS)
operations = st.one_of(
    st.builds(_create, topics),
    st.builds(_create, topics, retention_ms=st.just("5")),
    st.builds(_create, paths),
    st.builds(_delete, topics),
    st.builds(_delete, paths),
    st.just(_delete("org:", "org:a:")),
    st.just(_work),
)
gateways = st.integers(0, 1)
steps = st.integers(0, 9)


class Histories(RuleBasedStateMachine):
    """Two gateways, of which one may crash or be overtaken at any step of its requests."""

    def __init__(self) -> None:
        super().__init__()
        self.world = World()
        self.gateways = [self.world.gateway(), self.world.gateway()]
        self.jobs = [_Jobs(gateway) for gateway in self.gateways]
        self.loop = asyncio.new_event_loop()
        self.moves = 0
        self.adopting = False
        self._append = self.world.log.append
        self.world.log.append = self.append  # type: ignore[method-assign]

    def append(self, changes: Sequence[Change]) -> None:
        """Check that no decision takes a topic's name from it, unless it is adopted, and that a
        deleted namespace holds no topic, because otherwise its name would be free too early."""
        owner = self.world.snapshot.owner
        before = {flat: owner(flat) for flat in self.topics}
        for change in changes:
            if isinstance(change, Removal) and change.key[0] == "namespace":
                assert not any(
                    below(name.namespace, change.key[1]) is not None for name in before.values()
                )
        self._append(changes)
        if not self.adopting:
            assert {flat: self.world.snapshot.owner(flat) for flat in before} == before

    @property
    def topics(self) -> dict[str, FakeTopic]:
        """The broker's topics, except end topics."""
        made = self.world.broker.topics
        return {flat: topic for flat, topic in made.items() if not is_end_topic(flat)}

    def run(self, which: int, operation: Operation) -> Any:
        return self.loop.run_until_complete(operation(self.gateways[which], self.jobs[which]))

    @rule(which=gateways, operation=operations)
    def undisturbed(self, which: int, operation: Operation) -> None:
        self.run(which, operation)

    @rule(which=gateways, name=st.sampled_from(TOPICS))
    def what_is_said_to_be_made_is_there(self, which: int, name: str) -> None:
        if codes(self.run(which, _create(name, retention_ms="7"))) == [0]:
            found = self.gateways[which].view().resolve(name.encode())
            assert not isinstance(found, Denied)
            assert found.flat.decode() in self.world.broker.topics
            entry = self.world.snapshot.topics.get(found.flat.decode())
            assert not found.namespace or (entry and "retention.ms" in entry.own_configs)

    @rule(which=gateways, operation=operations, number=steps)
    def crashed(self, which: int, operation: Operation, number: int) -> None:
        self.world.step = crash_at(number)
        try:
            self.run(which, operation)
        except Crash:
            self.gateways[which] = self.world.gateway()
            self.jobs[which] = _Jobs(self.gateways[which])
        finally:
            self.world.step = crash_at(-1)

    @rule(which=gateways, operation=operations, number=steps, other=operations)
    def overtaken(self, which: int, operation: Operation, number: int, other: Operation) -> None:
        async def step(_: str) -> None:
            nonlocal number
            number -= 1
            if number == -1:
                await other(self.gateways[1 - which], self.jobs[1 - which])

        self.world.step = step
        self.run(which, operation)
        self.world.step = crash_at(-1)

    @rule(which=gateways, path=paths, number=st.one_of(st.none(), steps))
    def adopted(self, which: int, path: str, number: int | None) -> None:
        self.adopting = True
        adopt = _create(path, gateway_adopt="true")
        if number is None:
            self.run(which, adopt)
        else:
            self.crashed(which, adopt, number)
        self.adopting = False

    @rule(
        which=gateways,
        name=st.sampled_from(["org:x", "o:x", "org:a:x"]),
        configs=st.sampled_from([{}, {"retention_ms": "7"}]),
        number=steps,
    )
    def made_while_its_namespace_goes(
        self, which: int, name: str, configs: dict[str, str], number: int
    ) -> None:
        """Either it was made in the namespace, or it does not exist."""
        self.run(which, _create(name.rpartition(":")[0] + ":"))
        before = {topic.topic_id for topic in self.world.broker.topics.values()}
        self.overtaken(which, _create(name, **configs), number, _vanish)
        for flat, topic in self.topics.items():
            if topic.topic_id not in before:
                assert str(self.world.snapshot.owner(flat)) == name

    @rule(flat=st.sampled_from(["x", "o..x", "org..x", "org__x"]), where=st.sampled_from(["", "o"]))
    def moved(self, flat: str, where: str) -> None:
        """Leave a move as gateway/changes/topics/move.py does: an entry with a name that no topic
        has."""
        snapshot = self.world.snapshot
        missing = snapshot.missing_tier(where) or snapshot.missing_tier(
            snapshot.owner(flat).namespace
        )
        if flat in self.world.broker.topics and missing is None:
            self.moves += 1
            name = LogicalName(where, f"moved{self.moves}")
            self._append([TopicEntry(flat, name, self.moves.to_bytes(16, "big"))])

    @rule(seconds=st.sampled_from([1, 3, 70]))
    def time_passes(self, seconds: int) -> None:
        self.world.clock.forward(seconds=seconds)

    @invariant()
    def no_namespace_lacks_its_parents(self) -> None:
        namespaces = self.world.snapshot.namespaces
        assert all(tier in namespaces for path in namespaces for tier in parents(path))

    @invariant()
    def nothing_in_a_missing_namespace_is_reachable(self) -> None:
        view, snapshot = self.gateways[0].view(), self.world.snapshot
        for path in NAMESPACES:
            if snapshot.missing_tier(path) is not None:
                assert isinstance(view.resolve(f"{path}:x".encode()), Denied)
        for flat in self.topics:
            missing = snapshot.missing_tier(snapshot.owner(flat).namespace)
            assert (view.spell(flat.encode()) is None) is (missing is not None)

    @invariant()
    def every_topic_has_a_name_of_its_own_that_leads_to_it(self) -> None:
        snapshot = self.world.snapshot
        owners = {snapshot.owner(flat): flat for flat in self.world.broker.topics}
        assert len(owners) == len(self.world.broker.topics)
        assert all(snapshot.flat_of(name) == flat for name, flat in owners.items())

    def teardown(self) -> None:
        """Whatever happened, the jobs bring it to an end."""
        for _ in range(6):
            self.world.clock.forward(seconds=70)
            self.gateways[0].cluster.list()
            self.run(0, _work)
        snapshot = self.world.snapshot
        assert not snapshot.deleting
        assert not [entry for entry in snapshot.topics.values() if entry.creating]
        assert self.topics == self.world.broker.topics
        self.loop.close()


TestHistories = Histories.TestCase
TestHistories.settings = settings(max_examples=examples(80), stateful_step_count=25)
