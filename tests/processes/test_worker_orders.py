"""Orders of the supervisor as lines, and a worker that carries them out."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import cast

import pytest

from gateway.config.policies import PolicySettings
from gateway.policies.instance import PolicyError
from gateway.processes.worker_messages import (
    Abort,
    Commit,
    MakeRoom,
    Observe,
    Order,
    Prepare,
    Prepared,
)
from gateway.processes.worker_messages import decode_message as decode
from gateway.processes.worker_messages import encode_message as encode
from gateway.processes.worker_orders import OrderTaker
from gateway.processes.worker_policies import WorkerPolicies
from gateway.telemetry.told import TellClients
from tests.waiting import eventually

SETTINGS = PolicySettings.model_validate(
    {
        "everywhere": {"create.topic.policy.class.name": "acme:Naming", "mode": "warn"},
        "namespaces": {
            "org": {"partitions": {"max": 3}, "configs": {"required": {"retention.ms": None}}}
        },
    }
)


ROOM = MakeRoom("main", 3, "User:alice", "", 2)


@pytest.mark.parametrize(
    "order",
    [
        Prepare(1, SETTINGS),
        Prepare(1, SETTINGS, {"ny": SETTINGS}),
        Commit(2),
        Abort(),
        Observe(3.0),
        Observe(0.5, clusters=True),
        ROOM,
        TellClients(7),
    ],
)
def test_orders_survive(order: Order) -> None:
    line = encode(order)
    assert line.endswith(b"\n")
    assert line.count(b"\n") == 1
    assert decode(line) == order


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"[]",
        b"{}",
        b'{"prepare": 1}',
        b'{"prepare": 1, "policies": {"x": 1}, "of_clusters": {}}',
        b'{"prepare": 1, "policies": {}, "of_clusters": {"a": 1}}',
        b'{"commit": "1"}',
        b'{"abort": false}',
        b'{"observe": "3", "clusters_too": true}',
        b'{"observe": 3.0}',
        b'{"make_room": ["User:alice"], "cluster": "main", "node": 3, "mine": 2}',
        b'{"make_room": ["User:alice", ""], "cluster": "main", "node": "3", "mine": 2}',
    ],
)
def test_what_is_no_order(line: bytes) -> None:
    with pytest.raises(ValueError):
        decode(line)


class FakePolicies:
    """Notes the calls; ``error`` is raised, ``may`` is waited for."""

    def __init__(self) -> None:
        self.did: list[str] = []
        self.error: Exception | None = None
        self.may = asyncio.Event()
        self.may.set()

    async def prepare(
        self, settings: PolicySettings, of_clusters: Mapping[str, PolicySettings]
    ) -> None:
        assert settings == SETTINGS
        assert not of_clusters
        self.did.append("prepare")
        try:
            await self.may.wait()
        except asyncio.CancelledError:
            self.did.append("cancelled")
            raise
        if self.error is not None:
            raise self.error
        self.did.append("prepared")

    def commit(self) -> None:
        self.did.append("commit")

    async def abort(self) -> None:
        self.did.append("abort")


class Bench:
    """A worker's side, and its responses."""

    def __init__(self) -> None:
        self.policies = FakePolicies()
        self.answers: list[Prepared] = []
        self.observed: list[Observe] = []
        self.rooms: list[MakeRoom] = []
        self.taker = OrderTaker(
            cast(WorkerPolicies, self.policies),
            self.answers.append,
            self.observed.append,
            self.rooms.append,
        )

    def order(self, order: Order) -> None:
        self.taker(encode(order))

    async def answer(self) -> Prepared:
        await eventually(lambda: self.answers, "an answer")
        return self.answers.pop()


async def test_looking_is_no_matter_of_policies() -> None:
    bench = Bench()
    bench.policies.may.clear()
    bench.order(Prepare(1, SETTINGS))
    await eventually(lambda: bench.policies.did == ["prepare"], "the beginning")
    bench.order(Observe(3.0, clusters=True))
    bench.order(ROOM)
    assert bench.observed == [Observe(3.0, clusters=True)]
    assert bench.rooms == [ROOM]
    bench.policies.may.set()
    assert await bench.answer() == Prepared(1)


async def test_two_steps() -> None:
    bench = Bench()
    bench.order(Prepare(7, SETTINGS))
    assert await bench.answer() == Prepared(7)
    bench.order(Commit(7))
    bench.order(Commit(7))
    assert bench.policies.did == ["prepare", "prepared", "commit"]


async def test_what_was_not_prepared_is_not_committed() -> None:
    bench = Bench()
    bench.order(Commit(1))
    bench.order(Prepare(2, SETTINGS))
    assert await bench.answer() == Prepared(2)
    bench.order(Commit(1))
    bench.order(Abort())
    bench.order(Commit(2))
    await eventually(lambda: bench.policies.did[-1] == "abort", "the abort")
    assert bench.policies.did == ["prepare", "prepared", "abort"]


@pytest.mark.parametrize("order", [Abort(), Prepare(2, SETTINGS)])
async def test_an_order_ends_the_one_before(order: Order) -> None:
    bench = Bench()
    bench.policies.may.clear()
    bench.order(Prepare(1, SETTINGS))
    await eventually(lambda: bench.policies.did, "the first order")
    bench.order(order)
    bench.policies.may.set()
    last = "abort" if isinstance(order, Abort) else "prepared"
    await eventually(lambda: bench.policies.did[-1] == last, "the second order")
    assert bench.policies.did[:2] == ["prepare", "cancelled"]
    bench.order(Commit(1))
    assert bench.policies.did[-1] == last


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (PolicyError("there is no such class"), "there is no such class"),
        (OSError("no broker"), "no broker"),
        (RuntimeError("oops"), "preparing policies failed; its log says why"),
    ],
)
async def test_what_cannot_be_prepared(error: Exception, told: str) -> None:
    bench = Bench()
    bench.policies.error = error
    bench.order(Prepare(1, SETTINGS))
    assert await bench.answer() == Prepared(1, told)
    bench.order(Commit(1))
    assert bench.policies.did == ["prepare"]


def test_nonsense_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    OrderTaker(cast(WorkerPolicies, FakePolicies()), lambda _: None)(b"{}")
    assert caplog.messages == ["the supervisor sent no order: a line that is no message"]
