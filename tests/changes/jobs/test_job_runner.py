"""The runner of background jobs: which tasks run when, and how failures are handled."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager

import pytest

from gateway.catalog.entities import Namespace
from gateway.catalog.snapshot import Snapshot
from gateway.catalog.source import ACTOR, GATEWAY, Actor
from gateway.changes.jobs.job_runner import MAX_TASKS, JobRunner, Task
from gateway.changes.jobs.namespace_deletion import NamespaceDeletion, deletion_task
from tests.changes.admin_requests import delete
from tests.changes.fakes import FakeGateway, World

Act = Callable[[Task], Awaitable[float | None]]


class Chores:
    """A job with a task for each namespace that exists."""

    def __init__(self, act: Act) -> None:
        self.act = act
        self.ran: list[str] = []

    def tasks(self, snapshot: Snapshot) -> Iterable[Task]:
        return [Task("chore", path, 1) for path in snapshot.namespaces]

    async def run(self, task: Task) -> float | None:
        self.ran.append(task.about)
        return await self.act(task)


async def nothing(_: Task) -> float | None:
    return None


@asynccontextmanager
async def running(
    gateway: FakeGateway, *jobs: Chores | NamespaceDeletion, head_start: float = 0.0
) -> AsyncIterator[JobRunner]:
    runner = JobRunner(gateway.context, jobs, head_start=head_start, poll_interval=0.05)
    runner.start()
    try:
        yield runner
    finally:
        await runner.stop()


async def until(condition: Callable[[], object]) -> None:
    async with asyncio.timeout(120):
        while not condition():
            await asyncio.sleep(0.005)


async def test_a_catalog_change_wakes_it() -> None:
    world = World()
    job = Chores(nothing)
    async with running(world.gateway(), job):
        await asyncio.sleep(0.02)
        assert not job.ran
        world.log.append([Namespace("org")])
        await until(lambda: job.ran)
    assert job.ran[0] == "org"


async def test_a_head_start_is_given_and_a_claim_is_at_once() -> None:
    world = World(["claimed", "others"])
    job = Chores(nothing)
    async with running(world.gateway(), job, head_start=30) as runner:
        await asyncio.sleep(0.1)
        assert not job.ran
        runner.claim(Task("chore", "claimed", 1))
        await until(lambda: job.ran)
        await asyncio.sleep(0.1)
    assert job.ran == ["claimed"]


async def test_a_head_start_comes_to_its_end() -> None:
    job = Chores(nothing)
    async with running(World(["org"]).gateway(), job, head_start=0.02):
        await until(lambda: job.ran)


async def test_it_goes_on_when_the_job_wants_to() -> None:
    async def in_parts(_: Task) -> float | None:
        return 0.0

    job = Chores(in_parts)
    async with running(World(["org"]).gateway(), job):
        await until(lambda: len(job.ran) >= 3)


async def test_a_task_does_not_run_twice_at_once_and_others_go_on() -> None:
    never = asyncio.Event()

    async def hang(task: Task) -> float | None:
        if task.about == "stuck":
            await never.wait()
        return 0.0

    job = Chores(hang)
    async with running(World(["stuck", "quick"]).gateway(), job):
        await until(lambda: job.ran.count("quick") >= 3)
    assert job.ran.count("stuck") == 1


async def test_only_so_many_run_at_once() -> None:
    never = asyncio.Event()

    async def hang(_: Task) -> float | None:
        await never.wait()
        return None

    job = Chores(hang)
    async with running(World([f"n{n}" for n in range(MAX_TASKS + 3)]).gateway(), job):
        await until(lambda: len(job.ran) == MAX_TASKS)
        await asyncio.sleep(0.1)
        assert len(job.ran) == MAX_TASKS


@pytest.mark.parametrize("error", [OSError("away"), ValueError("a defect")])
async def test_a_failure_is_tried_again_and_hurts_no_other(
    error: Exception, caplog: pytest.LogCaptureFixture
) -> None:
    async def fail(task: Task) -> float | None:
        if task.about == "bad" and job.ran.count("bad") < 2:
            raise error
        return 0.0

    job = Chores(fail)
    async with running(World(["bad", "good"]).gateway(), job):
        await until(lambda: job.ran.count("bad") >= 2)
    assert job.ran.count("good") > 2
    assert str(error) in caplog.text


async def test_a_task_waits_no_longer_because_the_cluster_was_away_for_long(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def away(_: Task) -> float | None:
        raise OSError("away")

    job, task = Chores(away), Task("chore", "it", 1)
    runner = JobRunner(World([]).gateway().context, [job], clock=lambda: 0.0)
    for _ in range(20):
        runner._running[task] = asyncio.create_task(asyncio.sleep(0))
        await runner._do(job, task)
        assert runner._due[task] <= 10
    assert caplog.text.count("away") == 1  # and is logged once


async def test_a_job_that_cannot_tell_its_tasks_hurts_no_other(
    caplog: pytest.LogCaptureFixture,
) -> None:
    class Broken(Chores):
        def tasks(self, snapshot: Snapshot) -> Iterable[Task]:
            raise ValueError("a defect")

    job = Chores(nothing)
    async with running(World(["org"]).gateway(), Broken(nothing), job):
        await until(lambda: job.ran)
    assert "a defect" in caplog.text


async def test_stopping_ends_what_runs() -> None:
    ended = []

    async def hang(_: Task) -> float | None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.append(True)
        return None

    job = Chores(hang)
    async with running(World(["org"]).gateway(), job):
        await until(lambda: job.ran)
    assert ended == [True]


async def test_a_runner_that_was_never_started_stops() -> None:
    await JobRunner(World().gateway().context, []).stop()


async def test_a_deleted_namespace_goes_in_the_background() -> None:
    world = World(["org"])
    world.broker.make("org..x")
    gateway = world.gateway()
    async with running(gateway, NamespaceDeletion(gateway.context), head_start=30) as runner:
        await delete(gateway, "org:")
        task = deletion_task(world.snapshot, "org")
        assert task is not None
        runner.claim(task)
        await until(lambda: not world.broker.topics)
        world.clock.forward(seconds=2)
        await until(lambda: not world.snapshot.namespaces)


async def test_what_a_task_changes_is_its_own_doing() -> None:
    actors: list[Actor] = []

    async def act(_: Task) -> float | None:
        actors.append(ACTOR.get())
        return None

    async with running(World(["org"]).gateway(), Chores(act)):
        await until(lambda: actors)
    assert actors[0] == Actor("gateway:chore")
    assert ACTOR.get() == GATEWAY
