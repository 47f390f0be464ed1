"""Waits until both sides have the same state, because brokers apply changes a moment later."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from gateway.apis.table import APIS
from tests.live.fuzz.differences import WITH_A_PLUGIN
from tests.live.fuzz.requests import ALONE, Burst, Request, Served
from tests.live.fuzz.sides import CLOSED, HUNG, Names, Side
from tests.live.fuzz.values import TIMEOUT, Ref

_NOT_YET: Final = frozenset({5, 6, 14, 15, 16, 51})
"""Codes of a broker that is not ready yet: no leader, no coordinator, a transaction that ends."""

_MADE: Final = frozenset({0, 36})
_NO_BROKER: Final = 38
"""The controller's error while it has not heard from its broker for a while."""

_PAUSE: Final = 0.02
_TRIES: Final = 6_000
"""Two minutes and more, because machines are busy."""

_COORDINATED: Final = (
    Request("FindCoordinator", 3, {"key": Ref("group", "g"), "key_type": 0}),
    Request("FindCoordinator", 3, {"key": Ref("id", "warm"), "key_type": 1}),
    Request("DescribeGroups", 5, {"groups": [Ref("group", "g")]}),
    Request(
        "InitProducerId",
        4,
        {
            "transactional_id": Ref("id", "warm"),
            "transaction_timeout": TIMEOUT,
            "producer_id": -1,
            "producer_epoch": -1,
        },
    ),
)
"""Requests to coordinators; the first two make Kafka create the coordinators."""


def _leaders(names: Mapping[str, int]) -> Request:
    """A request that has no error once every partition has its leader."""
    topics = [
        {
            "name": Ref("topic", name),
            "partitions": [
                {"partition_index": n, "current_leader_epoch": -1, "timestamp": -1}
                for n in range(count)
            ],
        }
        for name, count in names.items()
    ]
    return Request("ListOffsets", 4, {"replica_id": -1, "isolation_level": 0, "topics": topics})


def _creation(name: str, partitions: int) -> dict[str, Any]:
    return {
        "name": Ref("topic", name),
        "num_partitions": partitions,
        "replication_factor": 1,
        "configs": [],
    }


def served_by_both(sides: Sequence[dict[int, tuple[int, int]]]) -> Served:
    """The versions that both sides serve, of the gateway's APIs that brokers serve, too.

    v0 of Produce and similar versions that are only rejected are in neither, nor are APIs that a
    broker serves with a plugin only: what they answer depends on when a client asked last.
    """
    served = {}
    for api in APIS.values():
        if api.name in WITH_A_PLUGIN or not all(api.key in side for side in sides):
            continue
        ranges = [(api.first, api.last), *(side[api.key] for side in sides)]
        first, last = max(low for low, _ in ranges), min(high for _, high in ranges)
        served[api.name] = (first, last)
    return served


async def make_topics(side: Side, lane: str, names: Mapping[str, int]) -> None:
    """Create the topics of a lane, with so many partitions, and wait for leaders and
    coordinators."""
    topics = [_creation(name, count) for name, count in names.items()]
    creation = Request("CreateTopics", 7, {"topics": topics, "timeout": TIMEOUT})
    for _ in range(_TRIES):
        (answer,) = await side.exchange([creation])
        codes = {topic["error_code"] for topic in answer["topics"]}
        if _NO_BROKER not in codes:
            break
        await asyncio.sleep(_PAUSE)
    assert codes <= _MADE, answer
    await _until_there(side, list(names), there=True)
    await ask(side, [_leaders(names)], wait=True)
    for asked in _COORDINATED:
        fixed = Names(lane, 0).fixed(asked.values)
        await ask(side, [replace(asked, values=fixed)], wait=True)


async def forget_topics(side: Side, names: Sequence[str]) -> None:
    """Delete topics that are no longer used, so that listings stay short."""
    refs = [Ref("topic", name) for name in names]
    await side.exchange([Request("DeleteTopics", 5, {"topic_names": refs, "timeout": TIMEOUT})])


async def ask(side: Side, asked: Burst, wait: bool = False) -> list[Any]:
    """The responses to a burst.

    It is sent again while a broker is not ready, if ``wait`` or if it is a request of ``ALONE``.
    """
    answers = await side.exchange(asked)
    for _ in range(_TRIES):
        may_wait = wait or (len(asked) == 1 and asked[0].api in ALONE)
        if not may_wait or not _NOT_YET & set(_codes(answers)):
            return answers
        await asyncio.sleep(_PAUSE)
        answers = await side.exchange(asked)
    raise AssertionError(f"{asked} is still answered {answers}")


def _codes(tree: Any) -> list[int]:
    """Every error code of a response."""
    if isinstance(tree, list):
        return [code for item in tree for code in _codes(item)]
    if not isinstance(tree, dict):
        return []
    own = [value for key, value in tree.items() if key.endswith("error_code")]
    return own + [code for value in tree.values() for code in _codes(value)]


async def settle(sides: Sequence[Side], asked: Burst, answers: list[Any]) -> None:
    """Wait until both brokers know which topics were created or deleted."""
    (request, answer) = asked[0], answers[0]
    if request.api not in ("CreateTopics", "DeleteTopics") or request.values.get("validate_only"):
        return
    items = answer["topics"] if request.api == "CreateTopics" else answer["responses"]
    changed = [item["name"] for item in items if not item["error_code"] and item["name"]]
    if changed:
        there = request.api == "CreateTopics"
        await asyncio.gather(*(_until_there(side, changed, there=there) for side in sides))


async def _until_there(side: Side, names: list[str], *, there: bool) -> None:
    topics = [{"name": side.symbols.prefix + name} for name in names]
    request = Request("Metadata", 12, {"topics": topics, "allow_auto_topic_creation": False})
    for _ in range(_TRIES):
        (answer,) = await side.exchange([request])
        if answer in (CLOSED, HUNG):
            return
        done = [
            topic["error_code"] == 0 and not any(p["error_code"] for p in topic["partitions"])
            if there
            else topic["error_code"] == 3
            for topic in answer["topics"]
        ]
        if all(done):
            return
        await asyncio.sleep(_PAUSE)
    raise AssertionError(f"{names} did not come, or go")
