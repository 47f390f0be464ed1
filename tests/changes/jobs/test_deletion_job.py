"""Marked namespaces and their topics are deleted, whatever happens in between."""

from __future__ import annotations

import pytest

from gateway.catalog.entities import Alias, ClientMetrics, Namespace, TopicEntry
from gateway.changes.jobs.end_topic_removal import LOOK_AGAIN, EndTopicRemoval
from gateway.changes.jobs.job_runner import Task
from gateway.changes.jobs.namespace_deletion import (
    LIST_AGAIN,
    SETTLE_TIME,
    NamespaceDeletion,
    deletion_task,
)
from gateway.cluster.link import ClusterUnreachable
from gateway.names import LogicalName, is_end_topic
from tests.changes.admin_requests import codes, create, delete
from tests.changes.fakes import START, Crash, FakeGateway, World, crash_at, once

END = f"org..__kafka_gateway_end_{START}"
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
    """Run the job's tasks until it has none, letting the time pass that it waits for."""
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
    assert await job.run(task(world)) == LIST_AGAIN
    assert set(world.broker.topics) == {"org..out", "other..z", "plain", END}
    assert await job.run(task(world)) is None
    assert set(world.snapshot.namespaces) == {"other"}
    assert len(world.log.decisions[-1]) == 3
    assert not list(job.tasks(world.snapshot))
    assert set(world.broker.topics) == {"org..out", "other..z", "plain"}


async def test_a_late_listing_leaves_no_topic_to_the_default_namespace() -> None:
    """Three listings are from before the newest topic was made, and one is from before its end."""
    world = marked_world()
    gateway = world.gateway()
    job = NamespaceDeletion(gateway.context)
    before = {name: topic.topic_id for name, topic in world.broker.topics.items()}
    world.broker.make("org..newest")
    newest = before | {"org..newest": world.broker.topics["org..newest"].topic_id}
    listings = iter([before, before, before, newest])
    gateway.cluster.lagging = next(listings)
    for _ in range(20):
        if not list(job.tasks(world.snapshot)):
            break
        assert "org" in world.snapshot.namespaces
        world.clock.forward(seconds=await job.run(task(world)) or 0)
        gateway.cluster.lagging = next(listings, None)
    assert set(world.broker.topics) == {"org..out", "other..z", "plain"}
    assert set(world.snapshot.namespaces) == {"other"}


async def test_what_the_index_learnt_is_no_listing() -> None:
    world = marked_world()
    gateway = world.gateway()
    job = NamespaceDeletion(gateway.context)
    await job.run(task(world))
    world.clock.forward(seconds=3)
    listed = {name: topic.topic_id for name, topic in world.broker.topics.items()}
    gateway.cluster.lagging = listed
    assert await job.run(task(world)) == LIST_AGAIN
    gateway.cluster.index.learn(END.encode(), world.broker.topics[END].topic_id)
    assert await job.run(task(world)) == LIST_AGAIN
    gateway.cluster.lagging = None
    assert await job.run(task(world)) is None


@pytest.mark.parametrize("code", [29, 44])
async def test_a_broker_that_makes_no_end_topic_is_believed(
    code: int, caplog: pytest.LogCaptureFixture
) -> None:
    """A policy of the cluster, or a right that the gateway lacks, does not keep the name
    reserved."""
    world = marked_world()
    world.broker.uncreatable[END] = (code, "Not here.")
    gateway = world.gateway()
    await finish(world, gateway, NamespaceDeletion(gateway.context))
    assert set(world.snapshot.namespaces) == {"other"}
    asked = [topic for one in world.broker.requests("CreateTopicsRequest") for topic in one.topics]
    assert [(one.name, one.replication_factor) for one in asked] == [(END, 1), (END, -1)]
    assert len(caplog.records) == 1


@pytest.mark.parametrize("code", [7, 38, 41, 89])
async def test_a_broker_that_makes_the_end_topic_later_is_waited_for(code: int) -> None:
    world = marked_world()
    world.broker.uncreatable[END] = (code, "Later.")
    gateway = world.gateway()
    job = NamespaceDeletion(gateway.context)
    await job.run(task(world))
    world.clock.forward(seconds=3)
    for _ in range(3):
        assert await job.run(task(world)) == LIST_AGAIN
    world.broker.uncreatable.clear()
    await finish(world, gateway, job)
    assert set(world.snapshot.namespaces) == {"other"}


