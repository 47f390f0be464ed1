"""gateway.page.denials: the latest denials, each once, with its count."""

from __future__ import annotations

from typing import Any

from gateway.audit.event import AuthenticationFailure
from gateway.flows import Denial, PolicyEvent
from gateway.page.denials import KEPT, RecentDenials, RecentLogins
from gateway.policies.judge import POLICIES
from tests.gateway.flow_samples import MAIN, source


def denial(number: int = 0, **values: Any) -> Denial:
    fields: dict[str, Any] = {
        "source": source(principal="User:a"),
        "api_key": 0,
        "version": 9,
        "rule": "acl",
        "code": 29,
        "resource": f"t{number}",
        "message": f"User:a is not allowed to WRITE topic 't{number}'.",
        "operation": "WRITE",
        "named": f"TOPIC t{number}",
        "because": "no ACL allows it",
    }
    return Denial(**{**fields, **values})


def violation(**values: Any) -> PolicyEvent:
    fields: dict[str, Any] = {
        "principal": "User:a",
        "namespace": "org",
        "topic": "org:big",
        "rule": "partitions.max",
        "source": "policies.namespaces.org",
        "mode": "enforce",
        "outcome": "refused",
        "message": "it would have 96 partitions",
        "value": 96,
        "limit": 48,
        "place": MAIN,
    }
    return PolicyEvent(**{**fields, **values})


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


def test_the_same_denial_is_counted() -> None:
    clock = Clock()
    recent = RecentDenials(clock)
    recent.add([denial(1), denial(2), denial(1)], [])
    clock.now = 160.5
    recent.add([denial(2)], [])
    items = recent.items()
    assert [(one["named"], one["count"], one["time"]) for one in items] == [
        ("TOPIC t2", 2, 160_500),
        ("TOPIC t1", 2, 100_000),
    ]


def test_what_is_told_of_one() -> None:
    recent = RecentDenials(lambda: 1.0)
    recent.add([denial(1, message="m" * 1_000)], [violation(), violation(outcome="near")])
    acl, policy = recent.items()
    assert acl == {
        "count": 1,
        "time": 1_000,
        "principal": "User:a",
        "client_id": "app",
        "address": "10.0.0.1",
        "listener": "colon",
        "cluster": "main",
        "mount": None,
        "api": "Produce",
        "rule": "acl",
        "error": "TOPIC_AUTHORIZATION_FAILED",
        "operation": "WRITE",
        "named": "TOPIC t1",
        "resource": "t1",
        "message": "m" * 299 + "…",
        "right": "",
        "because": "no ACL allows it",
    }
    assert (policy["named"], policy["source"], policy["rule"], policy["count"]) == (
        "TOPIC org:big",
        "policies.namespaces.org",
        "partitions.max",
        1,
    )


def test_only_the_latest_are_kept() -> None:
    recent = RecentDenials()
    recent.add([denial(number) for number in range(1_000)], [])
    recent.add([], [violation(topic=f"t{number}") for number in range(1_000)])
    recent.add([denial(number) for number in range(1_000)], [])
    items = recent.items()
    assert len(items) == KEPT
    assert [one["named"] for one in items] == [f"TOPIC t{n}" for n in range(999, 999 - KEPT, -1)]


def test_clients_are_told_apart() -> None:
    recent = RecentDenials()
    recent.add([denial(1), denial(1, source=source(principal="User:b"))], [])
    assert [one["principal"] for one in recent.items()] == ["User:b", "User:a"]


def judged(**values: Any) -> Denial:
    """The denial of a request for violations of policies."""
    told = "it would have 96 partitions Its name is not allowed."
    fields = {"rule": "policies", "code": 44, "api_key": 19, "operation": "", "named": ""}
    return denial(**{**fields, "resource": "org:big", "message": told, **values})


def test_a_violation_is_one_entry_that_names_its_client() -> None:
    recent = RecentDenials(lambda: 1.0)
    name = violation(rule="name.pattern", source="policies", message="Its name is not allowed.")
    clashing = source(principal="User:b")
    for _ in range(3):
        # The judge reports a second before the request is answered, or in the same report.
        recent.add([], [violation()])
        recent.add([judged()], [name])
    recent.add([judged(source=clashing)], [])
    other, found = recent.items()
    assert (found["client_id"], found["address"], found["api"]) == (
        "app",
        "10.0.0.1",
        "CreateTopics",
    )
    assert (found["count"], found["error"]) == (3, "POLICY_VIOLATION")
    assert found["rule"] == "partitions.max, name.pattern"
    assert found["source"] == "policies.namespaces.org, policies"
    # The denial of another principal does not have these violations.
    assert (other["principal"], other["rule"]) == ("User:b", "policies")
    assert "source" not in other


def failure(**values: Any) -> AuthenticationFailure:
    fields: dict[str, Any] = {
        "listener": "users",
        "address": "10.0.0.9:41000",
        "mechanism": "PLAIN",
        "user": "alice",
        "reason": "the password is wrong",
        "principal": "User:ANONYMOUS",
    }
    return AuthenticationFailure(**{**fields, **values})


def test_failed_logins_of_a_client_are_one_entry_whatever_its_ports() -> None:
    clock = Clock()
    recent = RecentLogins(clock)
    recent.add([failure(), failure(address="10.0.0.9:41001"), failure(user=None)])
    clock.now = 101.0
    recent.add([failure(address="10.0.0.9:41002")])
    assert [(one["user"], one["count"], one["time"]) for one in recent.items()] == [
        ("alice", 3, 101_000),
        ("", 1, 100_000),
    ]
    assert recent.items()[0]["address"] == "10.0.0.9"
    recent.add([failure(user=f"u{number}") for number in range(1_000)])
    assert [one["user"] for one in recent.items()] == [f"u{n}" for n in range(999, 999 - KEPT, -1)]


def test_a_denial_that_comes_again_and_again_keeps_some_violations_alone() -> None:
    """A policy class may reject every topic with the same text, and clients choose topics without
    end."""
    recent = RecentDenials()
    same = denial(rule=POLICIES, message="it is not allowed.", named="TOPIC t")
    for number in range(4 * KEPT):
        event = violation(topic=f"t{number}", rule=f"r{number}", message="it is not allowed.")
        recent.add([same], [event])
    (item,) = recent.items()
    assert item["count"] == 4 * KEPT
    assert item["rule"].split(", ") == [f"r{number}" for number in range(3 * KEPT, 4 * KEPT)]
