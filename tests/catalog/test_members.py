"""Who takes part, what is seeded, and the format."""

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
)
from gateway.catalog.log.records import FORMAT
from gateway.catalog.members import FormatRejected, forget, raise_format, register, seed
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
