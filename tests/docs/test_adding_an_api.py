"""docs/adding-an-api.md: its two files add two APIs, which are served everywhere."""

from __future__ import annotations

from collections.abc import Iterator
from types import ModuleType
from typing import Any

import pytest

from gateway.apis import table
from gateway.catalog.entities import TopicEntry
from gateway.error_codes import (
    GROUP_AUTHORIZATION_FAILED,
    NOT_COORDINATOR,
    REQUEST_TIMED_OUT,
    TOPIC_AUTHORIZATION_FAILED,
)
from gateway.exchanges.api import APIS, Api, declare
from gateway.exchanges.tree import VolumeUnreachable
from gateway.names import LogicalName
from protocol import messages
from tests.docs import markdown
from tests.scenarios.entities import entity
from tests.session.allowing import Allowing
from tests.session.pair import Pair, topic_id
from tests.session.test_gateway_nodes import fleet
from tests.session.test_trees import tree_pair
from tests.tree.fake_tree import FakeTree

TOPICS, GROUP = "AlterPartitionReassignments", "ShareGroupHeartbeat"


def declared(number: int) -> Api:
    """The API that a file of the page declares."""
    page = markdown.read("docs/adding-an-api.md")
    files = [block.text for block in markdown.blocks(page) if block.language == "python"]
    module = ModuleType(f"added_{number}")
    exec(compile(files[number], module.__name__, "exec"), vars(module))  # noqa: S102
    api = module.API
    assert isinstance(api, Api)
    return api


@pytest.fixture(autouse=True)
def added() -> Iterator[None]:
    """Both APIs are served as the page has them until the test ends."""
    served = [declared(number) for number in (0, 1)]
    before = [APIS.pop(api.key, None) for api in served]
    for api in served:
        _forget_plans(declare(api).key)
    yield
    for api, own in zip(served, before, strict=True):
        del APIS[api.key]
        if own is not None:
            declare(own)
        _forget_plans(api.key)


def _forget_plans(key: int) -> None:
    for plan in [plan for plan in table.PLANS if plan >> 16 == key]:
        del table.PLANS[plan]


def message(name: str, version: int, **values: object) -> Any:
    return entity(messages.message_class(name, version), values)


def moves(*names: str) -> dict[str, Any]:
    """The values of a request that moves partition 0 of topics."""
    partition = {"partition_index": 0, "replicas": [1]}
    return {"topics": [{"name": name, "partitions": [partition]} for name in names]}


def moved(*names: str) -> dict[str, Any]:
    """The values of a response to that."""
    return {"responses": [{"name": name, "partitions": [{"partition_index": 0}]} for name in names]}


def codes(response: Any) -> dict[str, int]:
    return {topic.name: topic.partitions[0].error_code for topic in response.responses}


@pytest.mark.parametrize("version", [0, 1])
@pytest.mark.parametrize(("home", "name"), [("", "team-a:t"), ("team-a", "t")])
def test_topics_at_any_listener(version: int, home: str, name: str) -> None:
    pair = Pair(home=home)
    sent = pair.ask(TOPICS, version, message(f"{TOPICS}Request", version, **moves(name)))
    assert [topic.name for topic in sent.topics] == ["team-a..t"]
    response = message(f"{TOPICS}Response", version, **moved("team-a..t"))
    assert codes(pair.reply(TOPICS, version, response)) == {name: 0}


def test_topics_without_a_right() -> None:
    pair = Pair(authorizer=Allowing(["ALTER TOPIC team-a:t"]))
    sent = pair.ask(TOPICS, 0, message(f"{TOPICS}Request", 0, **moves("team-a:t", "team-b:x")))
    assert [topic.name for topic in sent.topics] == ["team-a..t"]
    response = pair.reply(TOPICS, 0, message(f"{TOPICS}Response", 0, **moved("team-a..t")))
    assert codes(response) == {"team-a:t": 0, "team-b:x": TOPIC_AUTHORIZATION_FAILED}


async def test_topics_of_two_clusters() -> None:
    tree = FakeTree()

    async def answer(api: str, version: int, request: Any) -> dict[str, object]:
        return moved(*(topic.name for topic in request.topics))

    for cluster in tree.clusters.values():
        cluster.answer = answer  # type: ignore[method-assign]
    response = await tree.ask(TOPICS, 0, moves(":la:orders", ":ny:orders"))
    assert codes(response) == {":la:orders": 0, ":ny:orders": 0}
    for path in ("la", "ny"):
        (asked,) = tree.clusters[path].asked
        assert [topic.name for topic in asked[1].topics] == ["orders"]


