"""Any sequence of moves, releases and changes of configs, some of them cut off by a crash."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from gateway.changes.jobs.background import ApplyJob
from tests.changes.config_requests import (
    RELEASING,
    Change,
    alter,
    deleting,
    describe,
    moving,
    replace_configs,
)
from tests.changes.fake_broker import no_step
from tests.changes.fakes import Crash, World, crash_at
from tests.examples import examples

NAMESPACES = ["a", "a:b", "c"]
KEYS = ["retention.ms", "segment.bytes", "max.message.bytes"]
VALUES = ["1", "2", "3"]
FLATS = ["a..x", "a.b..x", "c..y", "x", "y", "c.z"]
SET = 0

TOPICS = st.sampled_from(FLATS)
CRASHES = st.none() | st.integers(0, 25)
"""The step at which the process is gone, or None if it completes the request."""


class Moves(RuleBasedStateMachine):
    """``own`` are the configs that a client set on a topic and got a response for, by flat name."""

    def __init__(self) -> None:
        super().__init__()
        self.world = World(NAMESPACES)
        self.world.broker.make(*FLATS)
        self.own: dict[str, dict[str, str]] = {flat: {} for flat in FLATS}
        self.settled = True

    def name(self, flat: str) -> str:
        """The main name of a topic, in the colon spelling."""
        owner = self.world.snapshot.owner(flat)
        return str(owner) if owner.namespace else ":" + owner.topic

    def run(self, request: Coroutine[None, None, object], crash: int | None) -> object:
        """The result, or None if the process was gone before the response."""
        self.world.step = no_step if crash is None else crash_at(crash)
        self.settled = crash is None and self.settled
        try:
            return asyncio.run(request)
        except Crash:
            return None
        finally:
            self.world.step = no_step

    def asked(self, name: str, changes: list[Change], crash: int | None) -> int | None:
        answer = self.run(alter(self.world.gateway(), name, changes), crash)
        return answer[0] if isinstance(answer, tuple) else None

    @rule(
        flat=TOPICS,
        namespace=st.sampled_from([*NAMESPACES, "", "missing"]),
        topic=st.none() | st.sampled_from(["x", "y", "z"]),
        until=st.none() | st.sampled_from(["2030-01-01"]),
        crash=CRASHES,
    )
    def move(
        self, flat: str, namespace: str, topic: str | None, until: str | None, crash: int | None
    ) -> None:
        self.world.clock.forward(seconds=1)
        self.asked(self.name(flat), moving(namespace, topic, until), crash)

    @rule(flat=TOPICS, crash=CRASHES)
    def release(self, flat: str, crash: int | None) -> None:
        self.asked(self.name(flat), RELEASING, crash)

    @precondition(lambda self: self.settled)
    @rule(flat=TOPICS, key=st.sampled_from(KEYS), value=st.sampled_from(VALUES), crash=CRASHES)
    def set_on_topic(self, flat: str, key: str, value: str, crash: int | None) -> None:
        code = self.asked(self.name(flat), [(key, SET, value)], crash)
        if code is None:
            # Either value may have come through; whichever it was, it stays.
            self.own[flat].pop(key, None)
        else:
            assert code == 0
            self.own[flat][key] = value

    @precondition(lambda self: self.settled)
    @rule(flat=TOPICS, key=st.sampled_from(KEYS), crash=CRASHES)
    def delete_on_topic(self, flat: str, key: str, crash: int | None) -> None:
        code = self.asked(self.name(flat), deleting(key), crash)
        assert code in (0, None)
        self.own[flat].pop(key, None)

    @precondition(lambda self: self.settled)
    @rule(flat=TOPICS, key=st.sampled_from(KEYS), value=st.sampled_from(VALUES))
    def replace_on_topic(self, flat: str, key: str, value: str) -> None:
        request = replace_configs(self.world.gateway(), [(self.name(flat), {key: value})])
        assert self.run(request, None) == [(0, None)]
        self.own[flat] = {key: value}

    @rule(
        namespace=st.sampled_from(NAMESPACES),
        key=st.sampled_from(KEYS),
        value=st.none() | st.sampled_from(VALUES),
        crash=CRASHES,
    )
    def set_on_namespace(
        self, namespace: str, key: str, value: str | None, crash: int | None
    ) -> None:
        changes: list[Change] = [(key, SET, value)]
        changes = deleting(key) if value is None else changes
        assert self.asked(namespace + ":", changes, crash) in (0, None)

    @rule(crash=CRASHES)
    def jobs(self, crash: int | None) -> None:
        """Let some worker continue the work that was begun."""

        async def every_task() -> None:
            job = ApplyJob(self.world.gateway().context)
            for task in list(job.tasks(self.world.snapshot)):
                await job.run(task)

        self.run(every_task(), crash)
        if crash is None:
            job = ApplyJob(self.world.gateway().context)
            assert list(job.tasks(self.world.snapshot)) == []
            self.settled = True

    @invariant()
    def every_topic_has_one_name_that_reaches_it(self) -> None:
        snapshot = self.world.snapshot
        owners = [snapshot.owner(flat) for flat in FLATS]
        assert len(set(owners)) == len(owners)
        for flat, owner in zip(FLATS, owners, strict=True):
            assert snapshot.flat_of(owner) == flat
            assert snapshot.missing_tier(owner.namespace) is None
        ids = [entry.topic_id for entry in snapshot.topics.values() if entry.topic_id]
        assert len(set(ids)) == len(ids)

    @invariant()
    def own_configs_are_never_lost(self) -> None:
        for flat, own in self.own.items():
            held = self.world.broker.topics[flat].configs
            assert own.items() <= held.items(), flat

    @invariant()
    def settled_topics_hold_what_is_theirs_and_what_they_inherit(self) -> None:
        snapshot = self.world.snapshot
        if not self.settled:
            return
        for flat in FLATS:
            entry, owner = snapshot.topics.get(flat), snapshot.owner(flat)
            own = set(entry.own_configs) if entry is not None else set()
            held = self.world.broker.topics[flat].configs
            inherited = snapshot.effective_configs(owner.namespace)
            for key, (value, _) in inherited.items():
                assert key in own or held.get(key) == value
            if owner.namespace:
                assert self.own[flat].keys() <= own
                assert held.keys() <= own | inherited.keys()
                self._is_told(flat, own)

    def _is_told(self, flat: str, own: set[str]) -> None:
        told = asyncio.run(describe(self.world.gateway(), self.name(flat)))
        told.pop("gateway.namespace")
        for key in self.world.broker.topics[flat].configs:
            assert told[key][1] == (1 if key in own else 3)


TestMoves = Moves.TestCase
TestMoves.settings = settings(
    max_examples=examples(60),
    stateful_step_count=25,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
