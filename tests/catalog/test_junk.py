"""Whatever other programs write to the catalog's topic, readers see only what gateways wrote."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gateway.catalog.entities import CatalogFormat, Change, Namespace, Removal, key_of
from gateway.catalog.log.batch import Batch, Waiting
from gateway.catalog.log.records import Record, UnreadableCatalog, encode
from gateway.catalog.log.replay import BrokenSequence, Replay
from gateway.catalog.log.signatures import KeyFile, Place, Signature, SigningKey
from gateway.catalog.log.skipped import Damage
from gateway.catalog.members import sign_all
from gateway.catalog.replicated import mending
from gateway.catalog.snapshot import Snapshot
from tests.catalog.strategies import early_changes, paths
from tests.examples import examples

SECRETS = {"k1": "11" * 32, "k2": "22" * 32}
FOREIGN = SigningKey("k1", b"x" * 32)


class Loaded(KeyFile):
    """Keys whose file was read once, and is deleted since."""

    def refresh(self) -> None:
        """Do nothing."""


def key_file(*ids: str) -> KeyFile:
    """Keys of the catalog, as a gateway has them."""
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "keys"
        path.write_text("".join(f"{one} {SECRETS[one]}\n" for one in ids))
        file = Loaded(path)
        file.load()
    return file


class Live:
    """A reader that has followed the log all the time, as gateway.catalog.log.reader does."""

    def __init__(self, log: Log, keys: KeyFile | None) -> None:
        self.log = log
        self.keys = keys
        self.replay = Replay(keys)
        self.offset = 0
        self.read()

    def read(self) -> None:
        """Read to the end."""
        try:
            self.replay.take(self.log.records(self.offset))
        except BrokenSequence:
            self.replay = Replay(self.keys, Damage(self.replay.damage, self.offset))
            self.replay.take(self.log.records(0))
        self.replay.reach_end()
        self.offset = self.log.end


@dataclass
class Log:
    """A partition: records at their offsets. The end of a transaction takes an offset, too."""

    entries: list[Record] = field(default_factory=list)
    end: int = 0

    def append(self, records: Sequence[Record], *, transaction: bool) -> None:
        """Append as a broker does."""
        for record in records:
            self.entries.append(record._replace(offset=self.end))
            self.end += 1
        self.end += transaction

    def records(self, offset: int) -> list[Record]:
        """The records from an offset on."""
        return [record for record in self.entries if record.offset >= offset]

    def compact(self, *, tombstones: bool) -> None:
        """Keep the newest record of each key, and tombstones only if ``tombstones`` is set."""
        newest = {record.key: record.offset for record in self.entries}
        self.entries = [
            record
            for record in self.entries
            if newest[record.key] == record.offset and (tombstones or record.value is not None)
        ]


def write(log: Log, live: Live, made: Sequence[Change]) -> None:
    """Write a decision of a gateway that has read the whole log, with any number of records."""
    live.read()
    batch = Batch(live.replay.snapshot, live.replay.decision, log.end, live.keys)
    batch.decide(Waiting(lambda _: made, None, 0.0))  # type: ignore[arg-type]
    assert not batch.rejections
    log.append(batch.records, transaction=True)
    live.read()


def mend(log: Log, live: Live) -> None:
    """Mend junk as gateways do."""
    while wanted := mending(live.replay.damage, live.replay.snapshot):
        write(log, live, wanted)


def anew(log: Log, keys: KeyFile | None) -> Replay:
    """A reader that begins now."""
    replay = Replay(keys)
    replay.take(log.records(0))
    replay.reach_end()
    return replay


def content(snapshot: Snapshot) -> Snapshot:
    """A snapshot without its version, as mending takes versions, too."""
    return replace(snapshot, version=0)


# -- records of other programs ------------------------------------------------------------------

Junk = Callable[[Log, Live], Record]

some_bytes = st.binary(max_size=12)
headers = st.lists(st.tuples(st.text(max_size=6), st.none() | some_bytes), max_size=4)


def noise(key: bytes | None, value: bytes | None, more: list[tuple[str, bytes | None]]) -> Junk:
    """A record of any bytes."""
    return lambda log, live: Record(key, value, more)


def at_a_real_key(pick: int, value: bytes | None) -> Junk:
    """A value that is no entity, or a tombstone, at a real key."""

    def junk(log: Log, live: Live) -> Record:
        return Record(log.entries[pick % len(log.entries)].key if log.entries else b"k", value, ())

    return junk


def copied(pick: int) -> Junk:
    """A record that was in the log before, unchanged."""

    def junk(log: Log, live: Live) -> Record:
        if not log.entries:
            return Record(b"k", b"", ())
        return log.entries[pick % len(log.entries)]

    return junk


def forged(path: str, seq: int, place: str) -> Junk:
    """A namespace that no gateway made, with headers that are off by ``place``."""

    def junk(log: Log, live: Live) -> Record:
        first = live.replay.snapshot.version + 1
        where = {
            "far away": Place(1_000_000 + seq, 1_000_000 + seq, "ab", ""),
            "long ago": Place(max(1, first - seq), max(1, first - seq), "ab", ""),
            "elsewhere": Place(first, first, "ab", live.replay.decision, max(0, log.end - 1 - seq)),
            "after nothing": Place(first, first, "ab", "cd"),
        }[place]
        return encode(Namespace(path, {"forged": "yes"}), where)

    return junk


def signed_falsely(path: str, how: str, *, removal: bool) -> Junk:
    """A record that differs from a gateway's only in its signature."""

    def junk(log: Log, live: Live) -> Record:
        first = live.replay.snapshot.version + 1
        after = live.replay.decision
        place = Place(first, first, "ab", after, log.end, live.replay.snapshot.size)
        change = Removal(("namespace", path)) if removal else Namespace(path, {"forged": "yes"})
        keys = {"unsigned": None, "foreign": FOREIGN, "unknown": SigningKey("k9", b"x" * 32)}
        record = encode(change, place, keys[how], strict=True)
        if not removal and how == "foreign" and log.entries:
            # The signature of a record that a gateway has written.
            real = Signature.found(log.entries[-1].headers)
            if real is not None:
                record = record._replace(headers=[*place.headers(), *real.headers()])
        return record

    return junk


