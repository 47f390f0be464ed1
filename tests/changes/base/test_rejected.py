"""The error that a client gets if nothing is changed."""

from __future__ import annotations

import pytest

from gateway.catalog.source import CatalogUnavailable
from gateway.changes.base.rejected import Rejected, reject_if, try_again, unavailable
from gateway.cluster.link import ClusterUnreachable
from gateway.decision import Denied


def test_a_rejection_carries_what_the_client_is_told() -> None:
    rejected = Rejected(36, "Topic 'x' already exists.")
    assert rejected.why == Denied(36, "Topic 'x' already exists.", "namespaces")
    assert str(rejected) == "Topic 'x' already exists."


def test_what_is_away_may_be_tried_again_and_its_address_is_not_told() -> None:
    told = unavailable(ClusterUnreachable("main", {("10.0.0.1", 9092): "refused"}))
    assert told.code == 7
    assert "10.0.0.1" not in told.message
    assert "main" not in told.message
    assert unavailable(CatalogUnavailable("The catalog is away.")).message == "The catalog is away."


def test_what_a_rule_found_is_raised() -> None:
    why = Denied(44, "Too many.", "policies")
    reject_if(None)
    with pytest.raises(Rejected, match="Too many") as raised:
        reject_if(why)
    assert raised.value.why == why
    assert Rejected.of(why).why == why


def test_what_may_be_tried_again() -> None:
    assert try_again("Not now") == Denied(7, "Not now; try again.", "unavailable")


def test_a_denial_keeps_the_acl_that_it_is_by() -> None:
    """The audit log has the denied operation, its resource, and the ACL that is the reason."""
    why = Denied(29, "No.", "acl", "CREATE", "TOPIC org:x", "no ACL allows it")
    assert Rejected.of(why).why == why
