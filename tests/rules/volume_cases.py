"""Requests that name items of several volumes, and answers that show who gave them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from gateway.exchanges.api import Api
from protocol import messages
from protocol.messages import element_class, has_field, make

OWN, LA, OSLO = "", "la:tracking", "oslo"
VOLUMES = (OWN, LA, OSLO)


@dataclass(frozen=True)
class ByPrefix:
    """Names whose volume is what stands before their first slash, such as ``oslo/clicks``."""

    own: str = OWN
    ids: Mapping[UUID, str] = field(default_factory=dict)

    def topic(self, name: bytes) -> str:
        """``la:tracking/clicks`` is of ``la:tracking``, ``clicks`` of the listener's volume."""
        volume, slash, _ = name.decode().partition("/")
        return volume if slash and volume in VOLUMES else self.own

    def topic_id(self, topic_id: bytes) -> str | None:
        """The volume of an id that was given here."""
        return self.ids.get(UUID(bytes=topic_id))

    def group(self, group_id: bytes) -> str:
        """As ``topic``."""
        return self.topic(group_id)

    def acl_pattern(self, resource_type: int, pattern_type: int, name: str | None) -> str:
        """As ``topic``, for topics and groups."""
        return self.topic((name or "").encode()) if resource_type in (2, 3) else self.own

    def flat(self, name: bytes) -> bytes | None:
        """What is behind the slash, reversed: the order of names is not that of flat names."""
        return None if name.endswith(b"!") else name.rpartition(b"/")[2][::-1]


def asked(api: Api, version: int, values: Mapping[str, object]) -> bytes:
    """A request's body."""
    return messages.made(f"{api.name}Request", version, values)


def sent(api: Api, version: int, body: bytes) -> Any:
    """A request, read by kio."""
    return messages.parse(f"{api.name}Request", version, body)


def answered(api: Api, version: int, body: bytes) -> Any:
    """A response, read by kio."""
    return messages.parse(f"{api.name}Response", version, body)


def answer(
    api: Api, version: int, array: str, entries: Sequence[Mapping[str, object]], **values: object
) -> bytes:
    """A response's body with these entries; values that the version does not have are left out."""
    cls = messages.message_class(f"{api.name}Response", version)
    entry_class = element_class(cls, array)
    made = tuple(make(entry_class, each) for each in entries)
    return messages.write(make(cls, {**values, array: made}))


def has(api: Api, version: int, message: str, attribute: str) -> bool:
    """Whether a version's request or response has a field."""
    return has_field(messages.message_class(f"{api.name}{message}", version), attribute)