places = st.sampled_from(["far away", "long ago", "elsewhere", "after nothing"])
any_junk = st.one_of(
    st.builds(noise, st.none() | some_bytes, st.none() | some_bytes, headers),
    st.builds(at_a_real_key, st.integers(0, 50), st.none() | some_bytes),
    st.builds(copied, st.integers(0, 50)),
    st.builds(forged, paths, st.integers(0, 5), places),
)
signed_junk = any_junk | st.builds(
    signed_falsely,
    paths,
    st.sampled_from(["unsigned", "foreign", "unknown"]),
    removal=st.booleans(),
)
ordinary = early_changes.filter(lambda change: key_of(change)[0] not in ("format", "volume"))
decisions = st.lists(ordinary, min_size=1, max_size=3)


def histories(junk: st.SearchStrategy[Junk]) -> st.SearchStrategy[list[list[Change] | Junk]]:
    """Decisions of gateways, and junk, in any order."""
    return st.lists(decisions | junk, max_size=14)


def check(
    history: Sequence[list[Change] | Junk],
    keys: KeyFile | None,
    begin: Sequence[Change],
    *,
    tombstones: bool,
) -> None:
    """However the log is read, the state is the state after the decisions alone."""
    log = Log()
    live = Live(log, keys)
    wanted = Snapshot()
    for step in [list(begin), *history]:
        if isinstance(step, list):
            write(log, live, step)
            wanted = wanted.apply(step, 0)
        else:
            log.append([step(log, live)], transaction=False)
            live.read()
        assert content(live.replay.snapshot) == content(wanted)
    beginner = anew(log, keys)
    assert beginner.snapshot == live.replay.snapshot
    mend(log, live)
    assert content(live.replay.snapshot) == content(wanted)
    log.compact(tombstones=tombstones)
    beginner = anew(log, keys)
    # A tombstone that is compacted away takes its version along.
    assert content(beginner.snapshot) == content(live.replay.snapshot)
    assert beginner.missing == 0
    # Both go on alike, too.
    late = Live(log, keys)
    write(log, late, [Namespace("more")])
    live.read()
    assert late.replay.snapshot == live.replay.snapshot
    assert "more" in live.replay.snapshot.namespaces


