"""Records of the catalog's topic: entities as JSON under readable keys, and their log.

A record is an entity, or a tombstone for an entity that was removed. Its headers give its place in
the catalog, so that a reader notices a log other than the log it has read so far, and a record that
no gateway wrote at that place.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Final, NamedTuple, Protocol

from gateway.catalog.entities import CatalogFormat, Change, Entity, Key, Removal, key_of
from gateway.catalog.log.signatures import NOWHERE, Place, Signature, SigningKey
from gateway.catalog.schema.table import KINDS, kind_of

FORMAT: Final = 6
"""The newest catalog format that this software reads and writes.

From format 2 on every record holds the offset that it was written for, and the catalog can be
signed. From format 3 on it can hold links, from format 4 on members of a fleet, from format 5 on
freezes, from format 6 on subscriptions of client metrics.
"""

PLACED_FORMAT: Final = 2
"""The format from which on a record that does not say its offset is junk."""

MALFORMED: Final = "malformed"
"""The reason of a record whose key, headers or value cannot be read."""

_MAX_NUMBER: Final = 2**63 - 1
_MAX_DIGITS: Final = 19
_MAX_DECISION: Final = 64

Headers = Sequence[tuple[str, bytes | None]]


class UnreadableCatalog(Exception):
    """The catalog holds a record that this software cannot read; the text says what to do."""


class Junk(Exception):
    """A record that no gateway wrote where it stands. ``reason`` is its label in metrics."""

    def __init__(self, reason: str, text: str) -> None:
        super().__init__(text)
        self.reason = reason


class Record(NamedTuple):
    """A record as the broker keeps it; ``value`` is None for a tombstone.

    ``offset`` is its offset in the log; -1 for a record that is yet to be written.
    """

    key: bytes | None
    value: bytes | None
    headers: Headers
    offset: int = NOWHERE


def record_key(key: Key) -> bytes:
    """The key of the records of an entity."""
    kind, identity = key
    return (f"{kind}/{identity}" if identity else kind).encode()


def entity_key(key: bytes | None) -> Key | None:
    """The key of the entity that a record's key stands for, if it stands for any."""
    try:
        kind, _, identity = (key or b"").decode().partition("/")
        if kind not in KINDS:
            return None
        KINDS[kind].place(identity)
    except ValueError:
        return None
    return kind, identity


def encode(
    change: Change, place: Place, key: SigningKey | None = None, *, strict: bool = False
) -> Record:
    """The record for a change, signed with ``key`` unless it is None; ``strict``: in a catalog
    whose records all have to be signed."""
    name, value = record_key(key_of(change)), encode_value(change)
    headers = place.headers()
    if key is not None:
        headers += Signature.of(key, name, value, place, strict=strict).headers()
    return Record(name, value, headers)


def encode_value(change: Change) -> bytes | None:
    """The value of the record for a change: compact JSON with sorted keys, None for a removal."""
    if isinstance(change, Removal):
        return None
    return json.dumps(
        kind_of(change).to_record(change), sort_keys=True, separators=(",", ":")
    ).encode()


def decode(record: Record) -> tuple[Change, Place]:
    """The change that a record holds, and its place. Raises Junk and UnreadableCatalog."""
    return change_of(record), place_of(record)


def change_of(record: Record) -> Change:
    """The change that a record holds.

    Raises Junk if it makes no sense, and UnreadableCatalog if only a newer gateway can have written
    it, because its kind is unknown or its format too new.
    """
    try:
        key = (record.key or b"").decode()
        kind, _, identity = key.partition("/")
        if not kind:
            raise ValueError("it has no key")
        if kind not in KINDS:
            raise UnreadableCatalog(
                f"the catalog holds a record of a kind that this gateway does not know"
                f" ({key!r}): a newer gateway wrote it, so upgrade this one"
            )
        if record.value is None:
            KINDS[kind].place(identity)
            return Removal((kind, identity))
        entity: Entity = KINDS[kind].of_record(identity, json.loads(record.value.decode()))
    # JSON that is nested too deep raises RecursionError.
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise Junk(MALFORMED, f"it makes no sense ({error})") from None
    if isinstance(entity, CatalogFormat) and entity.level > FORMAT:
        raise UnreadableCatalog(
            f"the catalog has format {entity.level} and this gateway reads formats up to"
            f" {FORMAT}: upgrade this gateway"
        )
    return entity


