"""Kafka is the oracle of policies: the same CreateTopics requests get the same codes and messages.

A broker runs a policy in Java, and a gateway runs the same policy in Python before a broker without
a policy. KIP-108, row by row: docs/kip-108.md.

The policy's messages contain all its parameters, so these are compared, too. If a request leaves a
value to the broker (-1), Kafka's controller resolves it before it applies its policy, and the
gateway does the same: there is no difference here. Deliberate differences:

- A violation without a message has none in Kafka's response. The gateway returns the message that
  Kafka's clients show then.
- An illegal topic name gets Kafka's code, and the gateway's message, because the gateway has to
  parse names itself (docs/names.md). No policy is applied to it.
- An exception other than PolicyViolation rejects the topic (fail closed, POLICY_VIOLATION). In
  Kafka's controller it fails the whole request.
- The gateway queries the broker first, with ``validate_only``. The broker's quota for such changes
  (controller_mutation_rate) comes after Kafka's policy, but before the gateway's.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.live.oracle.case_counts import CASES, SECONDS, oracle_settings
from tests.live.oracle.create_topics import NUMBER, VERSIONS, Creation, creations
from tests.live.oracle.limits_policy import QUIET
from tests.live.oracle.policy_sides import (
    Outcome,
    Side,
    broker_with_policy,
    gateway_with_policy,
)

pytestmark = pytest.mark.long("brokers")
"""Each side has two brokers."""

REQUESTS: Final = max(CASES // 16, 1)
"""Requests of all versions."""

LEGACY_REQUESTS: Final = max(REQUESTS // 3, 1)
"""Requests of v0 and v1, which Kafka 4 no longer serves."""

TOGETHER: Final = 10
"""Requests drawn at once, because hypothesis mostly repeats itself if it draws one by one."""

NONE: Final = 0
POLICY_VIOLATION: Final = 44
KAFKA_S_CODES: Final = {
    17: "INVALID_TOPIC_EXCEPTION",
    36: "TOPIC_ALREADY_EXISTS",
    37: "INVALID_PARTITIONS",
    38: "INVALID_REPLICATION_FACTOR",
    39: "INVALID_REPLICA_ASSIGNMENT",
    40: "INVALID_CONFIG",
    42: "INVALID_REQUEST",
}
"""Error codes of the hard-coded validation, which precedes policies."""

SINCE_3_9: Final = (
    ("Value must be at least 14", "Value must be at least 1048576"),
    ("are registered.", "are registered or some brokers have all their log directories cordoned."),
)
"""Messages in which Kafka 4.3 differs from 3.9, none about policies.

They are about the least segment.bytes (KIP-1030), and cordoned directories (KIP-1066).
"""

RETAINED: Final = {"name": "retention.ms", "value": "86400000"}
COMPACTED: Final = {"name": "cleanup.policy", "value": "compact"}

OF_A_NAME: Final = "Topic name is invalid: "
"""The prefix of Kafka's messages about illegal topic names."""

UNSAID: Final = "Request parameters do not satisfy the configured policy."
"""The message of POLICY_VIOLATION in Kafka's clients."""

_NUMBERS = itertools.count()
"""Numbers of requests: both sides get requests for topics of the same names."""

Named = Callable[[str | None], str | None]


@pytest.fixture(scope="module")
def ours() -> Iterator[Side]:
    """The gateway."""
    with gateway_with_policy() as side:
        yield side


@pytest.fixture(scope="module")
def kafka_s() -> Iterator[Side]:
    """The newest Kafka."""
    with broker_with_policy() as side:
        yield side