async def test_a_namespace_whose_name_leaves_no_room_is_deleted_without_an_end_topic() -> None:
    path = "o" * 240
    world = World([path])
    gateway = world.gateway()
    await delete(gateway, f"{path}:")
    await finish(world, gateway, NamespaceDeletion(gateway.context))
    assert not world.snapshot.namespaces
    assert not world.broker.requests("CreateTopicsRequest")


async def test_an_end_topic_that_a_late_process_makes_goes_again() -> None:
    """Whether the other process has ended the deletion before the topic is made, or ends it
    after."""
    for moment in ("ask CreateTopicsRequest", "asked CreateTopicsRequest", "refresh"):
        world = marked_world()
        slow, quick = world.gateway(), world.gateway()
        job = NamespaceDeletion(slow.context)
        await job.run(task(world))
        world.clock.forward(seconds=3)
        ended = NamespaceDeletion(quick.context)
        late = task(world)

        async def meanwhile(
            world: World = world, quick: FakeGateway = quick, ended: NamespaceDeletion = ended
        ) -> None:
            await finish(world, quick, ended)

        world.step = once(moment, meanwhile, nth=3 if moment == "refresh" else 1)
        await job.run(late)
        world.step = once("", meanwhile)
        assert set(world.broker.topics) == {"org..out", "other..z", "plain"}, moment
        assert set(world.snapshot.namespaces) == {"other"}


async def test_an_end_topic_that_another_process_made_goes_though_this_one_may_not() -> None:
    world = marked_world()
    refused, quick = world.gateway(), world.gateway()
    one, two = NamespaceDeletion(refused.context), NamespaceDeletion(quick.context)
    await one.run(task(world))
    await two.run(task(world))
    world.clock.forward(seconds=3)
    world.broker.uncreatable[END] = (44, "Not here.")

    async def meanwhile() -> None:
        world.broker.uncreatable.clear()
        assert await two.run(task(world)) == LIST_AGAIN

    world.step = once("change", meanwhile)
    assert await one.run(task(world)) is None
    assert set(world.broker.topics) == {"org..out", "other..z", "plain"}


