"""The catalog in a process's memory, handed to an operator's tool in lines of JSON.

The tool sends the name of a cluster and a newline to the worker's address (``gateway.operators``).
The response is a head, then an entity a line, as in the catalog's topic.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator
from typing import Final, NamedTuple

from gateway.catalog.entities import Change, key_of
from gateway.catalog.log.records import Junk, Record, change_of, encode_value, record_key
from gateway.catalog.snapshot import Snapshot

LINE_LIMIT: Final = 16 * 1024 * 1024
"""Bytes of a line; the brokers' own limit of a record is far below."""


class NotHeld(Exception):
    """The process does not hand over the catalog; the text says why."""


class Head(NamedTuple):
    """The process that hands a catalog over, the number of its ``entities``, and the ``seconds``
    since its topic was last read to the end (None: never)."""

    gateway_id: str
    pid: int
    version: int
    entities: int
    seconds: float | None


def head_line(head: Head) -> bytes:
    """The first line of a response."""
    return json.dumps(head._asdict()).encode() + b"\n"


def refusal_line(reason: str) -> bytes:
    """The only line of a response without a catalog, with the reason."""
    return json.dumps({"refused": reason}).encode() + b"\n"


def entity_lines(snapshot: Snapshot) -> Iterator[bytes]:
    """The lines after the head: an entity each."""
    for entity in snapshot.entities():
        value = encode_value(entity)
        assert value is not None
        yield json.dumps([record_key(key_of(entity)).decode(), value.decode()]).encode() + b"\n"


async def read_held(lines: AsyncIterator[bytes]) -> tuple[Head, Snapshot]:
    """Read a whole response. Raises NotHeld, and UnreadableCatalog if it is of a newer format."""
    head: Head | None = None
    changes: list[Change] = []
    async for line in lines:
        try:
            content = json.loads(line)
            if head is not None:
                key, value = content
                changes.append(change_of(Record(key.encode(), value.encode(), ())))
            elif "refused" in content:
                raise NotHeld(str(content["refused"]))
            else:
                head = Head(**content)
        except (ValueError, TypeError, AttributeError, Junk) as error:
            raise NotHeld(f"its response makes no sense ({error})") from None
    if head is None or head.entities != len(changes):
        raise NotHeld("its response ends in the middle")
    return head, Snapshot().apply(changes, head.version)
