"""Requests that name items of several volumes, and responses that show which volume made them."""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from gateway.exchanges.api import Api
from protocol import messages
from protocol.messages import element_class, has_field, make

OWN, LA, OSLO = "", "la:tracking", "oslo"
VOLUMES = (OWN, LA, OSLO)

ARRAYS = {
    "Metadata": ("topics", "topics"),
    "CreateTopics": ("topics", "topics"),
    "CreatePartitions": ("topics", "results"),
    "DeleteTopics": ("topics", "responses"),
    "FindCoordinator": ("coordinator_keys", "coordinators"),
    "DescribeConfigs": ("resources", "results"),
    "AlterConfigs": ("resources", "responses"),
    "IncrementalAlterConfigs": ("resources", "responses"),
    "CreateAcls": ("creations", "results"),
    "DeleteAcls": ("filters", "filter_results"),
}
"""The arrays of items of each API's messages, by Kafka's schemas (in kio's names)."""


@dataclass(frozen=True)
class ByPrefix:
    """Names whose volume stands before their first slash, such as ``oslo/clicks``."""

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
        """The part behind the slash, reversed, so that the order of names is not the order of flat
        names."""
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


def arrays(api: Api, version: int) -> tuple[str, str]:
    """The arrays of items of a request and of its response."""
    request, response = ARRAYS[api.name]
    if api.name == "DeleteTopics" and version < 6:
        request = "topic_names"
    return request, response


def item(api: Api, version: int, name: str) -> Any:
    """An item of a request that names ``name``."""
    if api.name == "FindCoordinator" or (api.name == "DeleteTopics" and version < 6):
        return name
    names = dict.fromkeys(("name", "resource_name", "resource_name_filter"), name)
    return {**names, "resource_type": 2, "resource_type_filter": 2, "count": len(name)}


def body_of(api: Api, version: int, items: list[str]) -> bytes:
    """A request for these items, with all other fields that are not defaults."""
    array, _ = arrays(api, version)
    cls = messages.message_class(f"{api.name}Request", version)
    made = [
        make(element_class(cls, array), one) if isinstance(one, dict) else one
        for one in (item(api, version, name) for name in items)
    ]
    return asked(api, version, {array: made, "validate_only": True, "key_type": 1})


def named(api: Api, version: int, body: bytes) -> list[str]:
    """The names in a request, read by kio."""
    array, _ = arrays(api, version)
    fields = ("name", "resource_name", "resource_name_filter")
    return [
        one
        if isinstance(one, str)
        else next(getattr(one, each) for each in fields if hasattr(one, each))
        for one in getattr(sent(api, version, body), array)
    ]


def serve(api: Api, version: int, body: bytes, throttled: int = 0) -> bytes:
    """The response of a cluster: for each item its own name, if the response has a field for it."""
    _, array = arrays(api, version)
    entries = []
    for name in named(api, version, body):
        shown: dict[str, object] = {"name": name, "key": name, "resource_name": name}
        shown |= {"resource_type": 2, "error_message": f"done: {name}"}
        if api.name == "DeleteAcls":
            shown["matching_acls"] = [{"resource_name": name}]
        cls = element_class(messages.message_class(f"{api.name}Response", version), array)
        entries.append({"error_code": 0, **_fitting(cls, shown)})
    wait = datetime.timedelta(milliseconds=throttled)
    return answer(api, version, array, entries, throttle_time=wait)


def _fitting(cls: type, values: dict[str, object]) -> dict[str, object]:
    return {name: value for name, value in values.items() if has_field(cls, name)}
