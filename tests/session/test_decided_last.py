"""Requests that the gateway carries out are decided again at the end: a change when the broker is
about to get it, a description when the client is about to get it. Until then the gateway's own
requests wait for their turns and for brokers, and meanwhile rights are revoked and topics moved."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from uuid import UUID

import pytest

from gateway.catalog.entities import Change, Freeze, Removal, TopicEntry
from gateway.config.policies import PolicySettings
from gateway.exchanges.exchange import Work
from gateway.names import LogicalName
from gateway.policies.tree import Policies
from protocol import messages
from protocol.messages import make
from tests.session.pair import Pair, request_frame
from tests.session.twin_worlds import OWN, World

TOPIC = 2
FORBIDDEN = 29
RETRIABLE = {7, 3, 5}
POLICIES = Policies(
    PolicySettings.model_validate({"namespaces": {"team-a": {"partitions": {"max": 9}}}})
)
REVOKED = Removal(("acl", "TOPIC:PREFIXED:team-a:"))
MOVED = TopicEntry(OWN, LogicalName("hid", "theirs"), UUID(int=900).bytes)
FROZEN = Freeze("f", "run", 2**62, ("team-a:orders",))
UNRELATED = TopicEntry("hid..x", LogicalName("hid", "y"), UUID(int=901).bytes)


def message(name: str, version: int, **values: object) -> Any:
    return make(messages.message_class(name, version), values)


def world() -> Pair:
    return World(namespaces=("team-a", "hid")).pair(policies=POLICIES)


def changed(pair: Pair, change: Change) -> None:
    pair.log.append([change])
    pair.catalog_changed()


def described_after(change: Change) -> tuple[int, list[Any]]:
    """The error code and the configs of the client's topic, if another client makes a change while
    the broker has the gateway's query."""
    pair = world()
    resource = {"resource_type": TOPIC, "resource_name": "team-a:orders"}
    request = message("DescribeConfigsRequest", 4, resources=[resource])
    assert pair.ask("DescribeConfigs", 4, request) is not None
    changed(pair, change)
    config = {"name": "retention.ms", "value": "5", "config_source": 1}
    result = {"resource_type": TOPIC, "resource_name": OWN, "configs": [config]}
    told = message("DescribeConfigsResponse", 4, results=[result])
    (answer,) = pair.reply("DescribeConfigs", 4, told).results
    return int(answer.error_code), list(answer.configs)


def test_a_description_after_the_right_was_revoked() -> None:
    assert described_after(REVOKED) == (FORBIDDEN, [])


@pytest.mark.parametrize("change", [MOVED, FROZEN], ids=["moved", "frozen"])
def test_a_description_of_a_topic_that_leaves(change: Change) -> None:
    code, configs = described_after(change)
    assert code in RETRIABLE
    assert not configs


def test_a_description_after_another_change() -> None:
    code, configs = described_after(UNRELATED)
    assert code == 0
    assert ("retention.ms", "5") in [(one.name, one.value) for one in configs]


CHANGES: Mapping[str, tuple[int, dict[str, Any], str]] = {
    "CreateTopics": (
        7,
        {"topics": [{"name": "team-a:new", "num_partitions": 1, "replication_factor": 1}]},
        "topics",
    ),
    "CreatePartitions": (
        3,
        {"topics": [{"name": "team-a:orders", "count": 4, "assignments": None}]},
        "results",
    ),
    "DeleteTopics": (6, {"topics": [{"name": "team-a:orders", "topic_id": None}]}, "responses"),
    "IncrementalAlterConfigs": (
        1,
        {
            "resources": [
                {
                    "resource_type": TOPIC,
                    "resource_name": "team-a:orders",
                    "configs": [{"name": "retention.ms", "config_operation": 0, "value": "5"}],
                }
            ]
        },
        "responses",
    ),
}
ASKED_TWICE = {"CreateTopics", "CreatePartitions", "IncrementalAlterConfigs"}
"""The broker validates these first."""


