"""The gateway's own CreateTopics request, and responses of any version."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest

from gateway.catalog.snapshot import Snapshot
from gateway.changes.topics.create_plan import plan
from gateway.changes.topics.creation import broker_request, response
from gateway.decision import Denied
from gateway.views.view import View, ViewSettings
from protocol import messages
from protocol.messages import element_class, make


def request_of(version: int) -> Any:
    cls = messages.message_class("CreateTopicsRequest", version)
    topic_class = element_class(cls, "topics")
    assignment: Any = element_class(topic_class, "assignments")
    config: Any = element_class(topic_class, "configs")
    topic = make(
        topic_class,
        {
            "name": "org:x",
            "num_partitions": -1,
            "replication_factor": -1,
            "assignments": (make(assignment, {"partition_index": 0, "broker_ids": (1, 2)}),),
            "configs": (make(config, {"name": "retention.ms", "value": "5"}),),
        },
    )
    return make(cls, {"topics": (topic,), "timeout": timedelta(seconds=9), "validate_only": True})


@pytest.mark.parametrize("client", range(2, 8))
@pytest.mark.parametrize("broker", range(2, 8))
def test_a_request_of_any_version_becomes_one_of_any_other(client: int, broker: int) -> None:
    request = request_of(client)
    view = View(ViewSettings("test"), Snapshot.of(["org"]))
    item = plan(view, request.topics[0], 0, lambda _: False)
    asked = broker_request(request, [item], validate_only=True)
    made = messages.parse(asked.name, broker, messages.write(asked.entity(broker)))
    (topic,) = made.topics
    assert (topic.name, topic.num_partitions, made.validate_only) == ("org..x", -1, True)
    assert made.timeout == timedelta(seconds=9)
    assert [(c.name, c.value) for c in topic.configs] == [("retention.ms", "5")]
    assert [(a.partition_index, a.broker_ids) for a in topic.assignments] == [(0, (1, 2))]


@pytest.mark.parametrize("client", range(2, 8))
@pytest.mark.parametrize("broker", range(2, 8))
def test_a_response_of_any_version(client: int, broker: int) -> None:
    theirs = element_class(messages.message_class("CreateTopicsResponse", broker), "topics")
    values = {"name": "flat", "num_partitions": 3, "topic_id": UUID(int=7)}
    results = [
        ("bad", Denied(17, "No.", "names")),
        ("org:", {"retention.ms": "5"}),
        ("made", make(theirs, values)),
    ]
    body = response(client, results)
    told = messages.parse("CreateTopicsResponse", client, body).topics
    assert [(topic.name, int(topic.error_code)) for topic in told] == [
        ("bad", 17),
        ("org:", 0),
        ("made", 0),
    ]
    assert told[0].error_message == "No."
    if client >= 5:
        assert [topic.num_partitions for topic in told] == [-1, 0, 3 if broker >= 5 else -1]
        (config,) = told[1].configs
        assert (config.name, config.value, config.config_source) == ("retention.ms", "5", 1)
    if client == broker == 7:
        assert told[2].topic_id == UUID(int=7)
