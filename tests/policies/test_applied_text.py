"""gateway.policies.applied: rules as one line of text, and back."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.policies.applied import applied_rules
from gateway.policies.applied_text import (
    MAX_BYTES,
    AppliedRule,
    ParsedRules,
    parse_rules,
    rules_text,
)
from tests.policies.samples import policies

ORG = "policies.namespaces.org"

# Texts of the line's own special characters could be mistaken.
TEXTS = st.text(max_size=20) | st.text('ab =;,()"\\ and3more\n\t\x00', max_size=12)
ROWS = st.builds(AppliedRule, TEXTS, TEXTS, st.sampled_from(["enforce", "warn", None]), TEXTS)


def test_what_people_read() -> None:
    written = policies(
        {"partitions": {"max": 12}},
        org={
            "mode": "warn",
            "configs": {"allowed": ["a", "b"]},
            "name_pattern": "[a-z][a-z0-9-]*",
        },
    )
    assert rules_text(applied_rules(written, "org")) == (
        "partitions.max=12 (policies.everywhere, enforce); "
        'configs.allowed="a, b" (policies.namespaces.org, warn); '
        "name_pattern=[a-z][a-z0-9-]* (policies.namespaces.org, warn); "
        "producer.acks=upgrade (the default); producer.idempotence=observe (the default)"
    )


@given(st.lists(ROWS, max_size=6))
def test_it_is_read_back(found: list[AppliedRule]) -> None:
    line = rules_text(found)
    assert line.isprintable()
    assert parse_rules(line) == ParsedRules(tuple(found))


@given(st.lists(ROWS, min_size=1, max_size=8), st.integers(30, 300))
def test_what_has_no_room_is_counted(found: list[AppliedRule], most: int) -> None:
    line = rules_text(found, most)
    assert len(line.encode()) <= most
    parsed = parse_rules(line)
    assert parsed.rules == tuple(found[: len(parsed.rules)])
    assert len(parsed.rules) + parsed.more == len(found)


def test_no_more_than_a_value_can_hold() -> None:
    block = {"configs": {"ranges": {f"key.{number}": {"min": 1} for number in range(2_000)}}}
    line = rules_text(applied_rules(policies(org=block), "org"))
    assert MAX_BYTES - 100 < len(line.encode()) <= MAX_BYTES < 2**15
    parsed = parse_rules(line)
    assert len(parsed.rules) + parsed.more == 2_002


@given(st.text() | st.text('ab =;,()"\\ and3more', max_size=30))
def test_any_text_is_read_or_rejected(line: str) -> None:
    try:
        parsed = parse_rules(line)
    except ValueError:
        return
    assert parse_rules(rules_text(parsed.rules)).rules == parsed.rules


@pytest.mark.parametrize(
    "line",
    [
        "partitions.max",
        "partitions.max=12",
        "partitions.max=12 (org",
        "partitions.max=12 (org, refuse)",
        "partitions.max=12 (org);",
        "partitions.max=12 (org); ",
        "partitions.max=12 (org), b=1 (org)",
        "and 3 more; a=1 (org)",
        "and 0 more",
        'a="\\x" (org)',
    ],
)
def test_what_is_rejected(line: str) -> None:
    with pytest.raises(ValueError, match=r"policy|escape"):
        parse_rules(line)
