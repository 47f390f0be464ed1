"""Kafka messages from plain values, and whole request frames."""

from __future__ import annotations

from collections.abc import Mapping
from struct import Struct

from kio.static.protocol import Entity

from devkit.exact_messages import exactly
from protocol.headers import frame, request_header_version
from protocol.messages import message_class, write
from protocol.schema import api_key_of

CLIENT_ID = b"bench"

_HEADER = Struct(">hhih")


def entity(message: str, version: int, values: Mapping[str, object]) -> Entity:
    """The message with ``values``, where structs are mappings. Raises TypeError for a field that it
    does not have."""
    made: Entity = exactly(message_class(message, version), values)
    return made


def request_frame(
    message: str, version: int, values: Mapping[str, object], correlation_id: int = 0
) -> bytes:
    """A whole request, its size included."""
    api_key = api_key_of(message)
    header = _HEADER.pack(api_key, version, correlation_id, len(CLIENT_ID)) + CLIENT_ID
    no_tags = b"\x00" if request_header_version(api_key, version) == 2 else b""
    return frame(header, no_tags, write(entity(message, version, values)))
