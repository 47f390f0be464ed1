"""Configs of namespaces after operations, and how the broker validates them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.changes.base.broker import validate_configs
from gateway.changes.base.inherited import alter_configs
from gateway.changes.base.rejected import Rejected
from gateway.changes.base.resources import APPEND, DELETE, SET, SUBTRACT, Operation
from tests.changes import fake_broker
from tests.changes.fakes import World

OWN = {"retention.ms": "1", "cleanup.policy": "compact"}
DEFAULTS = {"cleanup.policy": ("delete", 7), "retention.ms": ("9", 5)}


def after(*operations: Operation) -> dict[str, str]:
    return alter_configs(OWN, operations, {"leader.replicas": "1:1, 2:2"}, DEFAULTS)


@pytest.mark.parametrize("newest", [2, 3, 4, 7])
async def test_the_broker_validates_and_nothing_is_made(newest: int) -> None:
    world = World()
    world.broker.newest["CreateTopicsRequest"] = newest
    context = world.gateway().context
    assert await validate_configs(context, {}) is None
    assert world.broker.asked == []
    assert await validate_configs(context, {"retention.ms": "1"}) is None
    denied = await validate_configs(context, {"retention.ms": "soon"})
    assert denied is not None
    assert (denied.code, denied.message) == (
        40,
        "Invalid value soon for configuration retention.ms",
    )
    for request in world.broker.requests("CreateTopicsRequest"):
        assert request.validate_only
    assert world.broker.topics == {}


async def test_the_name_that_was_asked_with_is_not_told(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World()

    def reject(name: str) -> None:
        raise fake_broker.Rejected(44, f"Topic name {name} breaks the rules; not {name}!")

    monkeypatch.setattr(world.broker, "_check_name", reject)
    denied = await validate_configs(world.gateway().context, {"retention.ms": "1"})
    assert denied is not None
    assert denied.message == "Topic name (a topic) breaks the rules; not (a topic)!"


def test_set_and_delete() -> None:
    assert after(Operation("retention.ms", SET, "2"), Operation("cleanup.policy", DELETE)) == {
        "retention.ms": "2"
    }
    assert after(Operation("no.such", DELETE)) == OWN
    assert OWN == {"retention.ms": "1", "cleanup.policy": "compact"}


@pytest.mark.parametrize(
    ("operation", "expected"),
    [
        (Operation("cleanup.policy", APPEND, "delete"), "compact,delete"),
        (Operation("cleanup.policy", APPEND, "compact, delete ,"), "compact,delete"),
        (Operation("cleanup.policy", SUBTRACT, "compact"), ""),
        (Operation("leader.replicas", SUBTRACT, "1:1"), "2:2"),
        (Operation("leader.replicas", APPEND, "3:3"), "1:1,2:2,3:3"),
        (Operation("unknown.list", APPEND, "x"), "x"),
    ],
)
def test_lists(operation: Operation, expected: str) -> None:
    assert after(operation)[operation.key] == expected


def test_lists_begin_with_the_cluster_s_default() -> None:
    operation = Operation("cleanup.policy", APPEND, "compact")
    assert alter_configs({}, [operation], {}, DEFAULTS) == {"cleanup.policy": "delete,compact"}


@pytest.mark.parametrize(
    ("operations", "code", "text"),
    [
        ([Operation("retention.ms", APPEND, "1")], 40, "is no list"),
        ([Operation("retention.ms", SET, None)], 42, "has no value"),
        ([Operation("cleanup.policy", APPEND, None)], 42, "has no value"),
        ([Operation("retention.ms", 7, "1")], 42, "is none of Kafka's"),
        ([Operation("a", SET, "1"), Operation("a", DELETE)], 42, "twice"),
        ([Operation("gateway.namespace", SET, "org")], 40, "a namespace cannot be moved"),
    ],
)
def test_what_is_rejected(operations: list[Operation], code: int, text: str) -> None:
    with pytest.raises(Rejected, match=text) as caught:
        after(*operations)
    assert caught.value.why.code == code


ITEMS = st.lists(st.sampled_from(["a", "b", "c"]), max_size=4)


@given(ITEMS, ITEMS)
def test_what_was_appended_can_be_subtracted(present: list[str], more: list[str]) -> None:
    own = {"k": ",".join(present)}
    appended = alter_configs(own, [Operation("k", APPEND, ",".join(more))], {}, {})
    assert set(appended["k"].split(",")) - {""} == {*present, *more}
    left = alter_configs(appended, [Operation("k", SUBTRACT, ",".join(more))], {}, {})
    assert set(left["k"].split(",")) - {""} == set(present) - set(more)
