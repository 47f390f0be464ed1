"""Marked namespaces and their topics go, whatever happens in between."""

from __future__ import annotations

import pytest

from gateway.catalog.entities import Alias, Namespace, TopicEntry
from gateway.changes.jobs.background import SETTLE_TIME, NamespaceDeletion, deletion_task
from gateway.changes.jobs.runner import Task
from gateway.cluster.link import ClusterUnreachable
from gateway.names import LogicalName
from tests.changes.admin_requests import codes, create, delete
from tests.changes.fakes import START, Crash, FakeGateway, World, crash_at, once

MOVED_IN = TopicEntry("flat", LogicalName("org:a", "in"))
MOVED_OUT = TopicEntry(
    "org..out", LogicalName("", "out"), b"v" * 16, (Alias(LogicalName("org", "out"), START * 2),)
)


def marked_world() -> World:
    world = World(["org:a", "other"], [MOVED_IN, MOVED_OUT])
    world.broker.make("flat", "org..out", "org..x", "org.a..y", "other..z", "plain")
    world.log.append([Namespace("org", deleting=START)])
    return world


def task(world: World, path: str = "org") -> Task:
    found = deletion_task(world.snapshot, path)
    assert found is not None
    return found


async def finish(world: World, gateway: FakeGateway, job: NamespaceDeletion) -> None:
    """Run what the job tells until it tells nothing, letting the time pass that it asks for."""
    for _ in range(20):
        tasks = list(job.tasks(gateway.catalog.snapshot))
        if not tasks:
            return
        for each in tasks:
            world.clock.forward(seconds=await job.run(each) or 0)
    raise AssertionError("the deletion does not come to an end")


async def test_topics_go_first_then_all_namespaces_at_once() -> None:
    world = marked_world()
    gateway = world.gateway()
    job = NamespaceDeletion(gateway.context)
    assert await job.run(task(world)) == 0.0
    assert set(world.broker.topics) == {"org..out", "other..z", "plain"}
    assert set(world.snapshot.topics) == {"org..out"}
    assert set(world.snapshot.namespaces) == {"org", "org:a", "other"}
    assert await job.run(task(world)) == SETTLE_TIME / 1000
    world.clock.forward(seconds=2)
    assert await job.run(task(world)) is None
    assert set(world.snapshot.namespaces) == {"other"}
    assert len(world.log.decisions[-1]) == 3
    assert not list(job.tasks(world.snapshot))


async def test_an_alias_in_it_goes_and_its_topic_stays() -> None:
    world = marked_world()
    gateway = world.gateway()
    await finish(world, gateway, NamespaceDeletion(gateway.context))
    assert world.snapshot.topics["org..out"].aliases == ()
    assert "org..out" in world.broker.topics
    assert codes(await create(gateway, "org:", "org:out")) == [0, 0]


async def test_the_name_is_free_only_when_all_is_gone() -> None:
    world = marked_world()
    gateway = world.gateway()
    job = NamespaceDeletion(gateway.context)
    assert codes(await create(gateway, "org:")) == [17]
    await job.run(task(world))
    assert codes(await create(gateway, "org:", "org:a:b:")) == [17, 17]
    await finish(world, gateway, job)
    assert codes(await create(gateway, "org:")) == [0]
    assert "org:a" not in world.snapshot.namespaces


async def test_many_topics_are_deleted_in_parts() -> None:
    world = World(["org"])
    world.broker.make(*(f"org..{number}" for number in range(250)))
    gateway = world.gateway()
    await delete(gateway, "org:")
    await NamespaceDeletion(gateway.context).run(task(world))
    sizes = [len(request.topics) for request in world.broker.requests("DeleteTopicsRequest")]
    assert sizes == [100, 100, 50]


async def test_nothing_to_do_for_a_task_that_is_over() -> None:
    world = marked_world()
    gateway = world.gateway()
    assert await NamespaceDeletion(gateway.context).run(Task("x", "org", START - 1)) is None
    assert await NamespaceDeletion(gateway.context).run(Task("x", "none", 1)) is None
    assert len(world.broker.topics) == 6


async def test_a_late_process_does_not_hit_what_was_made_anew() -> None:
    world = marked_world()
    slow, quick = world.gateway(), world.gateway()

    async def meanwhile() -> None:
        await finish(world, quick, NamespaceDeletion(quick.context))
        assert codes(await create(quick, "org:", "org:x")) == [0, 0]

    world.step = once("ask DeleteTopicsRequest", meanwhile)
    await NamespaceDeletion(slow.context).run(task(world))
    assert "org..x" in world.broker.topics
    assert "org" in world.snapshot.namespaces


async def test_a_late_process_does_not_remove_what_was_made_anew() -> None:
    world = World(["org"])
    slow, quick = world.gateway(), world.gateway()
    await delete(quick, "org:")
    job = NamespaceDeletion(slow.context)
    await job.run(task(world))
    world.clock.forward(seconds=2)

    async def meanwhile() -> None:
        await finish(world, quick, NamespaceDeletion(quick.context))
        await create(quick, "org:")

    world.step = once("change", meanwhile)
    await job.run(task(world))
    assert "org" in world.snapshot.namespaces


async def test_a_topic_that_comes_late_is_found() -> None:
    world = marked_world()
    gateway = world.gateway()
    job = NamespaceDeletion(gateway.context)
    await job.run(task(world))
    world.broker.make("org..late")
    world.clock.forward(seconds=3)
    assert await job.run(task(world)) == 0.0
    assert "org..late" not in world.broker.topics


async def test_what_the_broker_rejects_to_delete_keeps_the_namespace() -> None:
    world = marked_world()
    world.broker.rejections["org..x"] = (73, "Topic deletion is disabled.")
    gateway = world.gateway()
    job = NamespaceDeletion(gateway.context)
    for _ in range(3):
        wait = await job.run(task(world))
        assert wait == 5.0
        world.clock.forward(seconds=wait)
    assert "org" in world.snapshot.namespaces
    del world.broker.rejections["org..x"]
    await finish(world, gateway, job)
    assert set(world.snapshot.namespaces) == {"other"}


async def test_a_cluster_that_is_away_is_an_oserror_and_nothing_is_removed() -> None:
    world = marked_world()
    gateway = world.gateway()
    world.broker.down = True
    with pytest.raises(ClusterUnreachable):
        await NamespaceDeletion(gateway.context).run(task(world))
    assert "org" in world.snapshot.namespaces


async def test_marks_within_marks() -> None:
    world = World(["org:a:b"])
    gateway = world.gateway()
    await delete(gateway, "org:a:b:")
    await delete(gateway, "org:", "org:a:")
    job = NamespaceDeletion(gateway.context)
    assert [each.about for each in job.tasks(world.snapshot)] == ["org", "org:a:b"]
    await finish(world, gateway, job)
    assert not world.snapshot.namespaces


@pytest.mark.parametrize("number", range(16))
async def test_after_a_crash_at_any_step_another_gateway_finishes(number: int) -> None:
    world = marked_world()
    gateway = world.gateway()
    world.step = crash_at(number)
    try:
        await finish(world, gateway, NamespaceDeletion(gateway.context))
    except Crash:
        pass
    else:
        assert number >= 12
    world.step = crash_at(-1)
    survivor = world.gateway()
    await finish(world, survivor, NamespaceDeletion(survivor.context))
    assert set(world.broker.topics) == {"org..out", "other..z", "plain"}
    assert set(world.snapshot.namespaces) == {"other"}
    assert set(world.snapshot.topics) == {"org..out"}