async def test_an_end_topic_that_could_not_be_deleted_again_is_not_made(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """``delete.topic.enable=false`` (KIP-322) does not block a namespace that has no topics."""
    world = World(["org"])
    gateway = world.gateway()
    await delete(gateway, "org:")
    world.broker.rejections[END] = (73, "Topic deletion is disabled.")
    await finish(world, gateway, NamespaceDeletion(gateway.context))
    assert not world.snapshot.namespaces
    assert not world.broker.topics
    assert len(caplog.records) == 1


async def test_a_clock_that_goes_back_does_not_hold_the_namespace_up() -> None:
    world = World(["org"])
    gateway = world.gateway()
    await delete(gateway, "org:")
    job = NamespaceDeletion(gateway.context)
    await job.run(task(world))
    world.clock.forward(seconds=-3600)
    assert await job.run(task(world)) == SETTLE_TIME / 1000


async def test_end_topics_that_were_left_over_are_removed() -> None:
    """End topics of namespaces that are deleted, were created anew, or were marked within a marked
    namespace; but no topic that only looks like an end topic, and none that a deletion uses now."""
    world = World(["org", "anew", "outer:inner"])
    gateway = world.gateway()
    await delete(gateway, "org:")
    world.log.append([Namespace("outer:inner", deleting=START)])
    world.log.append([Namespace("outer", deleting=START + 1)])
    kept = [END, f"outer..__kafka_gateway_end_{START + 1}", "gone..x", "gone..end_5"]
    kept += ["gone..__kafka_gateway_end_", "gone..__kafka_gateway_end_5x", "__kafka_gateway_end_5"]
    world.broker.make("gone..__kafka_gateway_end_5", "a.b..__kafka_gateway_end_6", *kept)
    world.broker.make(f"anew..__kafka_gateway_end_{START}", "org..__kafka_gateway_end_7")
    world.broker.make(f"outer.inner..__kafka_gateway_end_{START}")
    gateway.cluster.list()
    job = EndTopicRemoval(gateway.context, world.clock.seconds)
    for each in job.tasks(world.snapshot):
        await job.run(each)
    assert set(world.broker.topics) == set(kept)
    gateway.cluster.list()
    world.clock.forward(seconds=LOOK_AGAIN)
    assert not list(job.tasks(world.snapshot))


async def test_an_end_topic_of_a_mark_that_is_not_read_yet_stays() -> None:
    world = World(["org"])
    late, quick = world.gateway(), world.gateway()
    late.catalog.lags = True
    await delete(quick, "org:")
    world.broker.make(END)
    late.cluster.list()
    job = EndTopicRemoval(late.context, world.clock.seconds)
    (only,) = job.tasks(late.catalog.snapshot)
    await job.run(only)
    assert END in world.broker.topics


async def test_after_a_crash_before_the_last_step_the_end_topic_is_known_to_nobody() -> None:
    world = World(["org", "other"])
    gateway = world.gateway()
    await delete(gateway, "org:")

    def crash() -> None:
        world.broker.make(END)  # as a process that is behind does
        raise Crash

    world.step = once("changed", crash)
    with pytest.raises(Crash):
        await finish(world, gateway, NamespaceDeletion(gateway.context))
    world.step = once("", crash)
    assert set(world.broker.topics) == {END}
    another = world.gateway()
    assert another.view().spell(END.encode()) is None
    assert (
        another.view().flat_of_id(world.broker.topics[END].topic_id, another.cluster.index) is None
    )
    assert codes(await create(another, END)) == [17]
    assert codes(await create(another, "org:")) == [0]
    assert another.view().spell(END.encode()) is None
    job = EndTopicRemoval(another.context, world.clock.seconds)
    for each in job.tasks(world.snapshot):
        await job.run(each)
    assert not world.broker.topics


async def test_an_alias_in_it_goes_and_its_topic_stays() -> None:
    world = marked_world()
    gateway = world.gateway()
    await finish(world, gateway, NamespaceDeletion(gateway.context))
    assert world.snapshot.topics["org..out"].aliases == ()
    assert "org..out" in world.broker.topics
    assert codes(await create(gateway, "org:", "org:out")) == [0, 0]


async def test_client_metrics_in_it_and_below_it_go() -> None:
    world = marked_world()
    names = ("org:lag", "org:a:lag", "other:lag", "lag", "orgs:lag")
    world.log.append([ClientMetrics(name, {"metrics": "*"}) for name in names])
    gateway = world.gateway()
    await finish(world, gateway, NamespaceDeletion(gateway.context))
    assert set(world.snapshot.client_metrics) == {"other:lag", "lag", "orgs:lag"}


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


@pytest.mark.parametrize(
    "moment",
    ["list", "refresh", "ask CreateTopicsRequest", "ask DeleteTopicsRequest", "change"],
)
@pytest.mark.parametrize("nth", [1, 2, 3])
async def test_a_late_process_does_not_hit_what_was_made_anew(moment: str, nth: int) -> None:
    world = marked_world()
    slow, quick = world.gateway(), world.gateway()

    anew = False

    async def meanwhile() -> None:
        nonlocal anew
        await finish(world, quick, NamespaceDeletion(quick.context))
        assert codes(await create(quick, "org:", "org:x")) == [0, 0]
        anew = True

    world.step = once(moment, meanwhile, nth=nth)
    job = NamespaceDeletion(slow.context)
    late = task(world)
    for _ in range(4):
        world.clock.forward(seconds=await job.run(late) or 0)
    assert ("org..x" in world.broker.topics) == anew
    assert ("org" in world.snapshot.namespaces) == anew
    assert not [name for name in world.broker.topics if is_end_topic(name)]


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
    assert [each.about for each in job.tasks(world.snapshot)] == ["org"]
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
