"""The items of a request by volume: the arrays that hold them, and the volume of each item.

``tree.volume_parts`` divides requests by these items, and merges the responses.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from typing import Any, Final

from gateway.rules.declaration import TOPIC_ID, Declaration
from gateway.rules.division import Item, Names
from protocol.messages import changed, has_field

TOPIC_RESOURCE, CLIENT_METRICS_RESOURCE, GROUP_RESOURCE = 2, 16, 32
"""The types of config resources (Kafka's ConfigResource.Type) whose names are paths."""

_LIKE_GROUPS: Final = frozenset({CLIENT_METRICS_RESOURCE, GROUP_RESOURCE})
"""The types whose names are in the volume where a group of that name would be."""

_KEYS: Final = ("key", "name", "topic", TOPIC_ID)


def with_all_else(own: str, answers: Mapping[str, Any], values: Mapping[str, object]) -> Any:
    """The merged response with these values; the other fields are as ``tree.volume_parts`` says."""
    base = answers[own] if own in answers else next(iter(answers.values()))
    rest: dict[str, object] = {}
    if has_field(type(base), "throttle_time"):
        rest["throttle_time"] = max(each.throttle_time for each in answers.values())
    if own not in answers and has_field(type(base), "error_code"):
        rest["error_code"] = 0
    return changed(base, {**rest, **values})


def arrays(api: Declaration, version: int) -> tuple[str, str]:
    """The arrays of a request and of its response that are divided and merged. Raises LookupError
    if the API has no such arrays."""
    division = api.division
    if division is not None and division.positions is not None:
        return division.positions
    if division is not None and division.arrays is not None:
        return division.arrays
    if division is not None and division.item is not None:
        if (items := api.item_shape(version)) is not None:
            return items.asked, items.answered
        if (topics := api.topic_shape(version)) is not None:
            return topics.request.array, topics.response.array
    raise LookupError(f"{api.name} version {version} is not divided by volume")


def by_position(api: Declaration) -> bool:
    """Whether the items of this API's responses bear no key, and are matched by position."""
    return api.division is not None and api.division.positions is not None


def of_topic(entry: Any, names: Names) -> Item:
    """A topic of a request, by its name or its id."""
    if isinstance(entry, str):
        return Item(names.topic(entry.encode()), entry)
    topic_id = getattr(entry, TOPIC_ID, None)
    if topic_id is None:
        return Item(names.topic((entry.name or "").encode()), entry.name)
    volume = names.topic_id(topic_id.bytes)  # a broker answers an unknown id with its error
    return Item(names.own if volume is None else volume, topic_id)


def of_resource(entry: Any, names: Names) -> Item:
    """A config resource of a request."""
    kind, name = int(entry.resource_type), entry.resource_name.encode()
    if kind == TOPIC_RESOURCE:
        volume = names.topic(name)
    else:
        volume = names.group(name) if kind in _LIKE_GROUPS else names.own
    return Item(volume, (kind, entry.resource_name))


def of_filter(entry: Any, names: Names) -> str:
    """The volume of a filter of ACLs."""
    kind, pattern_type = int(entry.resource_type_filter), int(entry.pattern_type_filter)
    return names.acl_pattern(kind, pattern_type, entry.resource_name_filter)


def requested_key(entry: Any) -> Hashable:
    """The key that the answer to a request's entry bears, if it bears a key."""
    if isinstance(entry, str):
        return entry
    if hasattr(entry, "resource_name"):
        return int(entry.resource_type), entry.resource_name
    if hasattr(entry, "topic"):
        topic: Hashable = entry.topic
        return topic
    topic_id: Hashable = getattr(entry, TOPIC_ID, None)
    return entry.name if topic_id is None else topic_id


def answered_keys(entry: Any) -> Iterator[Hashable]:
    """The keys by which an entry of a response answers an entry of the request."""
    if hasattr(entry, "resource_name"):
        yield int(entry.resource_type), entry.resource_name
        return
    for attribute in _KEYS:
        if (key := getattr(entry, attribute, None)) is not None:
            yield key
