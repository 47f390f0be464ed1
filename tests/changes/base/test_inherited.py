"""Configs of topics: described as own or inherited, read and written at the broker."""

from __future__ import annotations

from typing import Any

import pytest

from gateway.catalog.entities import Namespace, TopicEntry
from gateway.catalog.snapshot import Snapshot
from gateway.changes.base.broker import read_dynamic, write_configs
from gateway.changes.base.inherited import (
    adjust_created,
    adjust_described,
    entry_for,
    inherited,
    own_configs,
    pending,
    topics_in,
)
from gateway.changes.base.rejected import Rejected
from gateway.changes.base.resources import DELETE, SET, Operation
from gateway.names import LogicalName
from protocol import messages
from protocol.messages import element_class, has_field, make
from tests.changes.fakes import World

SNAPSHOT = Snapshot.of(["org:apache", "org2"]).apply(
    [
        Namespace("org", {"a": "1", "b": "1"}, apply=("a",)),
        Namespace("org:apache", {"b": "2"}, apply=("b",)),
        TopicEntry("moved", LogicalName("org", "m"), own_configs=("c",), apply=True),
    ],
    2,
)


def test_what_the_catalog_says() -> None:
    assert inherited(SNAPSHOT, "org:apache") == {"a": "1", "b": "2"}
    assert inherited(SNAPSHOT, "") == {}
    assert own_configs(SNAPSHOT, "moved") == {"c"}
    assert own_configs(SNAPSHOT, "org..x") == frozenset()
    assert pending(SNAPSHOT, "org.apache..x") == {"a", "b"}
    assert pending(SNAPSHOT, "org..x") == {"a"}
    assert pending(SNAPSHOT, "x") == set()
    assert pending(SNAPSHOT, "moved") is None
    assert entry_for(SNAPSHOT, "moved", 5) == SNAPSHOT.topics["moved"]
    assert entry_for(SNAPSHOT, "org..x", 5) == TopicEntry(
        "org..x", LogicalName("org", "x"), since=5
    )


def test_topics_in_a_namespace_and_below() -> None:
    flats = [b"org..x", b"org.apache..y", b"org2..z", b"moved", b"orgs", b"org.x"]
    assert topics_in(SNAPSHOT, flats, "org") == ["moved", "org..x", "org.apache..y"]
    assert topics_in(SNAPSHOT, flats, "org:apache") == ["org.apache..y"]


@pytest.mark.parametrize("version", [4, 5, 7])
def test_a_created_topic(version: int) -> None:
    topic_class = element_class(messages.message_class("CreateTopicsResponse", version), "topics")
    if not has_field(topic_class, "configs"):
        plain = make(topic_class, {"name": "x"})
        assert adjust_created(plain, (), {"a": ("1", "org")}) is plain
        return
    config_class = element_class(topic_class, "configs")
    configs = [
        make(config_class, {"name": name, "value": "1", "config_source": source})
        for name, source in (("own", 1), ("inherited", 1), ("other", 1), ("default", 5))
    ]
    topic = make(topic_class, {"name": "x", "configs": tuple(configs)})
    told = adjust_created(
        topic,
        {"own"},
        {"own": ("1", "org"), "inherited": ("1", "org"), "other": ("2", "org")},
    )
    assert {c.name: c.config_source for c in told.configs} == {
        "own": 1,
        "inherited": 3,
        "other": 1,
        "default": 5,
    }
    without = make(topic_class, {"name": "x", "configs": None})
    assert adjust_created(without, (), {"a": ("1", "org")}) is without


def described(name: str, value: str, source: int, *synonyms: tuple[str, str, int]) -> Any:
    result = element_class(messages.message_class("DescribeConfigsResponse", 4), "results")
    config = element_class(result, "configs")
    synonym = element_class(config, "synonyms")
    layers = tuple(make(synonym, {"name": n, "value": v, "source": s}) for n, v, s in synonyms)
    values = {"name": name, "value": value, "config_source": source, "synonyms": layers}
    return make(config, values)


def layers(config: Any) -> list[tuple[str, str, int]]:
    return [(s.name, s.value, s.source) for s in config.synonyms]


def test_described_configs() -> None:
    by_default = ("log.k", "0", 5)
    configs = [
        described("own", "2", 1, ("own", "2", 1), by_default),
        described("over", "2", 1, ("over", "2", 1), by_default),
        described("inherited", "1", 1, ("inherited", "1", 1), by_default),
        described("changed", "2", 1, ("changed", "2", 1)),
        described("default", "1", 5, by_default),
        described("bare", "2", 1),
    ]
    values = {key: "1" for key in ("over", "inherited", "changed", "default", "bare")}
    told = adjust_described(configs, {"own", "over", "bare"}, values)
    assert [config.config_source for config in told] == [1, 1, 3, 1, 5, 1]
    assert layers(told[0]) == [("own", "2", 1), by_default]
    assert layers(told[1]) == [("over", "2", 1), ("over", "1", 3), by_default]
    assert layers(told[2]) == [("inherited", "1", 3), by_default]
    assert layers(told[3]) == [("changed", "2", 1), ("changed", "1", 3)]
    assert layers(told[5]) == []
    for unsettled in (None, {"changed"}):
        told = adjust_described(configs, {"own", "over", "bare"}, values, unsettled)
        assert told[3].config_source == 3
        assert told[0].config_source == 1


async def test_reading_and_writing() -> None:
    world = World()
    world.broker.make("a", retention_ms="1", segment_bytes="2")
    world.broker.make("b")
    context = world.gateway().context
    assert await read_dynamic(context, ["a", "b", "gone"]) == {
        "a": {"retention.ms": "1", "segment.bytes": "2"},
        "b": {},
    }
    assert await read_dynamic(context, ["a"], {"retention.ms"}) == {"a": {"retention.ms": "1"}}
    wanted = {
        "a": [Operation("retention.ms", DELETE), Operation("segment.bytes", SET, "3")],
        "b": [Operation("segment.bytes", SET, "many")],
        "gone": [Operation("segment.bytes", SET, "3")],
    }
    for validate_only in (True, False):
        done = await write_configs(context, wanted, validate_only=validate_only)
        codes = {flat: None if denied is None else denied.code for flat, denied in done.items()}
        assert codes == {"a": None, "b": 40, "gone": 3}
        held = {"retention.ms": "1", "segment.bytes": "2"} if validate_only else None
        assert world.broker.topics["a"].configs == (held or {"segment.bytes": "3"})


async def test_configs_that_the_broker_does_not_tell(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World()
    world.broker.make("a")

    def reject(_: Any, cls: type) -> Any:
        result = element_class(cls, "results")
        values = {"resource_name": "a", "error_code": 29, "error_message": "Not authorized: a"}
        return make(cls, {"results": (make(result, values),)})

    monkeypatch.setattr(world.broker, "_DescribeConfigsRequest", reject)
    with pytest.raises(Rejected, match="does not tell") as caught:
        await read_dynamic(world.gateway().context, ["a"])
    assert caught.value.why.code == 29
