"""The gateways that take part, the namespaces that are seeded, and the format."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from gateway.catalog import members
from gateway.catalog.entities import (
    CatalogFormat,
    Change,
    Gateway,
    Namespace,
    Removal,
    Seeds,
    Volume,
)
from gateway.catalog.log.records import FORMAT
from gateway.catalog.members import (
    FormatRejected,
    NumberRejected,
    forget,
    mount_decisions,
    raise_format,
    register,
    renumber,
    seed,
    takes_its_place,
)
from gateway.catalog.schema.table import KINDS
from gateway.catalog.snapshot import Snapshot
from gateway.names import InvalidName


def after(snapshot: Snapshot, changes: Sequence[Change]) -> Snapshot:
    """The state after a decision."""
    return snapshot.apply(changes, snapshot.version + len(changes))


def test_a_gateway_registers_once() -> None:
    decide = register("gw-1", "0.1")
    snapshot = after(Snapshot(), decide(Snapshot()))
    assert snapshot.gateways == {"gw-1": Gateway("gw-1", FORMAT, "0.1")}
    assert decide(snapshot) == []


def test_an_upgraded_gateway_registers_anew() -> None:
    snapshot = after(Snapshot(), register("gw-1", "0.1")(Snapshot()))
    assert register("gw-1", "0.2")(snapshot) == [Gateway("gw-1", FORMAT, "0.2")]


def test_a_gateway_that_cannot_read_the_catalog_is_rejected() -> None:
    snapshot = Snapshot().apply([CatalogFormat(2)], 1)
    with pytest.raises(FormatRejected, match="format 2 and this gateway reads formats up to 1"):
        register("gw-1", "0.1", reads=1)(snapshot)


def test_a_gateway_is_forgotten() -> None:
    snapshot = after(Snapshot(), register("gw-1", "0.1")(Snapshot()))
    assert forget("gw-1")(snapshot) == [Removal(("gateway", "gw-1"))]
    assert forget("gw-2")(snapshot) == []


def test_the_format_waits_for_every_gateway(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(members, "FORMAT", 2)
    snapshot = Snapshot().apply(
        [Gateway("new", 2, "0.2"), Gateway("old-b", 1, "0.1"), Gateway("old-a", 1, "0.1")], 3
    )
    with pytest.raises(FormatRejected) as rejected:
        raise_format(2)(snapshot)
    assert "'old-a' (0.1, format 1), 'old-b' (0.1, format 1)" in str(rejected.value)
    assert "'new'" not in str(rejected.value)
    upgraded = snapshot.apply([Gateway("old-a", 2, "0.2"), Removal(("gateway", "old-b"))], 5)
    assert raise_format(2)(upgraded) == [CatalogFormat(2)]
    assert raise_format(2)(after(upgraded, [CatalogFormat(2)])) == []


def test_the_format_is_not_lowered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(members, "FORMAT", 2)
    with pytest.raises(FormatRejected, match="which stays"):
        raise_format(1)(Snapshot().apply([CatalogFormat(2)], 1))


def test_the_format_is_not_raised_above_what_this_gateway_reads() -> None:
    with pytest.raises(FormatRejected, match=f"up to {FORMAT}"):
        raise_format(FORMAT + 1)(Snapshot())


def test_seeds_make_all_tiers_in_one_change() -> None:
    changes = seed(["org:apache:kafka", "team-a"])(Snapshot())
    assert changes == [
        Namespace("org"),
        Namespace("org:apache"),
        Namespace("org:apache:kafka"),
        Namespace("team-a"),
        Seeds(frozenset({"org:apache:kafka", "team-a"})),
    ]


def test_tiers_that_exist_stay_as_they_are() -> None:
    snapshot = Snapshot().apply([Namespace("org", {"retention.ms": "1"})], 1)
    assert seed(["org:apache"])(snapshot) == [
        Namespace("org:apache"),
        Seeds(frozenset({"org:apache"})),
    ]


def test_seeds_are_made_once() -> None:
    snapshot = after(Snapshot(), seed(["a", "b"])(Snapshot()))
    assert seed(["a", "b"])(snapshot) == []
    deleted = snapshot.apply([Removal(("namespace", "a"))], 9)
    assert seed(["a", "b"])(deleted) == []
    assert seed(["a", "b", "c"])(deleted) == [Namespace("c"), Seeds(frozenset("abc"))]


def test_a_seed_under_a_namespace_that_is_being_deleted_is_left_for_later() -> None:
    snapshot = Snapshot().apply([Namespace("org", deleting=5)], 1)
    assert seed(["org:apache"])(snapshot) == []
    assert seed(["org:apache", "a"])(snapshot) == [Namespace("a"), Seeds(frozenset({"a"}))]


def test_a_malformed_seed_is_rejected_at_once() -> None:
    with pytest.raises(InvalidName):
        seed(["a_b"])


# -- the number in the tree -----------------------------------------------------------------------


def mounted(snapshot: Snapshot, number: int) -> Snapshot:
    for decide in mount_decisions(number):
        snapshot = after(snapshot, decide(snapshot))
    return snapshot


def test_the_first_gateway_that_mounts_a_cluster_says_its_number() -> None:
    empty = Snapshot()
    raises, keeps = mount_decisions(7)
    assert raises(empty) == [CatalogFormat(3)]
    assert keeps(after(empty, raises(empty))) == [Volume(7)]
    snapshot = mounted(empty, 7)
    assert (snapshot.format, snapshot.number, empty.number) == (3, 7, 0)
    assert [decide(snapshot) for decide in mount_decisions(7)] == [[], []]


def test_another_number_is_rejected() -> None:
    snapshot = mounted(Snapshot(), 7)
    for decide in mount_decisions(8):
        with pytest.raises(NumberRejected) as rejected:
            decide(snapshot)
        assert "has number 7 in the tree" in str(rejected.value)
        assert "gives it number 8: write number: 7" in str(rejected.value)
        assert "kafka-gateway catalog renumber with number: 8" in str(rejected.value)


def test_a_gateway_without_a_mount_is_rejected_where_another_has_mounted_the_cluster() -> None:
    assert takes_its_place(0)(Snapshot()) == takes_its_place(7)(Snapshot()) == []
    snapshot = mounted(Snapshot(), 7)
    assert takes_its_place(7)(snapshot) == []
    for number in (0, 8):
        with pytest.raises(NumberRejected):
            takes_its_place(number)(snapshot)
    left = after(snapshot, renumber(0)(snapshot))
    assert takes_its_place(0)(left) == []


def test_two_gateways_that_mount_a_cluster_at_once() -> None:
    """Both have decided; the second decision is made again on the state that the first has
    written."""
    raises, keeps = mount_decisions(8)
    assert raises(Snapshot())
    with pytest.raises(NumberRejected):
        keeps(mounted(Snapshot(), 7))


def test_a_number_waits_for_gateways_that_cannot_read_it() -> None:
    old = Snapshot().apply([Gateway("old", 2, "0.1")], 1)
    raises, _ = mount_decisions(7)
    with pytest.raises(FormatRejected, match=r"'old' \(0.1, format 2\)"):
        raises(old)


def test_a_wrong_number_is_replaced() -> None:
    snapshot = mounted(Snapshot(), 7)
    assert renumber(7)(snapshot) == []
    assert mounted(after(snapshot, renumber(8)(snapshot)), 8).number == 8


def test_the_number_is_no_part_of_an_export_nor_of_the_size() -> None:
    snapshot = mounted(Snapshot(), 7)
    assert snapshot.size == 0
    assert KINDS["volume"].section is None
