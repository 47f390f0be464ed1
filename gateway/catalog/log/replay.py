"""Records in, snapshots out: how the log becomes the state that a process decides by.

A record that no gateway can have written at its place is junk: it is skipped, and changes nothing.
Whether a record is junk follows from the log alone, so that all readers come to the same state,
whether they read a record when it was written or years later in a compacted log.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import IntEnum
from typing import Final

from gateway.catalog.entities import CatalogFormat, Change, Signing
from gateway.catalog.log.records import (
    PLACED_FORMAT,
    Junk,
    Record,
    UnreadableCatalog,
    change_of,
    place_of,
)
from gateway.catalog.log.signatures import NOWHERE, KeyFile, Place, Signature
from gateway.catalog.log.skipped import Damage, Skipped
from gateway.catalog.snapshot import Snapshot
from protocol.pausing import paced, pause_point

MISPLACED: Final = "misplaced"
OUT_OF_SEQUENCE: Final = "out of sequence"
UNSIGNED: Final = "unsigned"
FORGED: Final = "forged"
UNKNOWN_KEY: Final = "unknown key"

_MANY: Final = 1_000
"""Changes that are handled between two pause points."""


class BrokenSequence(Exception):
    """The records read so far and the next record are not of the same log; the text says why."""


class _Rank(IntEnum):
    """The degree to which a record proves its place. A record that proves more is never out of
    sequence because of a record that proves less."""

    LOOSE = 0
    PLACED = 1
    SIGNED = 2


class Replay:
    """The state after all records that were given to it.

    Until the end of the log has been reached once, records may be missing, because compaction
    removes records that later records have replaced. From then on each record has to follow the
    record before it; if not, the log was truncated, or compacted while the reader was away.

    A decision becomes visible as a whole or not at all, even when a fetch ends in the midst of it.
    :meth:`take` and :meth:`reach_end` have pause points; ``snapshot`` is replaced at their end, and
    after an abandoned call no more records can be taken.
    """

    def __init__(self, keys: KeyFile | None = None, damage: Damage | None = None) -> None:
        """``keys`` verify signatures; without keys, signatures are ignored. ``damage`` collects the
        keys that junk has replaced."""
        self.snapshot = Snapshot()
        self.at_end = False
        self.damage = Damage() if damage is None else damage
        self.missing = 0
        """Entities that are missing by the count in the newest record. A gateway that still has
        them may write them again later."""
        self._keys = keys
        self._skipped: list[Skipped] = []
        self._seq = 0
        self._offset = NOWHERE
        self._rank = _Rank.LOOSE
        self._highest = [0] * len(_Rank)
        self._entities = NOWHERE
        self.decision = ""
        """The decision of the newest record; empty before the first record."""
        self._held: list[Change] = []
        self._format = 1
        self._strict = False
        self._newer: UnreadableCatalog | None = None
        # The signed changes of a catalog that is not signed as a whole (yet).
        self._signed: list[Change] = []
        self._base = self.snapshot
        self._ready: list[Change] = []
        self._version = 0

    @property
    def holds(self) -> bool:
        """True while records of a decision are held back, as others may follow."""
        return bool(self._held)

    @property
    def has_records(self) -> bool:
        """True once a record was taken that is no junk."""
        return self._seq > 0

    def take(self, records: Iterable[Record]) -> list[str]:
        """Apply records in their order; returns the decisions that became visible as a whole.

        Raises BrokenSequence, and UnreadableCatalog; then nothing becomes visible, and no more
        records can be taken.
        """
        if self._keys is not None:
            self._keys.refresh()
        done: list[str] = []
        for record in paced(records):
            try:
                self._accept(record, done)
            except Junk as junk:
                self._skip(record, junk)
        pause_point()
        self._show()
        if self.at_end:
            self._check_key()
            self._count_missing()
        return done

    def reach_end(self) -> list[str]:
        """Note that every committed record was given: as transactions are whole, a decision held
        back is whole, too.

        Raises UnreadableCatalog.
        """
        done: list[str] = []
        if self._held:
            self._finish(done)
            self._show()
        if self._newer is not None:
            raise self._newer
        self._check_key()
        self.at_end = True
        self._count_missing()
        return done

    def take_skipped(self) -> list[Skipped]:
        """The records that were skipped since the last call."""
        skipped, self._skipped = self._skipped, []
        return skipped

    # -- one record -------------------------------------------------------------------------------

    def _accept(self, record: Record, done: list[str]) -> None:
        """Accept a record. Raises Junk, BrokenSequence and UnreadableCatalog."""
        place = place_of(record)
        rank, strict = self._rank_of(record, place)
        change: Change | None = None
        newer: UnreadableCatalog | None = None
        try:
            change = change_of(record)
        except UnreadableCatalog as error:
            newer = error
        except Junk as junk:
            if rank is not _Rank.SIGNED:
                raise
            newer = UnreadableCatalog(
                f"the catalog's signed record {record.key!r} cannot be read ({junk}): a newer"
                " gateway wrote it, so upgrade this one"
            )
        self._check_sequence(record, place, rank)
        if strict and not self._strict:
            self._forget_unsigned()
        if change is None:
            self._reject(newer)
            return
        self._check_signing(change, rank)
        self._apply(change, record, place, rank, done)

    def _rank_of(self, record: Record, place: Place) -> tuple[_Rank, bool]:
        """The rank of a record, and True if all others have to be signed, too. Raises Junk."""
        if place.at != record.offset and NOWHERE not in (place.at, record.offset):
            raise Junk(MISPLACED, f"it was written for offset {place.at}")
        signature = None if self._keys is None else Signature.found(record.headers)
        key = None
        if signature is not None and self._keys is not None:
            key = self._keys.get(signature.key_id)
        if signature is None or key is None:
            if self._strict and signature is None:
                raise Junk(UNSIGNED, "it is not signed")
            if self._strict:
                raise Junk(UNKNOWN_KEY, "catalog.key_file does not hold the key it is signed with")
            if place.at == NOWHERE and self._format >= PLACED_FORMAT:
                raise Junk(MISPLACED, "it does not say which offset it was written for")
            return (_Rank.LOOSE if place.at == NOWHERE else _Rank.PLACED), False
        if not signature.holds(key, record.key, record.value, place):
            raise Junk(FORGED, f"key '{key.key_id}' has not signed it")
        if place.at == NOWHERE:
            raise Junk(MISPLACED, "it does not say which offset it was written for")
        return _Rank.SIGNED, signature.strict

    def _check_sequence(self, record: Record, place: Place, rank: _Rank) -> None:
        """Check that a record can follow the last. Raises Junk and, if the end was reached,
        BrokenSequence."""
        follows = self.decision in (place.decision, place.after)
        step = place.seq - self._seq
        if self.at_end and step == 1 and follows:
            return
        text = f"it is record {place.seq}, and follows {self._seq}"
        if rank is _Rank.LOOSE and not self._has_room(record, step):
            raise Junk(OUT_OF_SEQUENCE, text)
        if self.at_end and step == 1:
            raise BrokenSequence(f"record {place.seq} follows another one than what was read")
        if self.at_end:
            raise BrokenSequence(f"record {place.seq} comes after record {self._seq}")
        if place.seq <= max(self._highest[rank:]):
            raise Junk(OUT_OF_SEQUENCE, text)
        if step == 1 and self.decision and rank <= self._rank and not follows:
            raise Junk(OUT_OF_SEQUENCE, f"record {self._seq} is not what it was written after")

    def _has_room(self, record: Record, step: int) -> bool:
        """True if the offsets leave room for ``step`` records since the last one."""
        # If no record says its offset, the log may be a copy, made from the rest of another log.
        native = self.at_end or any(self._highest[_Rank.PLACED :])
        if not native or NOWHERE in (record.offset, self._offset):
            return True
        return step <= record.offset - self._offset

    def _check_signing(self, change: Change, rank: _Rank) -> None:
        """Reject a record without signature that sets the signing key, if this reader holds that
        key, because only a gateway that can sign may do so. Raises Junk."""
        if self._keys is None or rank is _Rank.SIGNED or not isinstance(change, Signing):
            return
        if change.key and self._keys.get(change.key) is not None:
            raise Junk(UNSIGNED, "it is not signed")

    def _apply(
        self, change: Change, record: Record, place: Place, rank: _Rank, done: list[str]
    ) -> None:
        if self._held and place.decision != self.decision:
            # The decision's last record was compacted away.
            self._finish(done)
        self._held.append(change)
        if rank is _Rank.SIGNED and not self._strict:
            self._signed.append(change)
        self._seq, self.decision, self._entities = place.seq, place.decision, place.entities
        self._offset, self._rank = record.offset, rank
        self._highest[rank] = place.seq
        self.damage.heal(change)
        if place.seq >= place.last:
            self._finish(done)

    def _finish(self, done: list[str]) -> None:
        """Take the held records as a whole decision."""
        for change in paced(self._held, _MANY):
            if isinstance(change, CatalogFormat):
                self._format = change.level
            elif isinstance(change, Signing):
                self._follow_signing(change)
        self._ready += self._held
        self._held = []
        self._version = self._seq
        done.append(self.decision)

    def _follow_signing(self, signing: Signing) -> None:
        if not signing.key:
            self._strict = False
        elif signing.whole:
            # Entities that the decision does not hold do not count any more.
            self._base, self._ready = Snapshot(), []
            self._strict = self._keys is not None
            self._signed = []
            self._newer = None
            if not self.at_end:
                # They were signed with an earlier key, and all of them are replaced now.
                self._skipped = [one for one in self._skipped if one.reason != UNKNOWN_KEY]

    def _forget_unsigned(self) -> None:
        """Drop unsigned changes: the catalog is signed, and the record that made it so is gone."""
        self._base, self._ready, self._held = Snapshot(), self._signed, []
        self._version = self._seq
        self._strict, self._signed, self._newer = True, [], None

    def _reject(self, newer: UnreadableCatalog | None) -> None:
        """Raise the error if the end was reached, else keep it until then, because a later record
        may void the record."""
        assert newer is not None
        if self.at_end:
            raise newer
        self._newer = self._newer or newer

    def _skip(self, record: Record, junk: Junk) -> None:
        decision = dict(record.headers).get("decision") or b""
        self._skipped.append(
            Skipped(
                record.offset, record.key, junk.reason, str(junk), decision.decode(errors="replace")
            )
        )
        self.damage.add(record.key, record.offset, known=self.at_end)

    # -- what is shown ----------------------------------------------------------------------------

    def _show(self) -> None:
        if self._ready or self._base is not self.snapshot:
            self.snapshot = self._base.apply(self._ready, self._version)
            self._ready = []
        self._base = self.snapshot
        self.damage.bound(self.snapshot)

    def _count_missing(self) -> None:
        # Changes held back are in the record's count, but not in the snapshot yet.
        if self._entities != NOWHERE and not self._held:
            self.missing = max(0, self._entities - self.snapshot.size)

    def _check_key(self) -> None:
        key_id = self.snapshot.signing
        if key_id and (self._keys is None or self._keys.get(key_id) is None):
            held = "there is no catalog.key_file" if self._keys is None else "it does not hold it"
            raise UnreadableCatalog(
                f"the catalog is signed with key '{key_id}', and {held}: give this gateway a"
                " catalog.key_file with that key, as the others have"
            )
