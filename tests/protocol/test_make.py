"""The same values for every version of a message class."""

from __future__ import annotations

from protocol import messages
from protocol.messages import changed, element_class, has_field, make


def test_a_field_the_version_lacks_is_left_out() -> None:
    old = messages.message_class("ListOffsetsResponse", 1)
    new = messages.message_class("ListOffsetsResponse", 2)
    assert not has_field(old, "throttle_time")
    assert has_field(new, "throttle_time")
    make(old, {"throttle_time": "never looked at", "topics": ()})


def test_null_becomes_the_zero_of_a_field_that_is_not_nullable() -> None:
    values = {"protocol_name": None}
    assert make(messages.message_class("JoinGroupResponse", 6), values).protocol_name == ""
    assert make(messages.message_class("JoinGroupResponse", 7), values).protocol_name is None


def test_an_error_code_is_a_number() -> None:
    cls = messages.message_class("HeartbeatResponse", 1)
    made = make(cls, {"error_code": 25})
    assert messages.parse("HeartbeatResponse", 1, messages.write(made)).error_code == 25
    again = changed(made, {"error_code": 27, "no_such_field": 1})
    assert messages.parse("HeartbeatResponse", 1, messages.write(again)).error_code == 27


def test_the_class_of_elements() -> None:
    request = messages.message_class("MetadataRequest", 9)
    assert has_field(element_class(request, "topics"), "name")
    response = messages.message_class("ConsumerGroupHeartbeatResponse", 0)
    assert has_field(element_class(response, "assignment"), "topic_partitions")
    assert issubclass(
        element_class(messages.message_class("DeleteTopicsRequest", 5), "topic_names"), str
    )
