"""Requests that name items of several volumes: divided into one request for each volume, and the
answers merged into one response.

Pure. A **volume** is one Kafka cluster, known by its mount (``la:tracking``). Names in parts and in
their answers are the client's own, so nothing is renamed here. What a merged answer holds:

* its items are in the order of the request, which is Kafka's own order where a client may rely on
  one (FindCoordinator; CreateAcls and DeleteAcls, whose results are told apart by position alone);
  Kafka answers topics and resources in an order of its own, and clients find them by name;
* an item that an answer lacks stays out, as in Kafka; a positional one is UNKNOWN_SERVER_ERROR, so
  that those behind it keep their places. Items that were not requested stand at the end;
* the throttle time is the longest of all;
* all else (Metadata: brokers, cluster id, controller, the operations on the cluster and the error
  of v13) is that of the listener's volume, or of the first part where that one has none. The error
  of another volume's part is dropped: Kafka's only one, REBOOTSTRAP_REQUIRED (KIP-1102), would
  make Java's client leave all volumes because of one. Its topics are then LEADER_NOT_AVAILABLE,
  which every client tries again. DescribeAcls is never merged: a filter is of one volume.

DescribeTopicPartitions has pages and is divided by ``volume_pages``.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Protocol

from gateway.error_codes import LEADER_NOT_AVAILABLE, UNKNOWN_SERVER_ERROR
from gateway.rules.declaration import TOPIC_ID, Declaration
from protocol import messages
from protocol.messages import changed, element_class, has_field, make
from protocol.pausing import paced, pause_point

GROUP, TRANSACTION = 0, 1
"""Key types of FindCoordinator (Kafka's CoordinatorType); a share group's key is neither."""

TOPIC_RESOURCE, GROUP_RESOURCE = 2, 32
"""Types of config resources (Kafka's ConfigResource.Type) that are named by a path."""

CREATE_ACLS: Final = "CreateAcls"
DELETE_ACLS: Final = "DeleteAcls"
DESCRIBE_ACLS: Final = "DescribeAcls"
FIND_COORDINATOR: Final = "FindCoordinator"

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
        "Metadata",
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
    request. ``merged`` merges the answers where an API has its own way to.
    """

    api: Declaration
    version: int
    bodies: Mapping[str, bytes]
    own: str
    items: tuple[Item, ...] = ()
    only: str | None = None
    merged: Callable[[Parts, Mapping[str, bytes]], bytes] | None = None


def divide(api: Declaration, version: int, body: bytes, names: Names) -> Parts | None:
    """Divide a request; None if all that it names, if anything, is the listener's volume's.

    Raises ProtocolError when the body cannot be read, and LookupError for an API that is not
    divided.
    """
    request = messages.parse(f"{api.name}Request", version, body)
    whole = _volume_of_all(api, version, request, names)
    if whole is not None:
        if whole == names.own:
            return None
        return Parts(api, version, {whole: body}, names.own, only=whole)
    array, _ = arrays(api, version)
    entries = getattr(request, array)
    if not entries:
        return None  # nothing, or "all": those of the listener's volume
    items = tuple(_items(api, version, request, entries, names))
    by_volume: dict[str, list[Any]] = {}
    for item, entry in paced(zip(items, entries, strict=True)):
        by_volume.setdefault(item.volume, []).append(entry)
    if len(by_volume) == 1:
        only = items[0].volume
        if only == names.own:
            return None
        return Parts(api, version, {only: body}, names.own, items, only)
    bodies = {
        volume: messages.write(replace(request, **{array: tuple(its)}))
        for volume, its in by_volume.items()
    }
    return Parts(api, version, bodies, names.own, items)


def merge(parts: Parts, answers: Mapping[str, bytes]) -> bytes:
    """The response to the whole request, from one for each part, all at the request's version.

    A single answer is returned as it is. Raises ProtocolError when an answer cannot be read, and
    LookupError if one is missing.
    """
    missing = [f":{volume}" for volume in parts.bodies if volume not in answers]
    if missing:
        raise LookupError(f"no answer to {parts.api.name} from {', '.join(missing)}")
    if parts.merged is not None:
        return parts.merged(parts, answers)
    if len(parts.bodies) == 1:
        return next(answers[volume] for volume in parts.bodies)
    name, version = f"{parts.api.name}Response", parts.version
    found = {each: messages.parse(name, version, answers[each]) for each in parts.bodies}
    _, array = arrays(parts.api, version)
    by_position = parts.api.name in _POSITIONAL
    merged = _by_position(parts, array, found) if by_position else _by_key(parts, array, found)
    return messages.write(with_all_else(parts.own, found, {array: merged}))


def with_all_else(own: str, answers: Mapping[str, Any], values: Mapping[str, object]) -> Any:
    """The merged response with these values; all else is as the module says."""
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


# -- division --------------------------------------------------------------------------------------


def _volume_of_all(api: Declaration, version: int, request: Any, names: Names) -> str | None:
    """The volume of a request that is never divided, only sent elsewhere; None: divide it."""
    if api.name == DESCRIBE_ACLS:
        return _of_filter(request, names)
    if api.name == FIND_COORDINATOR:
        if getattr(request, "key_type", GROUP) not in (GROUP, TRANSACTION):
            return names.own
        if api.item_shape(version) is None:
            return names.group(request.key.encode())
    return None


def _items(
    api: Declaration, version: int, request: Any, entries: Sequence[Any], names: Names
) -> Iterator[Item]:
    for entry in entries:
        pause_point()
        if api.name == CREATE_ACLS:
            pattern = entry.resource_type, entry.resource_pattern_type, entry.resource_name
            yield Item(names.acl_pattern(*map(_plain, pattern)), None)
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


def _plain(value: Any) -> Any:
    return int(value) if isinstance(value, int) else value


# -- merging ---------------------------------------------------------------------------------------


def _by_key(parts: Parts, array: str, answers: Mapping[str, Any]) -> list[Any]:
    """The entries of the answers in the order of the request, each once."""
    found = {volume: _Entries(getattr(each, array)) for volume, each in answers.items()}
    merged = []
    for item in paced(parts.items):
        entry = found[item.volume].take(item.key)
        if entry is None:
            entry = _unanswered(parts, item, answers[item.volume], array)
        if entry is not None:
            merged.append(entry)
    return [*merged, *(entry for each in found.values() for entry in each.left())]


def _unanswered(parts: Parts, item: Item, answer: Any, array: str) -> Any | None:
    """The entry of a topic in an answer that is one error (Metadata v13)."""
    if item.volume == parts.own or not getattr(answer, "error_code", 0):
        return None
    by_name = isinstance(item.key, str)
    key = {"name": item.key} if by_name else {TOPIC_ID: item.key}
    return make(element_class(type(answer), array), {**key, "error_code": LEADER_NOT_AVAILABLE})


def _by_position(parts: Parts, array: str, answers: Mapping[str, Any]) -> list[Any]:
    """The results of the answers, each in the place of its item in the request."""
    results = {volume: iter(getattr(each, array)) for volume, each in answers.items()}
    merged = []
    for item in paced(parts.items):
        entry = next(results[item.volume], None)
        if entry is None:
            message = f"The cluster at :{item.volume} did not answer this item; look whether it \
was done before you try again."
            values = {"error_code": UNKNOWN_SERVER_ERROR, "error_message": message}
            entry = make(element_class(type(answers[item.volume]), array), values)
        merged.append(entry)
    return merged


class _Entries:
    """The entries of one answer, found by name, id, or type and name; each is taken once."""

    def __init__(self, entries: Sequence[Any]) -> None:
        self._left = dict(enumerate(entries))
        self._places: defaultdict[Hashable, list[int]] = defaultdict(list)
        for place, entry in paced(enumerate(entries)):
            for key in _keys(entry):
                self._places[key].append(place)

    def take(self, key: Hashable | None) -> Any | None:
        """The next entry for a key, or None."""
        for place in self._places.get(key, ()):
            if place in self._left:
                return self._left.pop(place)
        return None

    def left(self) -> list[Any]:
        """The entries that were not requested, in their order."""
        return list(self._left.values())


def _keys(entry: Any) -> Iterator[Hashable]:
    if hasattr(entry, "resource_name"):
        yield int(entry.resource_type), entry.resource_name
        return
    for attribute in ("key", "name", TOPIC_ID):
        if (key := getattr(entry, attribute, None)) is not None:
            yield key
