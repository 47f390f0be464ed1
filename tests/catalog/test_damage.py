"""Keys whose newest record is junk."""

from __future__ import annotations

from gateway.catalog.entities import Namespace, Removal
from gateway.catalog.log.skipped import MAX_ABSENT, Damage
from gateway.catalog.snapshot import Snapshot

SNAPSHOT = Snapshot.of(["a"])


def test_what_is_there_is_written_again_and_what_is_known_not_to_be_is_removed() -> None:
    damage = Damage()
    damage.add(b"namespace/a", 5, known=False)
    damage.add(b"namespace/b", 6, known=True)
    damage.add(b"namespace/c", 7, known=False)
    assert list(damage.changes(SNAPSHOT)) == [Namespace("a"), Removal(("namespace", "b"))]
    assert damage.unknown(SNAPSHOT) == [("namespace", "c")]
    every = list(damage.changes(SNAPSHOT, everything=True))
    assert every[2:] == [Removal(("namespace", "c"))]


def test_what_is_no_key_of_the_catalog_damages_nothing() -> None:
    damage = Damage()
    for key in (None, b"", b"\xff", b"quota/x", b"acl/nonsense"):
        damage.add(key, 5, known=True)
    assert len(damage) == 0


def test_a_record_that_comes_later_heals_it() -> None:
    damage = Damage()
    damage.add(b"namespace/a", 5, known=True)
    damage.heal(Namespace("b"))
    assert ("namespace", "a") in damage
    damage.heal(Namespace("a"))
    assert len(damage) == 0


def test_what_was_not_known_once_stays_unknown() -> None:
    damage = Damage()
    damage.add(b"namespace/b", 5, known=False)
    damage.add(b"namespace/b", 6, known=True)
    assert list(damage.changes(SNAPSHOT)) == []


def test_who_reads_the_log_once_more_knows_what_it_knew() -> None:
    before = Damage()
    before.add(b"namespace/b", 5, known=True)
    again = Damage(before, 10)
    again.add(b"namespace/b", 5, known=False)
    again.add(b"namespace/c", 6, known=False)
    again.add(b"namespace/d", 10, known=False)
    removed = {Removal(("namespace", path)) for path in "bd"}
    assert set(again.changes(SNAPSHOT)) == removed


def test_no_amount_of_junk_makes_it_forget_what_is_there() -> None:
    damage = Damage()
    damage.add(b"namespace/a", 0, known=True)
    for number in range(MAX_ABSENT + 50):
        damage.add(f"namespace/n{number}".encode(), number, known=True)
    damage.bound(SNAPSHOT)
    # And the junk at the key of an entity.
    assert len(damage) == MAX_ABSENT + 1
    assert ("namespace", "a") in damage
