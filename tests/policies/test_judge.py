"""gateway.policies.judge: all policies of a namespace, called together."""

from __future__ import annotations

import logging

import pytest

from gateway.error_codes import POLICY_VIOLATION
from gateway.policies.declared import Alteration
from gateway.policies.interface import RequestMetadata
from gateway.policies.judge import MAX_LOGGED, MAX_NAMED, NO_JUDGE, Judge
from gateway.policies.tree import Placed
from gateway.policies.violation import Violation
from tests.policies.samples import asked, policies
from tests.policies.test_limits import HELD, added

CLASS = "create.topic.policy.class.name"


class Classes:
    """Classes that reject what their blocks' names say; they note the calls."""

    def __init__(self, reject: bool = True) -> None:
        self.reject = reject
        self.asked: list[tuple[str, str]] = []

    async def why_not(self, placed: Placed, metadata: RequestMetadata) -> Violation | None:
        self.asked.append((placed.source, metadata.topic))
        if not self.reject:
            return None
        name = placed.block.class_name
        return Violation("create.topic.policy", f"{name}: no.", placed.source, placed.block.mode)


async def test_without_policies_everything_is_allowed() -> None:
    assert await NO_JUDGE.why_not(asked(partitions=10**6)) is None
    assert NO_JUDGE.over_limit(HELD, added("org", 10**6), "org:x", "org") is None
    assert not NO_JUDGE.applies("org")
    assert not NO_JUDGE.counts("org")
    assert NO_JUDGE.take_counters() == []


async def test_a_violation_is_denied() -> None:
    judge = Judge(policies(org={"partitions": {"max": 2}}))
    denied = await judge.why_not(asked())
    assert denied is not None
    assert (denied.code, denied.rule) == (POLICY_VIOLATION, "policies")
    assert denied.message == (
        "Topic 'org:orders' has 3 partitions, and at most 2 are allowed here"
        " (policies: partitions.max, set by namespace 'org')."
    )
    assert await judge.why_not(asked(partitions=2)) is None
    assert await judge.why_not(asked("other:orders")) is None


async def test_all_violations_are_told_outermost_first() -> None:
    judge = Judge(
        policies(
            everywhere={"partitions": {"max": 2}},
            org_apache={"replication_factor": {"min": 4}},
            org={"name_pattern": "x"},
        )
    )
    denied = await judge.why_not(asked("org:apache:orders"))
    assert denied is not None
    rules = ("partitions.max, set for", "name_pattern, set by", "replication_factor.min, set by")
    places = [denied.message.index(f"(policies: {rule}") for rule in rules]
    assert places == sorted(places)
    assert denied.message.count("Topic 'org:apache:orders' has ") == 3


async def test_an_inner_block_loosens_nothing() -> None:
    judge = Judge(policies(everywhere={"partitions": {"max": 2}}, org={"partitions": {"max": 9}}))
    assert await judge.why_not(asked()) is not None


async def test_only_so_many_are_told() -> None:
    required = [f"key-{index}" for index in range(MAX_NAMED + 2)]
    judge = Judge(policies(everywhere={"configs": {"required": required}}))
    denied = await judge.why_not(asked())
    assert denied is not None
    assert denied.message.count("Topic ") == MAX_NAMED
    assert denied.message.endswith(" 2 more rules are violated.")


async def test_classes_are_asked_after_the_rules_outermost_first() -> None:
    classes = Classes()
    written = policies(
        everywhere={CLASS: "outer"}, org={"partitions": {"max": 2}}, org_apache={CLASS: "inner"}
    )
    denied = await Judge(written, classes.why_not).why_not(asked("org:apache:orders"))
    assert denied is not None
    assert denied.message.startswith("Topic ")
    assert denied.message.endswith(" set by namespace 'org'). outer: no. inner: no.")
    assert classes.asked == [
        ("policies.everywhere", "org:apache:orders"),
        ("policies.namespaces.org:apache", "org:apache:orders"),
    ]


async def test_what_a_class_says_is_the_whole_message() -> None:
    judge = Judge(policies(org={CLASS: "acme"}), Classes().why_not)
    denied = await judge.why_not(asked())
    assert denied is not None
    assert denied.message == "acme: no."
    allowing = Judge(policies(org={CLASS: "acme"}), Classes(reject=False).why_not)
    assert await allowing.why_not(asked()) is None


async def test_a_class_may_only_warn() -> None:
    judge = Judge(policies(org={CLASS: "acme", "mode": "warn"}), Classes().why_not)
    assert await judge.why_not(asked()) is None
    assert judge.take_counters() == [
        ("policy_violations", ("org", "create.topic.policy", "warn"), 1)
    ]


async def test_to_warn_rejects_nothing(caplog: pytest.LogCaptureFixture) -> None:
    judge = Judge(policies(org={"mode": "warn", "partitions": {"max": 2}}))
    with caplog.at_level(logging.WARNING):
        assert await judge.why_not(asked()) is None
    assert caplog.messages == [
        "policies warn of what User:alice asks for: Topic 'org:orders' has 3 partitions, and at"
        " most 2 are allowed here (policies: partitions.max, set by namespace 'org')."
    ]


async def test_the_mode_is_each_blocks_own() -> None:
    written = policies(
        everywhere={"mode": "warn", "partitions": {"max": 1}}, org={"partitions": {"max": 2}}
    )
    judge = Judge(written)
    denied = await judge.why_not(asked())
    assert denied is not None
    assert "at most 1" not in denied.message
    assert judge.take_counters() == [
        ("policy_violations", ("org", "partitions.max", "warn"), 1),
        ("policy_violations", ("org", "partitions.max", "enforce"), 1),
    ]


