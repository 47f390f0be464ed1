"""Turning signatures on, to another key, and off: for readers that run already or start later."""

from __future__ import annotations

import pytest

from gateway.catalog.entities import CatalogFormat, Namespace, Removal
from gateway.catalog.log.batch import Batch, Waiting
from gateway.catalog.log.records import Record, UnreadableCatalog, encode
from gateway.catalog.log.signatures import Place
from gateway.catalog.members import sign_all, sign_nothing
from tests.catalog.test_junk import Live, Log, anew, content, key_file, mend, write


def begun(*ids: str) -> tuple[Log, Live]:
    """A catalog that is not signed yet, and a gateway that has keys."""
    log = Log()
    live = Live(log, key_file(*ids))
    write(log, live, [CatalogFormat(2), Namespace("a"), Namespace("b")])
    return log, live


def sign(log: Log, live: Live, key_id: str) -> None:
    write(log, live, sign_all(key_id)(live.replay.snapshot))


def unsigned(log: Log, live: Live, path: str) -> None:
    """A namespace exactly where a gateway would write it."""
    first = live.replay.snapshot.version + 1
    place = Place(first, first, "ab", live.replay.decision, log.end, 99)
    log.append([encode(Namespace(path), place)], transaction=True)
    live.read()


def test_what_there_was_stays_and_nothing_unsigned_comes_after() -> None:
    log, live = begun("k1")
    before = set(live.replay.snapshot.namespaces)
    sign(log, live, "k1")
    unsigned(log, live, "evil")
    late = anew(log, live.keys)
    for replay in (live.replay, late):
        assert set(replay.snapshot.namespaces) == before
        assert replay.snapshot.signing == "k1"
        assert [one.reason for one in replay.take_skipped()] == ["unsigned"]


def test_who_has_no_keys_or_another_one_stops() -> None:
    log, live = begun("k1")
    bare, other = Live(log, None), Live(log, key_file("k2"))
    sign(log, live, "k1")
    with pytest.raises(UnreadableCatalog, match=r"key 'k1', and there is no catalog\.key_file"):
        bare.read()
    with pytest.raises(UnreadableCatalog, match="key 'k1', and it does not hold it"):
        other.read()
    for keys in (None, key_file("k2")):
        with pytest.raises(UnreadableCatalog, match="is signed with key 'k1'"):
            anew(log, keys)


def test_another_key() -> None:
    log, live = begun("k1", "k2")
    sign(log, live, "k1")
    old = Live(log, key_file("k1"))
    sign(log, live, "k2")
    write(log, live, [Namespace("c")])
    # A reader with only the old key learns of the new key from a record that is signed with the
    # old.
    with pytest.raises(UnreadableCatalog, match="is signed with key 'k2'"):
        old.read()
    new = anew(log, key_file("k2"))
    assert new.snapshot == live.replay.snapshot
    assert new.take_skipped() == []
    log.compact(tombstones=True)
    assert anew(log, key_file("k2")).snapshot == live.replay.snapshot


def test_off_and_on_again() -> None:
    log, live = begun("k1")
    sign(log, live, "k1")
    write(log, live, sign_nothing(live.replay.snapshot))
    assert sign_nothing(live.replay.snapshot) == []
    write(log, live, [Removal(("namespace", "a")), Namespace("c")])
    for keys in (None, live.keys):
        assert anew(log, keys).snapshot == live.replay.snapshot
    sign(log, live, "k1")
    # The earlier signed record of "a" still exists, and its removal was not signed.
    assert anew(log, live.keys).snapshot == live.replay.snapshot
    log.compact(tombstones=False)
    assert set(anew(log, live.keys).snapshot.namespaces) == {"b", "c"}


@pytest.mark.parametrize("kept", range(1, 5))
def test_half_of_it_changes_nothing(kept: int) -> None:
    """Junk comes into the midst of the transaction, so the records behind it are not believed."""
    log, live = begun("k1")
    before = live.replay.snapshot
    batch = Batch(before, live.replay.decision, log.end, live.keys)
    batch.decide(Waiting(lambda snapshot: sign_all("k1")(snapshot), None, 0.0))  # type: ignore[arg-type]
    log.append(batch.records[:kept], transaction=False)
    log.append([Record(b"junk", b"junk", ())], transaction=False)
    log.append(batch.records[kept:], transaction=True)
    live.read()
    for replay in (live.replay, anew(log, live.keys)):
        assert replay.snapshot.namespaces == before.namespaces
    sign(log, live, "k1")
    assert anew(log, live.keys).snapshot == live.replay.snapshot
    assert live.replay.snapshot.namespaces == before.namespaces


def test_that_it_is_signed_is_known_without_the_record_that_says_so() -> None:
    log, live = begun("k1")
    sign(log, live, "k1")
    write(log, live, [Namespace("c")])
    log.append([Record(b"signing", None, ())], transaction=False)
    unsigned(log, live, "evil")
    log.compact(tombstones=False)
    late = anew(log, live.keys)
    assert set(late.snapshot.namespaces) == {"a", "b", "c"}
    # A gateway that was there writes it again.
    mend(log, live)
    late = anew(log, live.keys)
    assert content(late.snapshot) == content(live.replay.snapshot)
    assert late.snapshot.signing == "k1"


def test_forged_records_before_the_first_signed_one_stop_nobody() -> None:
    """An unknown kind, and numbers that are far ahead: the catalog was signed later."""
    log, live = begun("k1")
    place = Place(4, 4, "ab", live.replay.decision, log.end, 99)
    sign(log, live, "k1")
    records = list(log.entries)
    far = Place(10**6, 10**6, "cd", "ab", 0, 99)
    forged = [
        Record(b"quota/x", b"{}", place._replace(at=0).headers(), 0),
        encode(Namespace("evil"), far)._replace(offset=0),
    ]
    for one in forged:
        # As if it had come first, and no other record were left of that time.
        log.entries = [one, *[record for record in records if record.offset >= 4]]
        assert anew(log, live.keys).snapshot == live.replay.snapshot
