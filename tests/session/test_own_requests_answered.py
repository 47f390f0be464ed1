"""Brokers whose answers to the gateway's own requests do not fit the requests: too few items, too
many, items twice, items that nobody asked for. No such item counts as done."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from protocol import messages
from protocol.messages import make
from tests.session.pair import request_frame
from tests.session.twin_worlds import OWN, World

TOPIC = 2
TIMED_OUT = 7
MINE = {"resource_type": TOPIC, "resource_name": OWN}
OTHERS = {"resource_type": TOPIC, "resource_name": "hid..x", "error_code": 44, "error_message": "x"}
WRONG: Mapping[str, Sequence[Mapping[str, object]]] = {
    "nothing": (),
    "another": (OTHERS,),
    "twice": (MINE, MINE),
    "two contradictions": (MINE, {**MINE, "error_code": 44, "error_message": "x"}),
}


def message(name: str, version: int, **values: object) -> Any:
    return make(messages.message_class(name, version), values)


def describe(name: str) -> Any:
    resource = {"resource_type": TOPIC, "resource_name": name, "configuration_keys": None}
    return message("DescribeConfigsRequest", 4, resources=[resource])


@pytest.mark.parametrize("results", WRONG.values(), ids=WRONG)
def test_a_description_that_does_not_fit(results: Sequence[Mapping[str, object]]) -> None:
    pair = World().pair()
    assert pair.ask("DescribeConfigs", 4, describe("team-a:orders")) is not None
    told = message("DescribeConfigsResponse", 4, results=results)
    (result,) = pair.reply("DescribeConfigs", 4, told).results
    assert (result.resource_name, result.error_code) == ("team-a:orders", TIMED_OUT)
    assert not result.configs


@pytest.mark.parametrize("results", WRONG.values(), ids=WRONG)
def test_a_sample_that_does_not_fit_leaves_the_next_source(
    results: Sequence[Mapping[str, object]],
) -> None:
    """Defaults are read from topics that exist; if none is described, from a validated creation."""
    pair = World().pair()
    assert pair.ask("DescribeConfigs", 4, describe("team-a:")) is not None
    told = message("DescribeConfigsResponse", 4, results=results)
    while pair._question is not None:
        pair.go_on(told)
    (result,) = pair.answer("DescribeConfigs", 4).results
    assert (result.resource_name, result.error_code) == ("team-a:", 0)
    assert {"retention.ms", "cleanup.policy"} <= {config.name for config in result.configs}


@pytest.mark.parametrize("results", WRONG.values(), ids=WRONG)
def test_an_alteration_that_does_not_fit_is_not_called_done(
    results: Sequence[Mapping[str, object]],
) -> None:
    pair = World().pair()
    config = {"name": "retention.ms", "config_operation": 0, "value": "5"}
    resource = {"resource_type": TOPIC, "resource_name": "team-a:orders", "configs": [config]}
    request = message("IncrementalAlterConfigsRequest", 1, resources=[resource])
    assert pair.ask("IncrementalAlterConfigs", 1, request) is not None
    told = message("IncrementalAlterConfigsResponse", 1, responses=results)
    while pair._question is not None:
        pair.go_on(told)
    (result,) = pair.answer("IncrementalAlterConfigs", 1).responses
    assert (result.resource_name, result.error_code) == ("team-a:orders", TIMED_OUT)
    assert "try again" in result.error_message


@pytest.mark.parametrize("names", [(), ("hid..x",), ("asked", "asked")], ids=str)
def test_a_validation_that_does_not_fit(names: Sequence[str]) -> None:
    """The configs of a namespace are validated by the creation of a topic that is not made."""
    pair = World().pair()
    config = {"name": "retention.ms", "config_operation": 0, "value": "5"}
    resource = {"resource_type": TOPIC, "resource_name": "team-a:", "configs": [config]}
    request = message("IncrementalAlterConfigsRequest", 1, resources=[resource])
    pair.broker.scripted, pair.broker.version = "CreateTopicsRequest", 7
    pair.send(request_frame("IncrementalAlterConfigs", 1, request))
    assert pair._question is not None
    (probe,) = pair._question.request.topics
    topics = [{"name": probe.name if name == "asked" else name} for name in names]
    pair.go_on(message("CreateTopicsResponse", 7, topics=topics))
    (result,) = pair.answer("IncrementalAlterConfigs", 1).responses
    assert (result.resource_name, result.error_code) == ("team-a:", TIMED_OUT)
    assert not pair.catalog.snapshot.namespaces["team-a"].configs
