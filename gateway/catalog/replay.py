"""Records in, snapshots out: how the log becomes the state that a process decides by."""

from __future__ import annotations

from collections.abc import Iterable

from gateway.catalog.entities import Change
from gateway.catalog.records import Place, Record, UnreadableCatalog, decode
from gateway.catalog.snapshot import Snapshot


class BrokenSequence(Exception):
    """The records read so far and the next one are not of one log; the text says why."""


class Replay:
    """The state after all records that were given to it.

    Until the end of the log has been reached once, records may be missing: compaction takes those
    that others have replaced. From then on each record has to follow the one before, else the log
    was truncated, or compacted behind a reader that was away.

    A decision is shown whole or not at all, also where a fetch ends in the midst of it.
    """

    def __init__(self) -> None:
        self.snapshot = Snapshot()
        self.at_end = False
        self._seq = 0
        self._decision = ""
        self._held: list[Change] = []

    @property
    def decision(self) -> str:
        """The decision that the newest record belongs to; empty if there is none."""
        return self._decision

    @property
    def holds(self) -> bool:
        """Whether records of a decision are held back, as the rest of it may be to come."""
        return bool(self._held)

    def take(self, records: Iterable[Record]) -> list[str]:
        """Apply records in their order; the decisions that are shown whole from now on.

        Raises BrokenSequence, and UnreadableCatalog; nothing is applied then.
        """
        ready: list[Change] = []
        done: list[str] = []
        version = self.snapshot.version
        seq, decision, held = self._seq, self._decision, list(self._held)
        for record in records:
            change, place = decode(record)
            self._check(place, seq, decision)
            if held and place.decision != decision:
                # Its last record was compacted away.
                ready += held
                done.append(decision)
                version = seq
                held = []
            held.append(change)
            if place.seq >= place.last:
                ready += held
                done.append(place.decision)
                version = place.seq
                held = []
            seq, decision = place.seq, place.decision
        self._seq, self._decision, self._held = seq, decision, held
        if ready:
            self.snapshot = self.snapshot.apply(ready, version)
        return done

    def reach_end(self) -> list[str]:
        """All that is committed was given: what was held back is whole, as transactions are."""
        self.at_end = True
        if not self._held:
            return []
        self.snapshot = self.snapshot.apply(self._held, self._seq)
        self._held = []
        return [self._decision]

    def _check(self, place: Place, seq: int, decision: str) -> None:
        if not self.at_end:
            if place.seq <= seq:
                raise UnreadableCatalog(
                    f"the catalog's record {place.seq} comes after record {seq}: something else"
                    " than gateways writes to its topic"
                )
        elif place.seq != seq + 1:
            raise BrokenSequence(f"record {place.seq} comes after record {seq}")
        elif decision not in (place.decision, place.after):
            raise BrokenSequence(f"record {place.seq} follows another one than what was read")