def compare(
    kafka_s: Side, ours: Side, versions: range, count: int, newer: Named = lambda text: text
) -> Counter[tuple[int, int]]:
    """Send both the same random requests; how often each version was answered with each code.

    ``newer`` makes an old Kafka's message the newest's. Fails with the first difference.
    """
    seen: Counter[tuple[int, int]] = Counter()
    found: list[str] = []

    @oracle_settings(-(-count // TOGETHER))
    @given(st.lists(creations(versions), min_size=TOGETHER, max_size=TOGETHER))
    def check(together: list[Creation]) -> None:
        for asked in together:
            if found:
                return
            expected, got = _both(kafka_s, ours, asked, newer)
            seen.update((asked.version, outcome.code) for outcome in expected)
            if got != expected:
                found.append(_report(asked, got, expected))

    check()
    assert not found, found[0]
    return seen


@pytest.mark.timeout(SECONDS)
def test_every_version_is_answered_as_by_a_broker(kafka_s: Side, ours: Side) -> None:
    """Kafka 4 lacks v0 and v1, so it gets v2 instead; the responses in v0 and v1 are shorter."""
    seen = compare(kafka_s, ours, VERSIONS, REQUESTS)
    assert {version for version, _ in seen} == {*VERSIONS}
    assert {code for _, code in seen} == {NONE, POLICY_VIOLATION, *KAFKA_S_CODES}


@pytest.mark.timeout(SECONDS)
def test_v0_and_v1_are_answered_as_by_a_broker_that_has_them(ours: Side) -> None:
    """Kafka 3.9 serves them. Its messages differ from those of Kafka 4.3, but not about
    policies."""
    with broker_with_policy("kafka-3.9") as kafka_s:
        assert kafka_s.oldest == 0
        legacy = VERSIONS[:2]
        seen = compare(kafka_s, ours, legacy, LEGACY_REQUESTS, _since_3_9)
    assert {(version, code) for version in legacy for code in (NONE, POLICY_VIOLATION)} <= {*seen}


@pytest.mark.timeout(SECONDS)
def test_a_policy_sees_what_minus_one_stands_for(kafka_s: Side, ours: Side) -> None:
    """The broker's defaults are no way round a limit.

    Both Kafka and the gateway resolve them before they apply a policy.
    """
    topic = {"name": f"a-{NUMBER}", "num_partitions": -1, "replication_factor": -1}
    for version in VERSIONS:
        asked = _creation(version, {**topic, "configs": [RETAINED, COMPACTED]})
        expected, got = _both(kafka_s, ours, asked)
        assert got == expected
        (outcome,) = got
        assert outcome.code == POLICY_VIOLATION
        if version >= 1:
            message = str(outcome.message)
            assert "partitions 3, replication factor 2, assignments null" in message
            assert message.endswith("3 partitions are more than 2")


@pytest.mark.timeout(SECONDS)
def test_a_policy_is_configured_with_the_broker_s_configs(kafka_s: Side, ours: Side) -> None:
    """The limits depend on ``num.partitions`` and ``default.replication.factor``."""
    topic = {"name": f"a-{NUMBER}", "num_partitions": 7, "replication_factor": 1}
    expected, got = _both(kafka_s, ours, _creation(7, {**topic, "configs": [RETAINED]}))
    assert got == expected
    _, _, wrong = str(got[0].message).partition(" policy: ")
    assert wrong == "7 partitions are more than 6; a replication factor of 1 is less than 2"


@pytest.mark.timeout(SECONDS)
def test_a_violation_is_of_its_topic_alone(kafka_s: Side, ours: Side) -> None:
    """The other topics of the request are created."""
    good = {"num_partitions": 1, "replication_factor": 2, "configs": [RETAINED]}
    topics = [
        {**good, "name": f"a-{NUMBER}"},
        {**good, "name": f"b.{NUMBER}", "num_partitions": 7},
        {**good, "name": f"c..{NUMBER}"},
    ]
    for version in VERSIONS:
        expected, got = _both(kafka_s, ours, _creation(version, *topics, validate_only=False))
        assert got == expected
        assert [outcome.code for outcome in got] == [NONE, POLICY_VIOLATION, NONE]


@pytest.mark.timeout(SECONDS)
def test_kafka_s_own_validation_comes_first(kafka_s: Side, ours: Side) -> None:
    """If both reject a topic, the error has Kafka's code and message."""
    wrong = {"num_partitions": 7, "replication_factor": 1, "configs": []}
    broken = [{"partition_index": 0, "broker_ids": (2,)}]
    topics = [
        {**wrong, "name": f"A-{NUMBER}", "configs": [{"name": "no.such.config", "value": "1"}]},
        {**wrong, "name": f"B-{NUMBER}", "assignments": broken},
        {**wrong, "name": f"C-{NUMBER}"},
    ]
    expected, got = _both(kafka_s, ours, _creation(7, *topics))
    assert got == expected
    assert [outcome.code for outcome in got] == [40, 42, POLICY_VIOLATION]
    assert "replication factor was not set to -1" in str(got[1].message)


@pytest.mark.timeout(SECONDS)
def test_what_a_broker_limits_by_itself(kafka_s: Side, ours: Side) -> None:
    """A broker limits the partitions of a request, and rejects all of it with POLICY_VIOLATION.

    Topics that the gateway has already rejected for their names do not count in its query.
    """
    part = {"replication_factor": 2, "configs": [RETAINED]}
    large = {**part, "name": f"a-{NUMBER}", "num_partitions": 10_001}
    small = {**part, "name": f"b.{NUMBER}", "num_partitions": 1}
    for version in VERSIONS:
        expected, got = _both(kafka_s, ours, _creation(version, large, small))
        assert got == expected
        assert [each.code for each in got] == [POLICY_VIOLATION] * 2
        message = "Excessively large number of partitions per request."
        assert {each.message for each in got} == {message if version >= 1 else None}


@pytest.mark.timeout(SECONDS)
def test_a_violation_without_a_message(kafka_s: Side, ours: Side) -> None:
    """Kafka's response has no message either, and its clients show their own for the code."""
    topic = {"name": f"{QUIET}-{NUMBER}", "num_partitions": 1, "replication_factor": 2}
    for version in VERSIONS:
        expected, got = _both(kafka_s, ours, _creation(version, {**topic, "configs": [RETAINED]}))
        assert [(each.code, each.message) for each in expected] == [(POLICY_VIOLATION, None)]
        assert [each.code for each in got] == [POLICY_VIOLATION]
        assert [each.message for each in got] == [None if version == 0 else UNSAID]


def _both(
    kafka_s: Side, ours: Side, asked: Creation, newer: Named = lambda text: text
) -> tuple[list[Outcome], list[Outcome]]:
    """Kafka's response, and the gateway's."""
    number = next(_NUMBERS)
    expected, got = kafka_s.outcomes(asked, number), ours.outcomes(asked, number)
    assert [each.name for each in got] == [each.name for each in expected], asked
    pairs = zip(expected, got, strict=True)
    told = [each.with_message(_expected(each.message, our.message, newer)) for each, our in pairs]
    return told, got


def _expected(kafka_s: str | None, ours: str | None, newer: Named) -> str | None:
    """The message that the gateway must return."""
    if kafka_s is None or not kafka_s.startswith(OF_A_NAME):
        return newer(kafka_s)
    assert ours is not None
    assert ours.lower().startswith("topic name")
    return ours


def _creation(version: int, *topics: dict[str, object], validate_only: bool = True) -> Creation:
    return Creation(version, topics, validate_only, timedelta(seconds=30))


def _since_3_9(message: str | None) -> str | None:
    if message is not None:
        for before, after in SINCE_3_9:
            message = message.replace(before, after)
    return message


def _report(asked: Creation, got: list[Outcome], expected: list[Outcome]) -> str:
    """A readable report of a difference, with the means to repeat it."""
    lines = [
        f"gateway: {ours}\nbroker:  {kafka_s}"
        for ours, kafka_s in zip(got, expected, strict=False)
        if ours != kafka_s
    ]
    return f"{asked}\n{len(got)} answers, not {len(expected)}\n" + "\n".join(lines)
