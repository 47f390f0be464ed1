"""Kafka's StandardAuthorizer is the oracle of ours, for names outside of namespaces.

The same ACLs and the same questions must give the same answers.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.acl_model import (
    ANY_USER,
    AclBinding,
    AclEntry,
    AclFilter,
    Operation,
    PatternType,
    Permission,
    ResourcePattern,
    ResourceType,
)
from tests.live.oracle.acl_sets import (
    HOSTS,
    NAMES,
    OPERATIONS,
    PRINCIPALS,
    acl_sets,
    entries,
    filters,
    patterns,
)
from tests.live.oracle.authorizer import KafkaAuthorizer, Question, Rules, our_answers
from tests.live.oracle.case_counts import CASES, SECONDS, oracle_settings

pytestmark = pytest.mark.long("searches")

ROOT = "User:root"
STRANGER = "Group:alice"
"""A principal of another type than its namesake."""

ASKING = (*PRINCIPALS, ROOT, STRANGER)
RESOURCES: list[tuple[ResourceType, str | None]] = [
    (kind, name) for kind, names in NAMES.items() for name in (*names, None)
]
QUESTIONS = [
    Question(principal, host, operation, kind, name)
    for principal, host, operation, (kind, name) in product(ASKING, HOSTS, OPERATIONS, RESOURCES)
]
SETS = max(CASES // 20, 1)
"""ACL sets for which all of these are asked."""

bindings = st.builds(AclBinding, patterns(), entries((*PRINCIPALS, ANY_USER, ROOT, STRANGER)))
rules = st.builds(
    Rules, acl_sets(bindings), st.sampled_from([(), (ROOT,), (ROOT, STRANGER)]), st.booleans()
)


@pytest.fixture(scope="module")
def kafka_authorizer() -> Iterator[KafkaAuthorizer]:
    with KafkaAuthorizer() as authorizer:
        yield authorizer


@pytest.mark.timeout(SECONDS)
def test_it_decides_as_kafka_s(kafka_authorizer: KafkaAuthorizer) -> None:
    """Every operation of every principal on every resource, and on any resource of a type."""
    asked = 0

    @oracle_settings(SETS)
    @given(rules)
    def check(rules: Rules) -> None:
        nonlocal asked
        kafka_s = kafka_authorizer.answers(rules, QUESTIONS).allowed
        ours = our_answers(rules, QUESTIONS).allowed
        for question, expected, got in zip(QUESTIONS, kafka_s, ours, strict=True):
            assert got is expected, f"{question} of {rules}"
        asked += len(QUESTIONS)

    check()
    assert asked >= CASES


@pytest.mark.timeout(SECONDS)
def test_any_of_a_type_by_default_is_as_kafka_s(kafka_authorizer: KafkaAuthorizer) -> None:
    """The answer that authorizers inherit if they do not implement it themselves."""
    questions = [question for question in QUESTIONS if question.name is None]
    found: set[bool] = set()

    @oracle_settings(SETS)
    @given(rules)
    def check(rules: Rules) -> None:
        kafka_s = kafka_authorizer.answers(rules, questions).by_default
        ours = our_answers(rules, questions).by_default
        for question, expected, got in zip(questions, kafka_s, ours, strict=True):
            assert got is expected, f"{question} of {rules}"
        found.update(kafka_s)

    check()
    assert found == {True, False}


@pytest.mark.timeout(SECONDS)
def test_filters_mean_the_same(kafka_authorizer: KafkaAuthorizer) -> None:
    """The ACLs that DescribeAcls lists and DeleteAcls deletes."""

    @oracle_settings(SETS)
    @given(rules, st.lists(filters(), min_size=1, max_size=20))
    def check(rules: Rules, asked: list[AclFilter]) -> None:
        kafka_s = kafka_authorizer.answers(rules, (), asked).meant
        ours = our_answers(rules, (), asked).meant
        for one, expected, got in zip(asked, kafka_s, ours, strict=True):
            assert got == expected, f"{one} of {rules}"

    check()


ADDRESSES = ("::1", "fe80::1", "::ffff:127.0.0.1", "127.0.0.1", "10.0.0.1")
AS_JAVA_HAS_THEM = ("0:0:0:0:0:0:0:1", "fe80:0:0:0:0:0:0:1", "127.0.0.1", "10.0.0.1")


def test_addresses_are_kafka_s(kafka_authorizer: KafkaAuthorizer) -> None:
    """IPv6 addresses too, which Java, and so Kafka's ACLs, write in a form of its own."""
    pattern = ResourcePattern(ResourceType.TOPIC, PatternType.LITERAL, "a")
    for written in AS_JAVA_HAS_THEM:
        entry = AclEntry("User:alice", written, Operation.READ, Permission.ALLOW)
        rules = Rules((AclBinding(pattern, entry),))
        questions = [
            Question("User:alice", host, Operation.READ, ResourceType.TOPIC, "a")
            for host in ADDRESSES
        ]
        kafka_s = kafka_authorizer.answers(rules, questions).allowed
        assert any(kafka_s)
        assert our_answers(rules, questions).allowed == kafka_s, written
