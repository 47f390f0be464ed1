"""Any sequence of creations, moves, new names, growths, adoptions and deletions, by two gateways:
no namespace and no tree ever has more topics or partitions than its limits allow."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterable
from typing import Any
from unittest.mock import patch

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from gateway.changes.jobs.namespace_deletion import NamespaceDeletion
from gateway.names import parents
from tests.changes.admin_requests import create, create_shaped, delete
from tests.changes.config_requests import RELEASING, alter, moving
from tests.changes.fakes import FakeGateway, World
from tests.changes.judges import judge
from tests.changes.topics.test_create_partitions import grow
from tests.examples import examples

NAMESPACES = ["org", "org:a", "org:a:b", "free"]
TOPICS = ["x", "y", "mm2-1.internal", "mm2-2.internal", "mm2-3.internal", "A.checkpoints.internal"]
BOUND = 2
"""The number of MirrorMaker's own topics that each limit leaves out here."""

LIMITS = ["max_topics", "max_partitions", "max_topics_in_tree", "max_partitions_in_tree"]
PLACES = st.sampled_from(["", *NAMESPACES])
NAMES = st.sampled_from(TOPICS)
MANY = st.sampled_from([1, 2, 3, 25, 26])
WHICH = st.integers(0, 1)
BLOCK = st.dictionaries(st.sampled_from(LIMITS), st.integers(1, 6), max_size=3)


def is_own(topic: str) -> bool:
    """Whether a topic has a name of MirrorMaker's own (KIP-1074)."""
    return topic.startswith("mm2") or topic.endswith(".checkpoints.internal")


class Limited(RuleBasedStateMachine):
    """``limits`` are the limits of each block: ``*`` is everywhere, ``""`` the default
    namespace."""

    def __init__(self) -> None:
        super().__init__()
        self.world = World(NAMESPACES)
        self.limits: dict[str, dict[str, int]] = {}
        self.gateways: list[FakeGateway] = []
        self.patched = patch("gateway.changes.base.usage.UNCOUNTED", BOUND)
        self.patched.start()

    def teardown(self) -> None:
        self.patched.stop()

    @initialize(everywhere=BLOCK, default=BLOCK, org=BLOCK, below=BLOCK)
    def configure(self, **blocks: dict[str, int]) -> None:
        places = {"everywhere": "*", "default": "", "org": "org", "below": "org:a"}
        self.limits = {places[name]: block for name, block in blocks.items()}
        policies: dict[str, Any] = {
            "everywhere": blocks["everywhere"],
            "default_namespace": blocks["default"],
            "namespaces": {"org": blocks["org"], "org:a": blocks["below"]},
        }
        self.gateways = [self.world.gateway(judge(**policies)) for _ in range(2)]

    def run(self, request: Coroutine[Any, Any, object]) -> None:
        self.world.clock.forward(seconds=1)
        asyncio.run(request)

    # -- requests of clients --------------------------------------------------------------------

    @rule(which=WHICH, place=PLACES, name=NAMES, partitions=MANY)
    def create(self, which: int, place: str, name: str, partitions: int) -> None:
        topic = f"{place}:{name}" if place else name
        self.run(create_shaped(self.gateways[which], topic, partitions=partitions))

    @rule(which=WHICH, place=PLACES, partitions=MANY)
    def create_all(self, which: int, place: str, partitions: int) -> None:
        topics = [f"{place}:{name}" if place else name for name in TOPICS]
        self.run(create_shaped(self.gateways[which], *topics, partitions=partitions))

    @rule(which=WHICH, number=st.integers(0), place=PLACES, name=NAMES)
    def move(self, which: int, number: int, place: str, name: str) -> None:
        topic = self.one(number)
        if topic:
            self.run(alter(self.gateways[which], topic, moving(place or ":", name)))

    @rule(which=WHICH, number=st.integers(0))
    def release(self, which: int, number: int) -> None:
        topic = self.one(number)
        if topic:
            self.run(alter(self.gateways[which], topic, RELEASING))

    @rule(which=WHICH, number=st.integers(0), total=MANY)
    def add_partitions(self, which: int, number: int, total: int) -> None:
        topic = self.one(number)
        if topic:
            self.run(grow(self.gateways[which], (topic, total)))

    @rule(which=WHICH, number=st.integers(0))
    def delete(self, which: int, number: int) -> None:
        topic = self.one(number)
        if topic:
            self.run(delete(self.gateways[which], topic))

    @rule(which=WHICH, place=st.sampled_from(["org:a", "org:a:b", "free"]), again=WHICH)
    def delete_namespace(self, which: int, place: str, again: int) -> None:
        """Its topics first; then the topics that have its names by then are adopted."""

        async def deleted() -> None:
            gateway = self.gateways[which]
            for flat in list(self.world.broker.topics):
                owner = self.world.snapshot.owner(flat)
                if place in parents(owner.namespace):
                    await delete(gateway, str(owner))
            await delete(gateway, f"{place}:")
            job = NamespaceDeletion(gateway.context)
            for _ in range(5):
                for task in list(job.tasks(gateway.catalog.snapshot)):
                    self.world.clock.forward(seconds=await job.run(task) or 0)
            adopt: dict[str, str | None] = {"gateway.adopt": "true"}
            await create(self.gateways[again], f"{place}:", configs=adopt)

        self.run(deleted())

    def one(self, number: int) -> str:
        """The main name of one of the topics, in the colon spelling, or empty if there is no
        topic."""
        flats = sorted(self.world.broker.topics)
        if not flats:
            return ""
        owner = self.world.snapshot.owner(flats[number % len(flats)])
        return str(owner) if owner.namespace else ":" + owner.topic

    # -- the limits that hold -------------------------------------------------------------------

    @invariant()
    def no_limit_is_exceeded(self) -> None:
        paths = ["", *NAMESPACES]
        for place, limits in self.limits.items():
            tree = [path for path in paths if place == "*" or place in (parents(path) or [""])]
            for path in tree:
                topics, partitions = self.counted([path])
                assert topics <= limits.get("max_topics", topics), (place, path)
                assert partitions <= limits.get("max_partitions", partitions), (place, path)
            topics, partitions = self.counted(tree)
            assert topics <= limits.get("max_topics_in_tree", topics), place
            assert partitions <= limits.get("max_partitions_in_tree", partitions), place

    def counted(self, paths: Iterable[str]) -> tuple[int, int]:
        """Topics and partitions of these namespaces, without the first of MirrorMaker's own."""
        left = BOUND
        sizes = []
        for flat, topic in sorted(self.world.broker.topics.items()):
            owner = self.world.snapshot.owner(flat)
            if owner.namespace not in paths:
                continue
            if left and is_own(owner.topic) and topic.partitions <= 25:
                left -= 1
            else:
                sizes.append(topic.partitions)
        return len(sizes), sum(sizes)


TestLimited = Limited.TestCase
TestLimited.settings = settings(
    max_examples=examples(60),
    stateful_step_count=25,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