async def test_violations_are_counted_by_namespace_until_they_are_taken() -> None:
    judge = Judge(policies(everywhere={"partitions": {"max": 2}}))
    for topic in ("org:a", "org:b", "c"):
        await judge.why_not(asked(topic))
    assert judge.take_counters() == [
        ("policy_violations", ("org", "partitions.max", "enforce"), 2),
        ("policy_violations", ("(default)", "partitions.max", "enforce"), 1),
    ]
    assert judge.take_counters() == []


async def test_only_so_many_warnings_are_logged(caplog: pytest.LogCaptureFixture) -> None:
    judge = Judge(policies(everywhere={"mode": "warn", "partitions": {"max": 2}}))
    for _ in range(MAX_LOGGED + 5):
        await judge.why_not(asked())
    assert len(caplog.messages) == MAX_LOGGED
    ((_, _, count),) = judge.take_counters()
    assert count == MAX_LOGGED + 5
    await judge.why_not(asked())
    assert len(caplog.messages) == MAX_LOGGED + 1


def test_limits(caplog: pytest.LogCaptureFixture) -> None:
    judge = Judge(policies(org={"max_topics": 1}, other={"mode": "warn", "max_topics": 1}))
    denied = judge.over_limit(HELD, added("org"), "org:new", "org")
    assert denied is not None
    assert (denied.code, denied.rule) == (POLICY_VIOLATION, "policies")
    assert denied.message.startswith("With topic 'org:new', namespace 'org' would have 2 topics")
    assert judge.over_limit(HELD, added("org", 0), "org:new", "org") is None
    assert caplog.messages == []
    more = added("other")
    assert judge.over_limit(HELD, more, "other:new", "other", principal="User:bob") is None
    (line,) = caplog.messages
    assert line.startswith("policies warn of what User:bob asks for: With topic 'other:new'")


def test_where_policies_apply_and_where_they_count() -> None:
    judge = Judge(policies(org={"partitions": {"max": 2}}, org_apache={"max_topics": 1}))
    assert [judge.applies(path) for path in ("", "org", "org:apache", "o")] == [
        False,
        True,
        True,
        False,
    ]
    assert [judge.counts(path) for path in ("", "org", "org:apache")] == [False, False, True]


async def test_a_reload_replaces_the_policies() -> None:
    judge = Judge(policies(org={"partitions": {"max": 2}}))
    judge.policies = policies(org={"partitions": {"max": 3}})
    assert await judge.why_not(asked()) is None


# -- records of the traffic log -------------------------------------------------------------------


async def test_violations_and_near_misses_are_events() -> None:
    judge = Judge(
        policies(
            org={"partitions": {"max": 2}},
            org_apache={"mode": "warn", "partitions": {"max": 1}},
            other={"partitions": {"max": 3}, "replication_factor": {"min": 1}},
        )
    )
    await judge.why_not(asked("org:apache:orders"))
    await judge.why_not(asked("other:orders"))
    found = [
        (one.topic, one.namespace, one.rule, one.source, one.outcome, one.value, one.limit)
        for one in judge.take_events()
    ]
    rejected = ("org:apache:orders", "org:apache", "partitions.max")
    assert found == [
        (*rejected, "policies.namespaces.org", "refused", 3, 2),
        (*rejected, "policies.namespaces.org:apache", "warned", 3, 1),
        ("other:orders", "other", "partitions.max", "policies.namespaces.other", "near", 3, 3),
    ]
    assert judge.take_events() == []


async def test_of_a_topic_that_is_rejected_no_near_miss_is_told() -> None:
    judge = Judge(policies(org={"partitions": {"max": 3}, "name_pattern": "x"}))
    assert await judge.why_not(asked()) is not None
    (event,) = judge.take_events()
    assert (event.rule, event.outcome, event.value, event.limit) == (
        "name_pattern",
        "refused",
        None,
        None,
    )


async def test_near_misses_are_no_violations() -> None:
    judge = Judge(policies(org={"partitions": {"max": 3}}))
    assert await judge.why_not(asked()) is None
    assert judge.take_counters() == []
    (event,) = judge.take_events()
    assert event.message == (
        "For topic 'org:orders' 3 is allowed, near the limit of 3"
        " (policies: partitions.max, set by namespace 'org')."
    )


async def test_of_an_alteration_only_what_it_changes_may_be_near() -> None:
    limits = {"partitions": {"max": 3}, "retention.ms": {"max": 100}}
    judge = Judge(policies(org=limits))
    before = asked(configs={"retention.ms": "1"})
    after = asked(configs={"retention.ms": "90"})
    assert await judge.why_not(after, Alteration(before, ["retention.ms"])) is None
    assert [one.rule for one in judge.take_events()] == ["retention.ms.max"]


def test_counted_limits_have_their_numbers() -> None:
    judge = Judge(policies(org={"max_topics": 100}))
    there = HELD.topics("org")
    assert judge.over_limit(HELD, added("org", 80 - there), "org:x", "org") is None
    assert judge.over_limit(HELD, added("org", 101 - there), "org:x", "org") is not None
    found = [(one.outcome, one.value, one.limit, one.topic) for one in judge.take_events()]
    assert found == [("near", 80, 100, "org:x"), ("refused", 101, 100, "org:x")]


async def test_events_beyond_the_bound_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gateway.policies.judge.MAX_EVENTS", 2)
    judge = Judge(policies(org={"partitions": {"max": 2}}))
    for _ in range(5):
        await judge.why_not(asked())
    assert len(judge.take_events()) == 2
    assert ("policy_events_dropped", ("",), 3) in judge.take_counters()