def place_of(record: Record) -> Place:
    """The place that a record claims to stand at. Raises Junk for a record that claims no place."""
    found = dict(record.headers)
    try:
        seq, last = _number(found["seq"]), _number(found["last"])
        decision, after = _decision(found["decision"]), _decision(found["after"])
        at = _number(found["at"]) if "at" in found else NOWHERE
        entities = _number(found["entities"]) if "entities" in found else NOWHERE
        if not (1 <= seq <= last and decision):
            raise ValueError(f"record {seq} of a decision that ends with {last}")
    except (ValueError, KeyError) as error:
        raise Junk(MALFORMED, f"its headers say no place in the catalog ({error})") from None
    return Place(seq, last, decision, after, at, entities)


def _number(value: bytes | None) -> int:
    if value is None or not value.isdigit() or len(value) > _MAX_DIGITS:
        raise ValueError(f"{value!r} is no number")
    number = int(value)
    if number > _MAX_NUMBER:
        raise ValueError(f"{number} is too large")
    return number


def _decision(value: bytes | None) -> str:
    text = (value or b"").decode()
    if len(text) > _MAX_DECISION:
        raise ValueError("a decision's name is too long")
    return text


class LogError(Exception):
    """The partition could not be reached or rejected the request, and nothing was written. The text
    names no address."""


class LogLost(LogError):
    """The log does not exist any more, or is empty although it had records."""


class OffsetOutOfRange(LogError):
    """The offset does not exist: the log was truncated, or is another log."""


class Denied(LogError):
    """The brokers' ACLs deny the write to the gateway's user: a retry does not help."""


class Fenced(LogError):
    """Another writer has taken the transactional id: no record of the transaction is written."""


class OutcomeUnknown(LogError):
    """A commit whose outcome is not known until the id has been taken again."""


class Overtaken(LogError):
    """A foreign record was written at the offset that the records were made for: readers skip
    them."""


class Fetched(NamedTuple):
    """Committed records in order, the offset to go on at, and the offset after the last committed
    record."""

    records: Sequence[Record]
    next: int
    end: int


class Partition(Protocol):
    """Reads the committed records. Every method raises LogError.

    :class:`gateway.catalog.log.kafka_partition.KafkaPartition`. Tests fill in a log in memory,
    because what readers and writers do is tested step by step, without a broker.
    """

    async def fetch(self, offset: int, wait: float) -> Fetched:
        """Records from ``offset`` on; at the end of the log, wait up to ``wait`` seconds for a
        record.

        Raises OffsetOutOfRange. One caller at a time; the other methods do not wait for it.
        """
        ...

    async def beginning(self) -> int:
        """The first offset of the log."""
        ...

    async def end(self) -> int:
        """The offset after the last committed record."""
        ...

    async def close(self) -> None:
        """Close the connections; the next request opens new connections."""
        ...


class Transactions(Protocol):
    """Writes, as the only holder of a transactional id.

    :class:`gateway.catalog.log.kafka_transactions.KafkaTransactions`; tests fill it in together
    with :class:`Partition`.
    """

    async def take(self) -> None:
        """Take the id: every other holder is fenced, and its transaction is ended.

        After that no record of an earlier holder can appear. Raises LogError.
        """
        ...

    async def commit(self, records: Sequence[Record]) -> None:
        """Write either all of the records or nothing, in a transaction of the id taken before.

        Raises Fenced, OutcomeUnknown and, with nothing written, any other LogError; then the id has
        to be taken again.
        """
        ...

    async def close(self) -> None:
        """Release the id, and close the connections."""
        ...
