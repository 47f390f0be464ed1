"""protocol.schema: APIs and errors have the names of Kafka's protocol guide."""

from __future__ import annotations

from protocol.schema import API_NAMES, ERROR_NAMES, UNKNOWN, api_name, error_name


def test_apis() -> None:
    assert [API_NAMES[key] for key in (0, 1, 18, 60, 92)] == [
        *("Produce", "Fetch", "ApiVersions", "DescribeCluster", "DeleteShareGroupOffsets")
    ]
    assert (api_name(0), api_name(12345)) == ("Produce", UNKNOWN)


def test_errors() -> None:
    assert [ERROR_NAMES[code] for code in (-1, 0, 17, 128)] == [
        *("UNKNOWN_SERVER_ERROR", "NONE", "INVALID_TOPIC_EXCEPTION", "INVALID_REGULAR_EXPRESSION")
    ]
    assert (error_name(3), error_name(12345)) == ("UNKNOWN_TOPIC_OR_PARTITION", "12345")