async def test_topics_of_a_cluster_that_is_down() -> None:
    tree = FakeTree()

    async def answer(api: str, version: int, request: Any) -> dict[str, object]:
        return moved(*(topic.name for topic in request.topics))

    async def down(api: str, version: int, request: Any) -> dict[str, object]:
        raise VolumeUnreachable("it is down")

    tree.clusters["la"].answer = answer  # type: ignore[method-assign]
    tree.clusters["ny"].answer = down  # type: ignore[method-assign]
    response = await tree.ask(TOPICS, 0, moves(":la:orders", ":ny:orders"))
    assert codes(response) == {":la:orders": 0, ":ny:orders": REQUEST_TIMED_OUT}


def heartbeat(*names: str, group: str = "g") -> Any:
    return message(
        f"{GROUP}Request", 1, group_id=group, member_id="m", subscribed_topic_names=names
    )


def assigned(*numbers: int) -> Any:
    """A response that assigns partition 0 of topics, by the numbers of their ids."""
    topics = [{"topic_id": number, "partitions": [0]} for number in numbers]
    return message(f"{GROUP}Response", 1, member_id="m", assignment={"topic_partitions": topics})


def test_a_member_at_a_home() -> None:
    pair = Pair(home="team-a", topics=["team-a..t"])
    sent = pair.ask(GROUP, 1, heartbeat("t"))
    assert (sent.group_id, sent.subscribed_topic_names) == ("team-a..g", ("team-a..t",))
    response = pair.reply(GROUP, 1, assigned(1))
    ids = [topic.topic_id for topic in response.assignment.topic_partitions]
    assert ids == [topic_id(1)]


def test_a_member_and_a_topic_that_was_moved() -> None:
    """The topic has another id for clients; topics that the view does not show are left out."""
    entries = [
        TopicEntry("old", LogicalName("team-a", "t"), topic_id=topic_id(99).bytes),
        TopicEntry("gone", LogicalName("team-b", "x"), topic_id=topic_id(98).bytes),
    ]
    pair = Pair(home="team-a", topics=["old", "gone"], entries=entries)
    assert pair.ask(GROUP, 1, heartbeat("t")).subscribed_topic_names == ("old",)
    response = pair.reply(GROUP, 1, assigned(1, 2))
    ids = [topic.topic_id for topic in response.assignment.topic_partitions]
    assert ids == [topic_id(99)]


@pytest.mark.parametrize(
    ("names", "group", "code"),
    [
        (("team-a:t",), "g", 0),
        (("team-a:t", "team-b:x"), "g", TOPIC_AUTHORIZATION_FAILED),
        (("team-a:t",), "other", GROUP_AUTHORIZATION_FAILED),
    ],
)
def test_a_member_and_its_rights(names: tuple[str, ...], group: str, code: int) -> None:
    pair = Pair(authorizer=Allowing(["READ GROUP g", "DESCRIBE TOPIC team-a:t"]))
    sent = pair.ask(GROUP, 1, heartbeat(*names, group=group))
    if not code:
        assert sent.subscribed_topic_names == ("team-a..t",)
        return
    assert sent is None
    assert pair.answer(GROUP, 1).error_code == code


def test_a_member_in_a_tree() -> None:
    assert tree_pair("ny").ask(GROUP, 1, heartbeat(group=":ny:g")).group_id == "g"
    pair = tree_pair("ny")
    assert pair.ask(GROUP, 1, heartbeat(group="g")) is None
    assert pair.answer(GROUP, 1).error_code == NOT_COORDINATOR


@pytest.mark.parametrize("draining", [False, True])
@pytest.mark.parametrize("on_gateway_node", [False, True])
def test_in_a_fleet(on_gateway_node: bool, draining: bool) -> None:
    """At a gateway's own node a broker answers, and so it does while the gateway drains."""
    pair = fleet(on_gateway_node=on_gateway_node)
    if draining:
        pair.session.leave()
    sent = pair.ask(TOPICS, 0, message(f"{TOPICS}Request", 0, **moves("team-a:t")))
    assert [topic.name for topic in sent.topics] == ["team-a..t"]
    response = message(f"{TOPICS}Response", 0, **moved("team-a..t"))
    assert codes(pair.reply(TOPICS, 0, response)) == {"team-a:t": 0}
    sent = pair.ask(GROUP, 1, heartbeat("team-a:t"))
    assert sent.subscribed_topic_names == ("team-a..t",)
    assert pair.reply(GROUP, 1, assigned(1)).assignment is not None
