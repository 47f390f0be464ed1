"""Changing a namespace: decided by the catalog's state at the end."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import pytest

from gateway.catalog.entities import Namespace, TopicEntry
from gateway.changes.base import context as module
from gateway.changes.base.rejected import Rejected
from gateway.changes.base.resources import APPEND, SET, Operation
from gateway.changes.namespaces.namespace_configs import alter_namespace
from gateway.changes.namespaces.namespace_settings import existing
from gateway.names import LogicalName
from tests.changes.fake_broker import no_step
from tests.changes.fakes import World, once

KEY = "retention.ms"


def to(value: str) -> Sequence[Operation]:
    return [Operation(KEY, SET, value)]


def setting(_: Mapping[str, str]) -> Sequence[Operation]:
    return to("1")


@pytest.fixture
def world() -> World:
    world = World(["org:apache"])
    world.broker.make("org..x")
    return world


def test_only_what_exists_is_changed(world: World) -> None:
    assert existing(world.snapshot, "org").path == "org"
    with pytest.raises(Rejected, match="Namespace 'team' does not exist") as caught:
        existing(world.snapshot, "team")
    assert caught.value.why.code == 3
    deleting = world.snapshot.apply([Namespace("org", deleting=1)], 9)
    with pytest.raises(Rejected, match="'org:apache' is being deleted") as caught:
        existing(deleting, "org:apache")
    assert caught.value.why.code == 17


async def test_what_is_the_same_already_is_not_written(world: World) -> None:
    context = world.gateway().context
    await alter_namespace(context, "org", setting)
    decisions, asked = len(world.log.decisions), len(world.broker.asked)
    await alter_namespace(context, "org", setting)
    assert len(world.log.decisions) == decisions
    assert [name for name, _ in world.broker.asked[asked:]] == ["CreateTopicsRequest"]


async def test_the_namespace_changes_meanwhile_and_it_is_decided_anew(world: World) -> None:
    def change() -> None:
        world.step = no_step
        world.log.append([Namespace("org", {"cleanup.policy": "compact"}, apply_since=3)])

    world.step = once("change", change)
    await alter_namespace(
        world.gateway().context, "org", lambda _: [Operation("cleanup.policy", APPEND, "delete")]
    )
    held = world.snapshot.namespaces["org"]
    assert held.configs == {"cleanup.policy": "compact,delete"}


async def test_it_is_deleted_meanwhile(world: World) -> None:
    def delete() -> None:
        world.log.append([replace(world.snapshot.namespaces["org"], deleting=1)])

    gateway = world.gateway()
    world.step = once("change", delete)
    with pytest.raises(Rejected, match="is being deleted"):
        await alter_namespace(gateway.context, "org", setting)
    assert world.snapshot.namespaces["org"].configs == {}


async def test_a_topic_s_own_config_is_recorded_with_the_same_decision(world: World) -> None:
    world.broker.topics["org..x"].configs[KEY] = "7"
    await alter_namespace(world.gateway().context, "org", setting)
    entry, namespace = world.log.decisions[0]
    assert isinstance(entry, TopicEntry)
    assert (entry.name, entry.own_configs) == (LogicalName("org", "x"), (KEY,))
    assert isinstance(namespace, Namespace)
    assert namespace.apply == (KEY,)


async def test_a_change_before_the_last_one_was_applied(world: World) -> None:
    """Both are left to be applied, and the values of neither are taken for the topics' own."""
    gateway = world.gateway()
    half = Namespace("org", {KEY: "5"}, apply=(KEY,), apply_since=10**15)
    world.log.append([half])
    world.broker.topics["org..x"].configs[KEY] = "4"
    world.step = once("change", lambda: _lose(world), nth=2)
    await alter_namespace(gateway.context, "org", lambda _: [*to("6"), *_more()])
    held = world.snapshot.namespaces["org"]
    assert held.apply == (KEY, "segment.bytes")
    assert held.apply_since == 10**15 + 1
    assert world.snapshot.topics == {}
    assert world.broker.topics["org..x"].configs == {KEY: "6", "segment.bytes": "9"}


async def test_it_gives_up_in_the_end(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "ATTEMPTS", 3)
    gateway = world.gateway()

    async def change(at: str) -> None:
        if at == "change":
            since = world.snapshot.namespaces["org"].apply_since + 1
            world.log.append([Namespace("org", apply_since=since)])

    world.step = change
    with pytest.raises(Rejected, match="keeps changing") as caught:
        await alter_namespace(gateway.context, "org", setting)
    assert caught.value.why.code == 7


def _more() -> Sequence[Operation]:
    return [Operation("segment.bytes", SET, "9")]


def _lose(world: World) -> None:
    """Make the catalog unwritable from here on."""
    for reader in world.log.readers:
        reader.down = True
