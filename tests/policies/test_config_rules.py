"""gateway.policies.declared: ranges of configs; keys that are required, allowed and forbidden."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.policies.declared import config_findings, number
from gateway.policies.interface import RequestMetadata
from tests.policies.samples import asked, block

LONG_MAX = 2**63 - 1


def findings(metadata: RequestMetadata, **keys: Any) -> list[tuple[str, str]]:
    return list(config_findings(block(**keys), metadata))


def rules(metadata: RequestMetadata, **keys: Any) -> list[str]:
    return [rule for rule, _ in findings(metadata, **keys)]


@pytest.mark.parametrize(
    ("key", "text", "expected"),
    [
        ("segment.ms", "5", 5),
        ("segment.ms", " -7 ", -7),
        ("segment.ms", "+5", 5),
        ("min.cleanable.dirty.ratio", "0.5", 0.5),
        ("min.cleanable.dirty.ratio", "5e-1", 0.5),
        ("retention.ms", str(LONG_MAX), LONG_MAX),
        ("retention.ms", "-1", math.inf),
        ("retention.bytes", "-1", math.inf),
        ("segment.ms", "-1", -1),
        ("segment.ms", "", None),
        ("segment.ms", "1_000", None),
        ("segment.ms", "٣", None),
        ("segment.ms", "nan", None),
        ("segment.ms", "inf", None),
        ("segment.ms", "0x10", None),
        ("segment.ms", "1 000", None),
        ("segment.ms", "9" * 5_000, None),
    ],
)
def test_numbers(key: str, text: str, expected: float | None) -> None:
    assert number(key, text) == expected


@given(st.integers(-LONG_MAX, LONG_MAX), st.integers(-LONG_MAX, LONG_MAX))
def test_large_numbers_are_compared_exactly(value: int, limit: int) -> None:
    metadata = asked(configs={"segment.bytes": str(value)})
    found = rules(metadata, configs={"ranges": {"segment.bytes": {"max": limit}}})
    assert found == ([] if value <= limit else ["segment.bytes.max"])


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("59999", ["retention.ms.min"]),
        ("60000", []),
        ("600000", []),
        ("600001", ["retention.ms.max"]),
        ("-1", ["retention.ms.max"]),
        ("never", ["retention.ms"]),
    ],
)
def test_retention(value: str, expected: list[str]) -> None:
    metadata = asked(configs={"retention.ms": value})
    assert rules(metadata, retention__ms={"min": 60_000, "max": 600_000}) == expected


def test_unlimited_retention_is_below_no_min() -> None:
    metadata = asked(configs={"retention.ms": "-1", "retention.bytes": "-1"})
    assert rules(metadata, retention__ms={"min": 1}, retention__bytes={"min": 1}) == []


LOCAL = "has local.retention.ms=-2, which is "


@pytest.mark.parametrize(
    ("configs", "defaults", "expected"),
    [
        ({"local.retention.ms": "5"}, {}, []),
        ({"local.retention.ms": "-1"}, {}, ["max"]),
        ({"local.retention.ms": "-3"}, {}, ["min"]),
        ({"local.retention.ms": "-2", "retention.ms": "5"}, {}, []),
        ({"local.retention.ms": "-2", "retention.ms": "7"}, {}, ["max"]),
        ({"local.retention.ms": "-2", "retention.ms": "-1"}, {}, ["max"]),
        ({"local.retention.ms": "-2"}, {"retention.ms": "7"}, ["max"]),
        ({"local.retention.ms": "-2"}, {"retention.ms": "5"}, []),
        ({"local.retention.ms": "-2"}, {}, [""]),
        ({"local.retention.ms": "-2"}, None, [""]),
        ({"retention.ms": "7"}, {"local.retention.ms": "-2", "retention.ms": "5"}, ["max"]),
    ],
)
def test_a_local_retention_that_is_the_other_one(
    configs: dict[str, str], defaults: dict[str, str | None] | None, expected: list[str]
) -> None:
    """KIP-405: -2 has the value of retention.ms."""
    keys = {"configs": {"ranges": {"local.retention.ms": {"min": 1, "max": 6}}}}
    rule = "local.retention.ms"
    found = rules(asked(configs=configs, defaults=defaults), **keys)
    assert found == [f"{rule}.{end}" if end else rule for end in expected]


@pytest.mark.parametrize(
    ("value", "clause"),
    [
        ("7", f"{LOCAL}retention.ms=7, and at most 6 is allowed here"),
        ("-1", f"{LOCAL}retention.ms=-1 (no limit), and at most 6 is allowed here"),
        ("x", f"{LOCAL}retention.ms='x', which is no number, and at most 6 is allowed here"),
        (
            None,
            f"{LOCAL}what retention.ms is, and the cluster does not tell that; "
            "at most 6 is allowed here",
        ),
    ],
)
def test_words_for_a_local_retention(value: str | None, clause: str) -> None:
    metadata = asked(configs={"local.retention.ms": "-2"}, defaults={"retention.ms": value})
    keys = {"configs": {"ranges": {"local.retention.ms": {"max": 6}}}}
    assert [told for _, told in findings(metadata, **keys)] == [clause]


def test_the_local_retention_of_a_namespace() -> None:
    keys = {"configs": {"ranges": {"local.retention.bytes": {"max": 6}}}}
    same = {"local.retention.bytes": "-2"}
    assert rules(asked("org:", configs=same), **keys) == []
    both = {**same, "retention.bytes": "7"}
    assert rules(asked("org:", configs=both), **keys) == ["local.retention.bytes.max"]
    assert rules(asked("org:", configs={}), **keys) == []


def test_a_shortcut_is_the_same_as_its_range() -> None:
    metadata = asked(configs={"min.insync.replicas": "1"})
    short = findings(metadata, min__insync__replicas={"min": 2})
    long = findings(metadata, configs={"ranges": {"min.insync.replicas": {"min": 2}}})
    clause = "has min.insync.replicas=1, and at least 2 is required here"
    assert short == long == [("min.insync.replicas.min", clause)]


def test_what_the_broker_makes_of_it_counts() -> None:
    """A default of the cluster does not evade a limit."""
    keys = {"min__insync__replicas": {"min": 2}}
    assert rules(asked(defaults={"min.insync.replicas": "1"}), **keys) == [
        "min.insync.replicas.min"
    ]
    assert rules(asked(defaults={"min.insync.replicas": "2"}), **keys) == []
    own = asked(configs={"min.insync.replicas": "2"}, defaults={"min.insync.replicas": "1"})
    assert rules(own, **keys) == []


@pytest.mark.parametrize("defaults", [None, {}, {"retention.ms": None}, {"segment.ms": "1"}])
def test_a_value_that_is_not_known_is_rejected(defaults: dict[str, str | None] | None) -> None:
    assert findings(asked(defaults=defaults), retention__ms={"max": 5}) == [
        (
            "retention.ms",
            "does not set retention.ms, and the cluster does not tell its default;"
            " at most 5 is allowed here, so it has to be set",
        )
    ]


def test_words_for_values() -> None:
    for value, clause in (
        ("-1", "has retention.ms=-1 (no limit), and at most 5 is allowed here"),
        ("never", "has retention.ms='never', which is no number, and at most 5 is allowed here"),
        (
            "x" * 99,
            f"has retention.ms='{'x' * 60}...', which is no number, and at most 5 is allowed here",
        ),
    ):
        metadata = asked(configs={"retention.ms": value})
        assert [told for _, told in findings(metadata, retention__ms={"max": 5})] == [clause]


def test_required() -> None:
    keys = {"configs": {"required": {"retention.ms": None, "cleanup.policy": "delete"}}}
    assert findings(asked(), **keys) == [
        ("configs.required", "does not set retention.ms, which has to be set here"),
        ("configs.required", "does not set cleanup.policy, which has to be set to 'delete' here"),
    ]
    other = asked(configs={"retention.ms": "1", "cleanup.policy": "compact"})
    assert findings(other, **keys) == [
        ("configs.required", "has cleanup.policy='compact', and 'delete' is required here")
    ]
    assert findings(asked(configs={"retention.ms": "1", "cleanup.policy": "delete"}), **keys) == []


def test_a_default_of_the_cluster_is_not_set() -> None:
    metadata = asked(defaults={"retention.ms": "1"})
    assert rules(metadata, configs={"required": ["retention.ms"]}) == ["configs.required"]
    assert rules(metadata, configs={"allowed": []}) == []


def test_allowed() -> None:
    metadata = asked(configs={"b.c": "1", "a": "2", "retention.ms": "3"})
    assert findings(metadata, configs={"allowed": ["retention.ms", "x"]}) == [
        ("configs.allowed", "sets a and b.c, and only retention.ms and x may be set here")
    ]
    assert findings(asked(configs={"a": "1"}), configs={"allowed": []}) == [
        ("configs.allowed", "sets a, and no config may be set here")
    ]


def test_forbidden() -> None:
    metadata = asked(configs={f"key-{index:02}": "1" for index in range(20)})
    ((rule, clause),) = findings(metadata, configs={"forbidden": [*metadata.configs]})
    assert rule == "configs.forbidden"
    assert clause.startswith("sets key-00, key-01, key-02, ")
    assert clause.endswith("key-08, key-09 and 10 more, which may not be set here")


def test_of_a_namespace_what_it_sets_is_asked() -> None:
    keys = {"retention__ms": {"max": 5}, "configs": {"required": ["cleanup.policy"]}}
    assert rules(asked("org:apache:"), **keys) == []
    assert rules(asked("org:apache:", defaults={"retention.ms": "9"}), **keys) == []
    namespace = asked("org:apache:", configs={"retention.ms": "9"})
    assert rules(namespace, **keys) == ["retention.ms.max"]
    assert rules(namespace, configs={"allowed": []}) == ["configs.allowed"]
