"""A string has at most 32,767 bytes, as at Kafka: MessageDataGenerator rejects longer strings, and
a broker closes the connection."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, is_dataclass, replace
from typing import Any

import pytest

from gateway.apis.table import APIS
from protocol.errors import ProtocolError
from protocol.schema import message_spec
from tests.session.pair import Pair, request_frame, topic_id
from tests.session.samples import request

LONGEST = 32_767
ROOM = 200
"""Room for the text of errors about it, because a response with a longer message cannot be sent, as
at Kafka."""


def flexible(api: str, version: int) -> bool:
    return message_spec(f"{api}Request", version).body.flexible


def places(entity: Any) -> Iterator[tuple[str, ...]]:
    """The paths of attributes that lead to strings."""
    for field in fields(entity):
        value = getattr(entity, field.name)
        first = value[0] if isinstance(value, tuple) and value else value
        if isinstance(first, str):
            yield (field.name,)
        elif is_dataclass(first):
            yield from ((field.name, *path) for path in places(first))


def put(entity: Any, path: tuple[str, ...], text: str) -> Any:
    name, *rest = path
    value = getattr(entity, name)
    first = value[0] if isinstance(value, tuple) else value
    changed = put(first, tuple(rest), text) if rest else type(first)(text)
    return replace(entity, **{name: (changed,) if isinstance(value, tuple) else changed})


CASES = [
    (row.name, row.last, path)
    for row in APIS.values()
    if flexible(row.name, row.last)
    for path in places(request(row.name, row.last, "team-a:t", topic_id(1)))
]


def sent(api: str, version: int, path: tuple[str, ...], size: int) -> Pair:
    pair = Pair(topics=["team-a..t"])
    long = put(request(api, version, "team-a:t", topic_id(1)), path, "a" * size)
    pair.send(request_frame(api, version, long))
    return pair


@pytest.mark.parametrize(("api", "version", "path"), CASES)
def test_a_longer_string_ends_the_connection(api: str, version: int, path: tuple[str, ...]) -> None:
    with pytest.raises(ProtocolError, match="has a length of 32768"):
        sent(api, version, path, LONGEST + 1)
    pair = sent(api, version, path, LONGEST - ROOM)
    assert pair.to_broker() or pair.to_client() or pair.session.waiting is not None