@pytest.mark.parametrize("api", CHANGES)
async def test_a_change_whose_right_is_revoked_while_it_waits_for_its_turn(api: str) -> None:
    version, values, array = CHANGES[api]
    pair, turns = world(), 0

    async def step(name: str) -> None:
        nonlocal turns
        if name == f"ask {api}Request":
            turns += 1
            if turns == 1 + (api in ASKED_TWICE):
                changed(pair, REVOKED)

    pair.broker.step = step
    before = {name: dict(topic.configs) for name, topic in pair.broker.topics.items()}
    request = message(f"{api}Request", version, **values)
    pair.session.client_data(request_frame(api, version, request))
    while (waiting := pair.session.waiting) is not None:
        pair.session.resume(await waiting.run() if isinstance(waiting, Work) else None)
    (answer,) = getattr(pair.answer(api, version), array)
    assert answer.error_code == FORBIDDEN
    assert turns == 1 + (api in ASKED_TWICE), "it came to its turn"
    asked = pair.broker.requests(f"{api}Request")
    assert all(each.validate_only for each in asked)
    assert {name: topic.configs for name, topic in pair.broker.topics.items()} == before
    assert all(topic.partitions == 1 for topic in pair.broker.topics.values())
    # What a limit would count is not counted any more.
    assert "team-a..new" not in pair.catalog.snapshot.topics


def test_a_creation_whose_right_is_revoked_while_the_broker_validates() -> None:
    pair = world()
    version, values, _ = CHANGES["CreateTopics"]
    request = message("CreateTopicsRequest", version, **values)
    asked = pair.ask("CreateTopics", version, request)
    assert asked.validate_only
    changed(pair, REVOKED)
    result = {"name": "team-a..new", "num_partitions": 1, "replication_factor": 1}
    pair.go_on(message("CreateTopicsResponse", version, topics=[result]))
    assert pair._question is None, "the broker is asked no more"
    (answer,) = pair.answer("CreateTopics", version).topics
    assert (answer.name, answer.error_code) == ("team-a:new", FORBIDDEN)


NAMESPACES: Mapping[str, tuple[int, dict[str, Any], str]] = {
    "CreateTopics": (
        7,
        {
            "topics": [
                {
                    "name": "team-a:new:",
                    "num_partitions": -1,
                    "replication_factor": -1,
                    "configs": [{"name": "retention.ms", "value": "5"}],
                }
            ]
        },
        "topics",
    ),
    "IncrementalAlterConfigs": (
        1,
        {
            "resources": [
                {
                    "resource_type": TOPIC,
                    "resource_name": "team-a:",
                    "configs": [{"name": "retention.ms", "config_operation": 0, "value": "5"}],
                }
            ]
        },
        "responses",
    ),
    "AlterConfigs": (
        2,
        {
            "resources": [
                {
                    "resource_type": TOPIC,
                    "resource_name": "team-a:",
                    "configs": [{"name": "retention.ms", "value": "5"}],
                }
            ]
        },
        "responses",
    ),
}


@pytest.mark.parametrize("api", NAMESPACES)
async def test_a_namespace_whose_right_is_revoked_while_the_broker_validates(api: str) -> None:
    """Its configs are validated by the broker, and it is changed in the catalog after that."""
    version, values, array = NAMESPACES[api]
    pair = world()
    validated = False

    async def step(name: str) -> None:
        nonlocal validated
        if name == "asked CreateTopicsRequest":
            validated = True
            changed(pair, REVOKED)

    pair.broker.step = step
    before = pair.catalog.snapshot.namespaces
    request = message(f"{api}Request", version, **values)
    pair.session.client_data(request_frame(api, version, request))
    while (waiting := pair.session.waiting) is not None:
        pair.session.resume(await waiting.run() if isinstance(waiting, Work) else None)
    (answer,) = getattr(pair.answer(api, version), array)
    assert (answer.error_code, validated) == (FORBIDDEN, True)
    assert pair.catalog.snapshot.namespaces == before
