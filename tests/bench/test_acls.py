"""bench.acls: every row, on few ACLs, and that the decisions agree with the rows."""

from __future__ import annotations

import pytest

from bench import acls
from bench.acl_population import HOST, LONG_NAME, WORST, principal, resource_acls, team
from gateway.acl_model import Operation, ResourceType, resource
from gateway.catalog.snapshot import Snapshot

USERS = [principal(number) for number in range(20)]


@pytest.fixture(scope="module")
def small() -> Snapshot:
    return acls.populated(resource_acls(6_000, len(USERS)))


def test_what_is_asked_is_answered_as_the_rows_say(small: Snapshot) -> None:
    """A denial would take another time than an ALLOW."""
    asked = acls.seeing(small)
    topic = ResourceType.TOPIC
    for number, user in enumerate(USERS):
        for operation, name, allowed in (
            (Operation.WRITE, f"{team(number)}events-0", True),
            (Operation.WRITE, f"service-{number}-yyy", True),
            (Operation.DELETE, f"service-{number}-yyy", False),
        ):
            found = asked.authorize(user, HOST, operation, resource(topic, name))
            assert found.allowed is allowed, (user, operation, name)
        assert asked.authorize_any(user, HOST, Operation.WRITE, topic).allowed
        assert not asked.authorize_any(user, HOST, Operation.DELETE, topic).allowed
    for user in WORST:
        assert asked.authorize(user, HOST, Operation.READ, resource(topic, LONG_NAME)).allowed


def test_decisions_have_their_bars(small: Snapshot) -> None:
    rows = list(acls.decisions(small, USERS))
    bars = [(row.unit, row.bar) for row in rows]
    assert bars == [("ns", 300.0), *[("us", 30.0)] * 8, *[("us", 10.0)] * 4]
    assert all(0 < row.value < 10_000 for row in rows)
    assert len({row.figure for row in rows}) == len(rows)


def test_changes_are_told_in_milliseconds(small: Snapshot) -> None:
    rows = list(acls.changes(small))
    assert [(row.unit, row.bar) for row in rows] == [("ms", None), ("ms", 10.0), ("s", 1.5)]
    assert all(0 < row.value < 1_000 for row in rows)


def test_all_rows_stand_in_one_table(monkeypatch: pytest.MonkeyPatch) -> None:
    small = resource_acls(6_000, len(USERS))
    monkeypatch.setattr(acls, "resource_acls", lambda: small)
    monkeypatch.setattr(acls, "PRINCIPALS", len(USERS))
    said: list[str] = []
    rows = list(acls.measure_acls(said.append))
    assert len(rows) == 16
    assert said
