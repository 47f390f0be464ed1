"""Values that a broker takes as equal: the values that Kafka 4.3.1 returned for values that were
set."""

from __future__ import annotations

import pytest

from gateway.changes.base.config_values import is_same_value

TOLD = [
    ("retention.ms", " 0100 ", "100"),
    ("segment.ms", "+600000", "600000"),
    ("min.cleanable.dirty.ratio", "0.50", "0.5"),
    ("min.cleanable.dirty.ratio", "1", "1.0"),
    ("cleanup.policy", "compact, delete", "compact,delete"),
    ("preallocate", "FALSE", "false"),
    ("unclean.leader.election.enable", " TRUE", "true"),
    ("follower.replication.throttled.replicas", "0:1, 0:2", "0:1,0:2"),
    ("retention.bytes", "9223372036854775807", "9223372036854775807"),
    ("compression.type", "gzip", "gzip"),
]


@pytest.mark.parametrize(("key", "written", "told"), TOLD)
def test_what_kafka_tells(key: str, written: str, told: str) -> None:
    assert is_same_value(written, told), key


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("1", "2"),
        ("9223372036854775807", "9223372036854775806"),
        ("compact,delete", "delete,compact"),
        ("compact,delete", "compact"),
        ("gzip", "GZIP"),
        ("0.5", "0.51"),
        ("", None),
        ("1", None),
        ("true", "1"),
    ],
)
def test_others(one: str, other: str | None) -> None:
    assert not is_same_value(one, other)
    assert not is_same_value(other, one)
    assert is_same_value(one, one)


def test_none() -> None:
    assert is_same_value(None, None)
