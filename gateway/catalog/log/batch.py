"""Decisions that wait to be written, and the records of the next transaction."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Sequence
from dataclasses import dataclass, field

from gateway.catalog.entities import CatalogFormat, Change, Signing
from gateway.catalog.log.records import Record, encode
from gateway.catalog.log.signatures import KeyFile, Place, SigningKey
from gateway.catalog.schema.table import kind_of
from gateway.catalog.snapshot import Snapshot
from gateway.catalog.source import GATEWAY, Actor, CatalogUnavailable, Committed, Decide, committed
from protocol.pausing import paced


@dataclass(eq=False, slots=True)
class Waiting:
    """A change in the queue, to be answered by ``deadline`` (loop time), as far as possible.

    - ``reason``: why it could not be written at the last try.
    - ``in_transaction``: it is part of a batch whose outcome is not known yet.
    - ``denied``: only other rights of the gateway's user would help.
    - ``actor``: who requested the change.
    """

    decide: Decide
    answer: asyncio.Future[Snapshot]
    deadline: float
    reason: str = "other gateways are writing it"
    in_transaction: bool = False
    denied: bool = False
    actor: Actor = GATEWAY

    def settle(self, outcome: Snapshot | Exception) -> None:
        """Answer the change, unless its caller has stopped waiting."""
        if self.answer.done():
            return
        if isinstance(outcome, Snapshot):
            self.answer.set_result(outcome)
        else:
            self.answer.set_exception(outcome)


@dataclass(slots=True)
class Batch:
    """The records of a transaction, and the changes to answer once it is committed.

    - ``at``: the offset that its first record is to have.
    - ``keys``: the keys with which records are signed.
    - ``written``: whether the transaction was written; None while that is unknown.
    """

    draft: Snapshot
    after: str
    at: int
    keys: KeyFile | None = None
    records: list[Record] = field(default_factory=list)
    decisions: list[tuple[Waiting, str]] = field(default_factory=list)
    committed: list[Committed] = field(default_factory=list)
    rejections: list[tuple[Waiting, Exception]] = field(default_factory=list)
    empty: list[Waiting] = field(default_factory=list)
    written: bool | None = None

    def decide(self, waiting: Waiting) -> None:
        """Decide a change on the state that includes the changes before it."""
        try:
            changes = waiting.decide(self.draft)
            self._check_levels(changes)
            keys = self._keys_of(changes)
        except Exception as error:  # noqa: BLE001 - it goes to whoever asked
            self.rejections.append((waiting, error))
            return
        if not changes:
            self.empty.append(waiting)
            return
        decision = secrets.token_hex(8)
        first = self.draft.version + 1
        last = self.draft.version + len(changes)
        before, self.draft = self.draft, self.draft.apply(changes, last)
        for seq, (change, key) in paced(enumerate(zip(changes, keys, strict=True), first)):
            after = decision if seq > first else self.after
            at = self.at + len(self.records)
            place = Place(seq, last, decision, after, at, self.draft.size)
            self.records.append(encode(change, place, key, strict=bool(before.signing)))
        # Now: keeping every state in between would take a lot of memory.
        self.committed.extend(committed(waiting.actor, before, changes))
        self.after = decision
        self.decisions.append((waiting, decision))
        waiting.in_transaction = True

    def holds(self, waiting: Waiting) -> bool:
        """True if the change is part of this batch: the last change that was decided."""
        return bool(self.decisions) and self.decisions[-1][0] is waiting

    def _check_levels(self, changes: Sequence[Change]) -> None:
        level = self.draft.format
        for change in paced(changes):
            # The record that raises the format comes before records that need it, so that a reader
            # that cannot read the format stops there.
            if isinstance(change, CatalogFormat):
                level = change.level
            elif kind_of(change).level > level:
                raise ValueError(f"{change} needs a newer format of the catalog than {level}")

    def _keys_of(self, changes: Sequence[Change]) -> list[SigningKey | None]:
        """The key that signs each change: the catalog's key, or the key that is to replace it.

        The record that announces a new key is signed with the key before it, because all gateways
        have that key. Raises CatalogUnavailable.
        """
        now, then = self.draft.signing, self.draft.signing
        for change in changes:
            if isinstance(change, Signing):
                then = change.key or now
        if not then:
            return [None] * len(changes)
        first = self._key(now or then)
        return [first, *[self._key(then)] * (len(changes) - 1)] if changes else []

    def _key(self, key_id: str) -> SigningKey:
        key = None if self.keys is None else self.keys.get(key_id)
        if key is None:
            raise CatalogUnavailable(
                f"The catalog is signed with key '{key_id}', which this gateway's"
                " catalog.key_file does not hold."
            )
        return key

    def mark_unwritten(self) -> None:
        """The transaction wrote nothing, so its changes are decided again."""
        self.written = False
        for waiting, _ in self.decisions:
            waiting.in_transaction = False

    def skipped(self, results: Sequence[Snapshot | None]) -> None:
        """A foreign record was written meanwhile, so readers skip the records that stand at another
        offset than they were made for: all from the first decision without a snapshot in
        ``results``."""
        taken = 0
        for (waiting, _), snapshot in zip(self.decisions, results, strict=True):
            if snapshot is None:
                waiting.in_transaction = False
            else:
                waiting.settle(snapshot)
                taken = snapshot.version
        self.committed = [one for one in self.committed if one.version <= taken]
        self.written = bool(self.committed)

    def settle(self, snapshot: Snapshot) -> None:
        """Answer every change of the batch: ``snapshot`` holds its decisions."""
        for waiting in (*(one for one, _ in self.decisions), *self.empty):
            waiting.settle(snapshot)
        for waiting, error in self.rejections:
            waiting.settle(error)
