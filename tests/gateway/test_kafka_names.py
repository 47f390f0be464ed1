"""gateway.kafka_names: the tables are Kafka's."""

from __future__ import annotations

from kio.schema.errors import ErrorCode
from kio.schema.index import api_key_map

from gateway.kafka_names import API_NAMES, ERROR_NAMES, UNKNOWN, api_name, error_name
from protocol.schema import request_name


def test_apis() -> None:
    assert {key: f"{name}Request" for key, name in API_NAMES.items()} == {
        key: request_name(key) for key in api_key_map
    }
    assert api_name(0) == "Produce"
    assert api_name(12345) == UNKNOWN


def test_errors() -> None:
    assert dict(ERROR_NAMES) == {int(code): code.name.upper() for code in ErrorCode}
    assert error_name(3) == "UNKNOWN_TOPIC_OR_PARTITION"
    assert error_name(12345) == UNKNOWN