@pytest.mark.parametrize("begin", [[Namespace("z")], [CatalogFormat(2)]])
@settings(max_examples=examples(150))
@given(history=histories(any_junk), tombstones=st.booleans())
def test_junk_changes_nothing(
    begin: list[Change], history: list[list[Change] | Junk], tombstones: bool
) -> None:
    check(history, None, begin, tombstones=tombstones)


@settings(max_examples=examples(200))
@given(history=histories(signed_junk), tombstones=st.booleans())
def test_in_a_signed_catalog_not_even_what_looks_like_a_gateway_s(
    history: list[list[Change] | Junk], tombstones: bool
) -> None:
    begin = sign_all("k1")(Snapshot().apply([CatalogFormat(2)], 1))
    log = Log()
    keys = key_file("k1")
    live = Live(log, keys)
    write(log, live, [CatalogFormat(2)])
    write(log, live, begin)
    assert live.replay.snapshot.signing == "k1"
    wanted = live.replay.snapshot
    for step in history:
        if isinstance(step, list):
            write(log, live, step)
            wanted = wanted.apply(step, 0)
        else:
            log.append([step(log, live)], transaction=False)
            live.read()
        assert content(live.replay.snapshot) == content(wanted)
    assert anew(log, keys).snapshot == live.replay.snapshot
    mend(log, live)
    log.compact(tombstones=tombstones)
    assert content(anew(log, keys).snapshot) == content(live.replay.snapshot)
    assert content(live.replay.snapshot) == content(wanted)


def test_the_past_written_once_more_does_not_come_back() -> None:
    """All records of an older state, in order, with valid signatures; then everything is
    compacted."""
    log, keys = Log(), key_file("k1")
    live = Live(log, keys)
    write(log, live, [CatalogFormat(2)])
    write(log, live, sign_all("k1")(live.replay.snapshot))
    write(log, live, [Namespace("a"), Namespace("b")])
    past = list(log.entries)
    write(log, live, [Removal(("namespace", "b")), Namespace("a", {"k": "v"})])
    log.append(past, transaction=True)
    log.compact(tombstones=False)
    assert "b" not in anew(log, keys).snapshot.namespaces
    live.read()
    mend(log, live)
    log.compact(tombstones=False)
    assert content(anew(log, keys).snapshot) == content(live.replay.snapshot)
    assert set(live.replay.snapshot.namespaces) == {"a"}
    assert live.replay.snapshot.namespaces["a"].configs == {"k": "v"}


def test_what_junk_has_replaced_is_missed() -> None:
    log = Log()
    live = Live(log, None)
    write(log, live, [Namespace("a"), Namespace("b")])
    write(log, live, [Namespace("c")])
    log.append([Record(b"namespace/a", b"junk", ())], transaction=False)
    log.compact(tombstones=True)
    late = anew(log, None)
    assert late.missing == 1
    assert late.damage.unknown(late.snapshot) == [("namespace", "a")]
    # A reader that does not know the former entity does not remove it.
    assert mending(late.damage, late.snapshot) == []
    live.read()
    assert mending(live.replay.damage, live.replay.snapshot) == [Namespace("a")]


def test_a_kind_that_only_a_newer_gateway_knows_still_stops() -> None:
    log = Log()
    live = Live(log, None)
    write(log, live, [Namespace("a")])
    place = Place(2, 2, "ab", live.replay.decision, log.end)
    log.append([Record(b"quota/x", b"{}", place.headers())], transaction=True)
    with pytest.raises(UnreadableCatalog, match="newer gateway"):
        live.read()
    with pytest.raises(UnreadableCatalog, match="newer gateway"):
        anew(log, None)


def test_such_a_kind_stops_nobody_where_no_gateway_wrote_it() -> None:
    log = Log()
    live = Live(log, None)
    write(log, live, [Namespace("a")])
    place = Place(2, 2, "ab", live.replay.decision, log.end + 1)
    log.append([Record(b"quota/x", b"{}", place.headers())], transaction=True)
    log.append([Record(b"quota/y", b"{}", ())], transaction=True)
    live.read()
    assert anew(log, None).snapshot == live.replay.snapshot
    assert [one.reason for one in live.replay.take_skipped()] == ["misplaced", "malformed"]
