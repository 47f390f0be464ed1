"""Whatever another gateway responds, the responses of other volumes beside it stay unchanged.

An honest response is changed in a few random fields. The client gets the same items of the volumes
here as beside an honest response, gets nothing that it has not requested, and its connection is
throttled no longer than by a Kafka.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass, replace
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from protocol import messages
from protocol.errors import ProtocolError
from tests.session.pair import topic_id
from tests.tree.fake_tree import FakeCluster
from tests.tree.far_site import SF_1, Site

A_SECOND = timedelta(seconds=1)
NAMES = ["orders", ":ny:orders", ":sf:clicks", ":sf:more", "", "/ny/orders", "..orders", "x" * 300]
NUMBERS = [
    -(2**31),
    -2,
    -1,
    0,
    1,
    2,
    113,
    12_345,
    1 << 16 | 1,
    2 << 16 | 1,
    SF_1,
    65_536,
    2**31 - 1,
]

NEAR = ("orders", ":ny:orders")
FAR = ":sf:clicks"


def by_topic(array: str, item: Callable[[str], Mapping[str, Any]]) -> Callable[[Any], Any]:
    def values(names: list[str]) -> dict[str, Any]:
        return {array: [item(name) for name in names]}

    return values


REQUESTS: dict[str, tuple[int, str, Callable[[Any], Any]]] = {
    "Metadata": (9, "topics", by_topic("topics", lambda name: {"name": name})),
    "FindCoordinator": (
        4,
        "coordinators",
        lambda names: {"key_type": 0, "coordinator_keys": names},
    ),
    "DescribeTopicPartitions": (
        0,
        "topics",
        lambda names: {
            "topics": [{"name": name} for name in names],
            "response_partition_limit": 2_000,
        },
    ),
    "DescribeConfigs": (
        4,
        "results",
        by_topic("resources", lambda name: {"resource_type": 2, "resource_name": name}),
    ),
}


@st.composite
def changed(draw: st.DrawFn, value: Any) -> Any:
    """A value with one random change in it."""
    if is_dataclass(value) and not isinstance(value, type):
        name = draw(st.sampled_from([field.name for field in fields(value)]))
        return replace(value, **{name: draw(changed(getattr(value, name)))})
    if isinstance(value, tuple):
        if not value or draw(st.booleans()):
            return draw(st.sampled_from([(), value + value, value[::-1]]))
        place = draw(st.integers(0, len(value) - 1))
        return (*value[:place], draw(changed(value[place])), *value[place + 1 :])
    if isinstance(value, bool):
        return not value
    if isinstance(value, timedelta):
        return timedelta(milliseconds=draw(st.sampled_from(NUMBERS)))
    if isinstance(value, int):
        return type(value)(draw(st.sampled_from(NUMBERS)))
    if isinstance(value, UUID) or value is None:
        return draw(st.sampled_from([value, topic_id(1)]))
    return draw(st.sampled_from(NAMES)) if isinstance(value, str) else value


def _lied(data: st.DataObject, response: Any) -> Any:
    for _ in range(data.draw(st.integers(1, 3))):
        response = data.draw(changed(response))
    try:
        messages.write(response)
    except (ProtocolError, ValueError, TypeError, OverflowError, AttributeError):
        assume(False)  # these are not such bytes
    return response


def seen(answer: Any, array: str, api: str) -> tuple[list[str], list[Any], Any]:
    """The items in a response by name, the items of volumes here, and the brokers that are not
    sf's."""

    def name_of(entry: Any) -> str:
        for field in ("name", "key", "resource_name"):
            if hasattr(entry, field):
                return str(getattr(entry, field))
        raise AssertionError(api)

    entries = list(getattr(answer, array))
    near = [each for each in entries if name_of(each) in NEAR]
    brokers = [each for each in getattr(answer, "brokers", ()) if each.node_id >> 16 != SF_1 >> 16]
    return [name_of(each) for each in entries], near, brokers


async def _answered(api: str, lie: Callable[[Any], Any] = lambda response: response) -> Any:
    site = Site()
    version, array, request = REQUESTS[api]
    for cluster in site.clusters.values():
        _answers(cluster)
    site.sf.answers = {
        "FindCoordinator": lambda asked: {
            "coordinators": [
                {"key": key, "node_id": SF_1, "host": "h", "port": 1}
                for key in asked.coordinator_keys
            ]
        },
        "DescribeTopicPartitions": lambda asked: {
            "topics": [{"name": each.name, "partitions": [{}]} for each in asked.topics]
        },
        "DescribeConfigs": lambda asked: {
            "results": [
                {"resource_type": 2, "resource_name": each.resource_name}
                for each in asked.resources
            ]
        },
    }
    site.sf.forged = lie
    answer = await site.ask(api, version, request([*NEAR, FAR]))
    site.others.close()
    return seen(answer, array, api), getattr(answer, "throttle_time", timedelta())


def _answers(cluster: FakeCluster) -> None:
    before = cluster.answer

    async def answer(api: str, version: int, request: Any) -> dict[str, object]:
        if api == "FindCoordinator":
            keys = request.coordinator_keys
            found = [{"key": key, "node_id": 1, "host": "kafka", "port": 9092} for key in keys]
            return {"coordinators": found}
        if api == "DescribeConfigs":
            return {
                "results": [
                    {"resource_type": 2, "resource_name": each.resource_name}
                    for each in request.resources
                ]
            }
        if api == "DescribeTopicPartitions":
            return {"topics": [{"name": each.name, "partitions": [{}]} for each in request.topics]}
        return await before(api, version, request)

    cluster.answer = answer  # type: ignore[method-assign]


@pytest.mark.parametrize("api", REQUESTS)
@given(data=st.data())
@settings(max_examples=30)
def test_what_others_answer_stays_as_it_is(api: str, data: st.DataObject) -> None:
    (_, near, brokers), _ = asyncio.run(_answered(api))
    (names, near_beside, brokers_beside), throttled = asyncio.run(
        _answered(api, lambda response: _lied(data, response))
    )
    assert near_beside == near
    assert brokers_beside == brokers
    assert set(names) <= {*NEAR, FAR}
    assert len(names) == len(set(names))
    assert throttled <= A_SECOND
