"""What the records of the catalog's topic hold: entities as JSON under readable keys.

A record is one entity, or a tombstone for one that is no more. Its headers say where it stands
in the life of the catalog, so that a reader notices a log that is not the one it has read so far.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Final, NamedTuple

from gateway.acl_model import pattern_of
from gateway.catalog.entities import CatalogFormat, Change, Removal, key_of
from gateway.catalog.entity_json import entity_of, fields_of

FORMAT: Final = 1
"""The newest catalog format that this software reads and writes."""

LEVELS: Final[Mapping[str, int]] = MappingProxyType(
    {
        "namespace": 1,
        "topic": 1,
        "acl": 1,
        "scram": 1,
        "home": 1,
        "gateway": 1,
        "format": 1,
        "seeds": 1,
    }
)
"""Kind of record -> the format that a reader needs for it."""

Headers = Sequence[tuple[str, bytes | None]]


class UnreadableCatalog(Exception):
    """The catalog holds what this software cannot read; the text says what to do."""


class Record(NamedTuple):
    """A record as the broker keeps it; ``value`` is None for a tombstone."""

    key: bytes | None
    value: bytes | None
    headers: Headers


class Place(NamedTuple):
    """Where a record stands.

    ``seq`` grows by 1 with every record over the life of the catalog and is the catalog's version
    after it. ``decision`` is a random text that all records of one decision share, ``last`` the
    ``seq`` of the last of them, ``after`` the decision before (empty: none).
    """

    seq: int
    last: int
    decision: str
    after: str


def level_of(change: Change) -> int:
    """The format that a reader of this change needs."""
    return LEVELS[key_of(change)[0]]


def encode(change: Change, place: Place) -> Record:
    """The record for a change."""
    kind, identity = key_of(change)
    key = f"{kind}/{identity}" if identity else kind
    headers = [(name, str(value).encode()) for name, value in place._asdict().items()]
    return Record(key.encode(), encode_value(change), headers)


def encode_value(change: Change) -> bytes | None:
    """The value of the record for a change: compact JSON with sorted keys, None for a removal."""
    if isinstance(change, Removal):
        return None
    return json.dumps(fields_of(change), sort_keys=True, separators=(",", ":")).encode()


def decode(record: Record) -> tuple[Change, Place]:
    """The change that a record is, and where it stands. Raises UnreadableCatalog."""
    try:
        key = (record.key or b"").decode()
        place = _place(record.headers)
        kind, _, identity = key.partition("/")
        if kind not in LEVELS:
            raise UnreadableCatalog(
                f"the catalog holds a record of a kind that this gateway does not know"
                f" ({key!r}): a newer gateway wrote it, so upgrade this one"
            )
        if record.value is None:
            if kind == "acl":
                pattern_of(identity)
            return Removal((kind, identity)), place
        entity = entity_of(kind, identity, json.loads(record.value.decode()))
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise UnreadableCatalog(
            f"the catalog's record {record.key!r} makes no sense ({error}): either a newer gateway"
            " wrote it, and this one is to be upgraded, or something else writes to the catalog's"
            " topic"
        ) from None
    if isinstance(entity, CatalogFormat) and entity.level > FORMAT:
        raise UnreadableCatalog(
            f"the catalog has format {entity.level} and this gateway reads formats up to"
            f" {FORMAT}: upgrade this gateway"
        )
    return entity, place


def _place(headers: Headers) -> Place:
    found = dict(headers)
    seq, last, decision, after = (found[name] or b"" for name in Place._fields)
    return Place(int(seq), int(last), decision.decode(), after.decode())
