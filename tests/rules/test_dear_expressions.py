"""Expressions of KIP-848 members that would take too long to match: a name or a listing may be what
makes them dear, so they are rejected when they are evaluated."""

from __future__ import annotations

import pytest

from gateway.decision import Denied
from gateway.rules.group_members import KnownNames
from gateway.rules.regex_subscriptions import RegexSubscriptions
from tests.rules.heartbeats import (
    INVALID_REGULAR_EXPRESSION,
    NAMES,
    Client,
    heartbeat,
    on_request,
)

DEAR = "(a|)" * 5_000
"""Takes 40 microseconds for each byte of a name of this letter alone."""

LONG = "a" * 3_000


@pytest.fixture
def client() -> Client:
    return Client(RegexSubscriptions())


def test_a_name_for_which_the_expression_takes_long(client: Client) -> None:
    client.topics_change(*NAMES, LONG)
    rejected = client.beat(0, (), DEAR)
    assert rejected.code == INVALID_REGULAR_EXPRESSION
    assert "matching 3,000 bytes takes too long" in rejected.message
    assert len(rejected.message) < 500
    assert client.beat(0, (), "a.*").subscribed_topic_names == (
        "a:orders",
        "a:orders.old",
        "a:users",
        LONG,
    )


def test_a_subscription_stays_as_it_was(client: Client) -> None:
    client.topics_change(*NAMES, LONG)
    client.beat(0, ("b:orders",), "a:users")
    assert client.beat(1, ("a:orders",), DEAR).code == INVALID_REGULAR_EXPRESSION
    assert client.beat(1).subscribed_topic_names is None
    client.topics_change(*NAMES, LONG, "a:users.new")
    assert client.beat(1, None, "a:users.*").subscribed_topic_names == (
        "a:users",
        "a:users.new",
        "b:orders",
    )


def test_a_name_that_comes_later(client: Client) -> None:
    """The expression is fatal to the member while there is the name, and only then."""
    client.topics_change(*NAMES, "aaa")
    assert client.beat(0, (), DEAR).subscribed_topic_names == ("aaa",)
    client.topics_change(*NAMES, "aaa", LONG)
    rejected = client.beat(1)
    assert rejected.code == INVALID_REGULAR_EXPRESSION
    assert DEAR[:100] in rejected.message
    client.topics_change(*NAMES, "aaa", "aa")
    assert client.beat(1).subscribed_topic_names == ("aa", "aaa")


def test_what_costs_too_much_is_not_evaluated_again() -> None:
    reads = list[int]()

    def listing() -> KnownNames:
        def read() -> tuple[str, ...]:
            reads.append(1)
            return LONG, *NAMES

        return KnownNames(1, read)

    worker = RegexSubscriptions()
    for member in ("m", "n", "m"):
        outcome = on_request(worker, 1, heartbeat(0, (), DEAR, member), listing, "")
        assert isinstance(outcome, Denied)
        assert outcome.code == INVALID_REGULAR_EXPRESSION
    assert len(reads) == 1
