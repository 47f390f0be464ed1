"""gateway.brokers.throttling: the throttle times of responses."""

from __future__ import annotations

import pytest

from gateway.brokers.throttling import throttle_ms, with_throttle_ms
from protocol import messages
from protocol.messages import element_class, make

PRODUCE, CREATE_TOPICS, DELETE_TOPICS, CREATE_PARTITIONS = 0, 19, 20, 37


def created(version: int) -> bytes:
    cls = messages.message_class("CreateTopicsResponse", version)
    topic = make(element_class(cls, "topics"), {"name": "t", "error_code": 89})
    return messages.write(make(cls, {"topics": (topic,)}))


@pytest.mark.parametrize("version", range(2, 8))
def test_a_response_is_given_its_throttle_time(version: int) -> None:
    body = created(version)
    assert throttle_ms(CREATE_TOPICS, version, body) == 0
    assert with_throttle_ms(CREATE_TOPICS, version, body, 0) == body
    throttled = with_throttle_ms(CREATE_TOPICS, version, body, 28_900)
    assert throttle_ms(CREATE_TOPICS, version, throttled) == 28_900
    read = messages.parse("CreateTopicsResponse", version, throttled)
    assert read.throttle_time.total_seconds() == 28.9
    assert [(topic.name, int(topic.error_code)) for topic in read.topics] == [("t", 89)]


@pytest.mark.parametrize(
    ("api_key", "version", "begins"),
    [
        (CREATE_TOPICS, 2, True),
        (CREATE_TOPICS, 1, False),
        (DELETE_TOPICS, 1, True),
        (DELETE_TOPICS, 6, True),
        (CREATE_PARTITIONS, 0, True),
        (PRODUCE, 9, False),
    ],
)
def test_responses_that_have_none_in_front_are_left_alone(
    api_key: int, version: int, begins: bool
) -> None:
    body = b"\0\0\0\7rest"
    assert throttle_ms(api_key, version, body) == (7 if begins else 0)
    expected = b"\0\0\0\1rest" if begins else body
    assert with_throttle_ms(api_key, version, body, 1) == expected
