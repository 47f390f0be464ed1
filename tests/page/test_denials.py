"""gateway.page.denials: the latest denials, each once, with how often it came."""

from __future__ import annotations

from typing import Any

from gateway.flows import Denial, PolicyEvent
from gateway.page.denials import KEPT, RecentDenials
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
    policy, acl = recent.items()
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
