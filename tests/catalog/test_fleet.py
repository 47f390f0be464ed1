"""Which gateways are listed among the brokers, and under which numbers."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from gateway.catalog.entities import CatalogFormat, Gateway, Member, Removal
from gateway.catalog.fleet import FleetFull, Membership, peers_of
from gateway.catalog.log.records import FORMAT
from gateway.catalog.members import FormatRejected, forget, register
from gateway.catalog.snapshot import Snapshot
from gateway.node_ids import MAX_GATEWAYS

AT = {"all": "gw.example:9201"}


def listed(snapshot: Snapshot, gateway_id: str, addresses: Mapping[str, str] = AT) -> Snapshot:
    """The catalog after a gateway has started with these addresses."""
    membership = Membership(gateway_id, addresses)
    for decide in (register(gateway_id, "0.1"), *membership.decisions):
        changes = decide(snapshot)
        snapshot = snapshot.apply(changes, snapshot.version + len(changes))
        assert decide(snapshot) == []
    assert membership.holds(snapshot)
    return snapshot


def test_numbers_are_given_once() -> None:
    snapshot = listed(listed(Snapshot(), "gw-a"), "gw-b")
    moved = {"all": "elsewhere.example:9201", "more": "elsewhere.example:9301"}
    snapshot = listed(snapshot, "gw-a", moved)
    assert snapshot.members == {"gw-a": Member("gw-a", 1, moved), "gw-b": Member("gw-b", 2, AT)}


def test_the_format_is_raised_for_the_first_member_alone() -> None:
    assert Snapshot().format == 1
    assert listed(Snapshot(), "gw-a").format == 4
    assert listed(Snapshot(), "gw-a", {}).format == 1


def test_it_waits_for_gateways_that_cannot_read_it() -> None:
    snapshot = Snapshot().apply([CatalogFormat(3), Gateway("old", 3, "0.1")], 2)
    membership = Membership("new", AT)
    assert not membership.is_possible(snapshot)
    with pytest.raises(FormatRejected, match=r"'old' .*format 3"):
        membership.decisions[0](snapshot)
    upgraded = snapshot.apply([Gateway("old", FORMAT, "0.2")], 3)
    assert membership.is_possible(upgraded)
    assert listed(upgraded, "new").members["new"].number == 1


def test_one_without_addresses_is_listed_no_more() -> None:
    snapshot = listed(listed(Snapshot(), "gw-a"), "gw-b")
    assert listed(snapshot, "gw-a", {}).members.keys() == {"gw-b"}
    assert Membership("gw-c", {}).holds(snapshot)


def test_one_that_is_forgotten_is_listed_no_more() -> None:
    snapshot = listed(listed(Snapshot(), "gw-a"), "gw-b")
    assert forget("gw-a")(snapshot) == [Removal(("gateway", "gw-a")), Removal(("member", "gw-a"))]
    snapshot = snapshot.apply(forget("gw-a")(snapshot), 9)
    assert not Membership("gw-a", AT).holds(snapshot)
    assert listed(snapshot, "gw-a").members["gw-a"].number == 3, "1 may still be remembered"


def test_numbers_that_were_given_up_are_used_when_there_are_no_others() -> None:
    full = [Member(f"gw-{number}", number, AT) for number in range(1, MAX_GATEWAYS + 1)]
    snapshot = Snapshot().apply([CatalogFormat(4), *full], 1)
    with pytest.raises(FleetFull, match="4,095 members"):
        Membership("new", AT).decisions[1](snapshot)
    without = snapshot.apply([Removal(("member", "gw-7"))], 2)
    assert Membership("new", AT).decisions[1](without) == [Member("new", 7, AT)]


def test_brokers_that_have_moved_are_written() -> None:
    before = Membership("gw-a", AT, {"all": "gw.example:9193"}, ("1-3",))
    snapshot = Snapshot().apply([CatalogFormat(4), before._member(1)], 2)
    assert before.holds(snapshot)
    for after in (
        Membership("gw-a", AT, {"all": "gw.example:9194"}, ("1-3",)),
        Membership("gw-a", AT, {"all": "gw.example:9193"}, ("1-4",)),
    ):
        assert not after.holds(snapshot)
        (member,) = after.decisions[1](snapshot)
        assert member == Member("gw-a", 1, AT, after.brokers, after.node_ids)


def test_peers_begin_with_the_next_number() -> None:
    brokers = {"all": "gw.example:9193"}
    members = [Member(f"gw-{n}", n, AT, brokers, ("1",)) for n in (1, 2, 3, 4)]
    snapshot = Snapshot().apply([CatalogFormat(4), *members, Member("old", 5, AT)], 2)
    assert [one.number for one in peers_of(snapshot, "gw-2")] == [3, 4, 1]
    assert [one.number for one in peers_of(snapshot, "gw-4")] == [1, 2, 3]
    assert peers_of(snapshot, "unlisted") == []
