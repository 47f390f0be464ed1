"""The items of a request by volume: the arrays that hold them, and the volume of each one.

``volume_parts`` divides requests by them, and merges the answers.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol

from gateway.rules.declaration import TOPIC_ID, Declaration
from protocol.messages import changed, has_field
from protocol.pausing import pause_point

GROUP, TRANSACTION = 0, 1
"""Key types of FindCoordinator (Kafka's CoordinatorType); a share group's key is neither."""

TOPIC_RESOURCE, GROUP_RESOURCE = 2, 32
"""Types of config resources (Kafka's ConfigResource.Type) that are named by a path."""

CREATE_ACLS: Final = "CreateAcls"
DELETE_ACLS: Final = "DeleteAcls"
DESCRIBE_ACLS: Final = "DescribeAcls"
FIND_COORDINATOR: Final = "FindCoordinator"
METADATA: Final = "Metadata"

_POSITIONAL: Final[Mapping[str, tuple[str, str]]] = {
    CREATE_ACLS: ("creations", "results"),
    DELETE_ACLS: ("filters", "filter_results"),
}
"""The arrays of a request and of its response whose items belong together by position."""

_KEYED: Final = frozenset(
    {
        "AlterConfigs",
        "CreatePartitions",
        "CreateTopics",
        "DeleteTopics",
        "DescribeConfigs",
        FIND_COORDINATOR,
        "IncrementalAlterConfigs",
        METADATA,
    }
)


class Names(Protocol):
    """The volume of each name, as its mount path, for the clients of one listener."""

    @property
    def own(self) -> str:
        """The listener's volume."""

    def topic(self, name: bytes) -> str:
        """The volume of a topic, or of what would be one."""

    def topic_id(self, topic_id: bytes) -> str | None:
        """The volume of a topic by the 16 bytes of its id; None: no volume knows it."""

    def group(self, group_id: bytes) -> str:
        """The volume of a group or a transactional id."""

    def acl_pattern(self, resource_type: int, pattern_type: int, name: str | None) -> str:
        """The volume of an ACL's pattern or of a filter's (``name`` None: any)."""

    def flat(self, name: bytes) -> bytes | None:
        """A topic's name in its own cluster, by which DescribeTopicPartitions is sorted; None: no
        topic can have this name."""


@dataclass(frozen=True, slots=True)
class Item:
    """One item of a request: its volume, and the key that its answer bears (None: no key, the
    answer is in the same place)."""

    volume: str
    key: Hashable | None


@dataclass(frozen=True, slots=True)
class Parts:
    """A request divided by volume: ``bodies`` has a request body, at the same version, for each.

    ``only`` is the volume that the whole request belongs to, if it is one: its body is then the
    client's own. ``own`` is the listener's volume, ``items`` are the items in the order of the
    request. ``merger`` merges the answers where an API has its own way to.
    """

    api: Declaration
    version: int
    bodies: Mapping[str, bytes]
    own: str
    items: tuple[Item, ...] = ()
    only: str | None = None
    merger: Callable[[Parts, Mapping[str, bytes]], bytes] | None = None


def with_all_else(own: str, answers: Mapping[str, Any], values: Mapping[str, object]) -> Any:
    """The merged response with these values; all else as ``volume_parts`` says."""
    base = answers[own] if own in answers else next(iter(answers.values()))
    rest: dict[str, object] = {}
    if has_field(type(base), "throttle_time"):
        rest["throttle_time"] = max(each.throttle_time for each in answers.values())
    if own not in answers and has_field(type(base), "error_code"):
        rest["error_code"] = 0
    return changed(base, {**rest, **values})


def arrays(api: Declaration, version: int) -> tuple[str, str]:
    """The arrays of a request and of its response that are divided and merged. LookupError if it
    has none."""
    if api.name in _POSITIONAL:
        return _POSITIONAL[api.name]
    if api.name in _KEYED:
        if (items := api.item_shape(version)) is not None:
            return items.asked, items.answered
        if (topics := api.topic_shape(version)) is not None:
            return topics.request.array, topics.response.array
    raise LookupError(f"{api.name} version {version} is not divided by volume")


def by_position(api: Declaration) -> bool:
    """Whether the items of this API's responses bear no key, and are matched by position."""
    return api.name in _POSITIONAL


def volume_of_all(api: Declaration, version: int, request: Any, names: Names) -> str | None:
    """The volume of a request that is forwarded to one as a whole; None: divide it."""
    if api.name == DESCRIBE_ACLS:
        return _of_filter(request, names)
    if api.name == FIND_COORDINATOR:
        if getattr(request, "key_type", GROUP) not in (GROUP, TRANSACTION):
            return names.own
        if api.item_shape(version) is None:
            return names.group(request.key.encode())
    return None


def items(
    api: Declaration, version: int, request: Any, entries: Sequence[Any], names: Names
) -> Iterator[Item]:
    """The entries of a request's array as items, in their order."""
    for entry in entries:
        pause_point()
        if api.name == CREATE_ACLS:
            kind, pattern_type = int(entry.resource_type), int(entry.resource_pattern_type)
            yield Item(names.acl_pattern(kind, pattern_type, entry.resource_name), None)
        elif api.name == DELETE_ACLS:
            yield Item(_of_filter(entry, names), None)
        elif api.name == FIND_COORDINATOR:
            yield Item(names.group(entry.encode()), entry)
        elif api.item_shape(version) is not None:
            yield Item(_of_resource(entry, names), (int(entry.resource_type), entry.resource_name))
        else:
            yield _topic(entry, names)


def _topic(entry: Any, names: Names) -> Item:
    if isinstance(entry, str):
        return Item(names.topic(entry.encode()), entry)
    topic_id = getattr(entry, TOPIC_ID, None)
    if topic_id is None:
        return Item(names.topic((entry.name or "").encode()), entry.name)
    volume = names.topic_id(topic_id.bytes)  # a broker answers an unknown one with its error
    return Item(names.own if volume is None else volume, topic_id)


def _of_resource(entry: Any, names: Names) -> str:
    kind, name = int(entry.resource_type), entry.resource_name.encode()
    if kind == TOPIC_RESOURCE:
        return names.topic(name)
    return names.group(name) if kind == GROUP_RESOURCE else names.own


def _of_filter(entry: Any, names: Names) -> str:
    kind, pattern_type = int(entry.resource_type_filter), int(entry.pattern_type_filter)
    return names.acl_pattern(kind, pattern_type, entry.resource_name_filter)
