"""Requests that name items of several volumes: divided into one request for each volume, and the
answers merged into one response.

Pure. A **volume** is one Kafka cluster, known by its mount (``la:tracking``). Names in parts and in
their answers are the client's own, so nothing is renamed here. What a merged answer holds:

* its items are in the order of the request, which is Kafka's own order where a client may rely on
  one (FindCoordinator; CreateAcls and DeleteAcls, whose results are told apart by position alone);
  Kafka answers topics and resources in an order of its own, and clients find them by name;
* an item that an answer lacks stays out, as in Kafka; a positional one is UNKNOWN_SERVER_ERROR, so
  that those behind it keep their places. Items that were not requested are left out;
* the throttle time is the longest of all;
* all else (Metadata: brokers, cluster id, controller, the operations on the cluster and the error
  of v13) is that of the listener's volume, or of the first part where that one has none. The error
  of another volume's part is dropped: Kafka's only one, REBOOTSTRAP_REQUIRED (KIP-1102), would
  make Java's client leave all volumes because of one. Its topics are then LEADER_NOT_AVAILABLE,
  which every client tries again. DescribeAcls is never merged: a filter is of one volume.

An API whose responses are pages divides its requests itself (``Division.pages``).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from gateway.error_codes import LEADER_NOT_AVAILABLE, UNKNOWN_SERVER_ERROR
from gateway.rules import volume_items
from gateway.rules.declaration import TOPIC_ID, Declaration
from gateway.rules.division import Item, Names, Parts
from gateway.rules.volume_items import answered_keys, with_all_else
from protocol import messages
from protocol.messages import element_class, has_field, make
from protocol.pausing import eased, paced


def divide(api: Declaration, version: int, body: bytes, names: Names) -> Parts | None:
    """Divide a request; None if all that it names, if anything, is the listener's volume's.

    Raises ProtocolError when the body cannot be read, and LookupError for an API that is not
    divided.
    """
    division = api.division
    if division is None:
        raise LookupError(f"{api.name} is not divided by volume")
    if division.of_listener:
        return None
    request = messages.parse(f"{api.name}Request", version, body)
    if division.pages is not None:
        return division.pages(version, body, request, names)
    whole = None if division.whole is None else division.whole(request, names)
    if whole is not None:
        if whole == names.own:
            return None
        return Parts(version, {whole: body}, names.own, only=whole)
    array, _ = volume_items.arrays(api, version)
    entries = getattr(request, array)
    if not entries:
        return None  # nothing, or "all": those of the listener's volume
    of_entry = division.item
    assert of_entry is not None
    items = tuple(of_entry(entry, names) for entry in paced(entries))
    by_volume: dict[str, list[Any]] = {}
    for item, entry in paced(zip(items, entries, strict=True)):
        by_volume.setdefault(item.volume, []).append(entry)
    if len(by_volume) == 1:
        only = items[0].volume
        if only == names.own:
            return None
        return Parts(version, {only: body}, names.own, items, only)
    bodies = {
        volume: messages.write(replace(request, **{array: tuple(its)}))
        for volume, its in eased(by_volume.items())
    }
    return Parts(version, bodies, names.own, items)


def merge(api: Declaration, parts: Parts, answers: Mapping[str, bytes]) -> bytes:
    """The response to the whole request, from one for each part, all at the request's version.

    A single answer is returned as it is, but for another volume's error in Metadata v13. Raises
    ProtocolError when an answer cannot be read, and LookupError if one is missing.
    """
    missing = [f":{volume}" for volume in parts.bodies if volume not in answers]
    if missing:
        raise LookupError(f"no answer to {api.name} from {', '.join(missing)}")
    if parts.merger is not None:
        return parts.merger(parts, answers)
    name, version = f"{api.name}Response", parts.version
    if len(parts.bodies) == 1:
        volume = next(iter(parts.bodies))
        if volume == parts.own or not _drops_error(api, version):
            return answers[volume]
    found = {each: messages.parse(name, version, answers[each]) for each in parts.bodies}
    _, array = volume_items.arrays(api, version)
    by_position = volume_items.by_position(api)
    merged = _by_position(parts, array, found) if by_position else _by_key(parts, array, found)
    return messages.write(with_all_else(parts.own, found, {array: merged}))


# -- merging ---------------------------------------------------------------------------------------


def _by_key(parts: Parts, array: str, answers: Mapping[str, Any]) -> list[Any]:
    """The entries that were requested, in the order of the request, each once."""
    found = {volume: _Entries(getattr(each, array)) for volume, each in answers.items()}
    merged = []
    for item in paced(parts.items):
        entry = found[item.volume].take(item.key)
        if entry is None:
            entry = _unanswered(parts, item, answers[item.volume], array)
        if entry is not None:
            merged.append(entry)
    return merged


def _drops_error(api: Declaration, version: int) -> bool:
    """Whether the answer of another volume may hold an error of the whole that is dropped."""
    cls = messages.message_class(f"{api.name}Response", version)
    dropped = api.division is not None and api.division.drops_error
    return dropped and has_field(cls, "error_code")


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
        for place in paced(range(len(entries) - 1, -1, -1)):
            for key in answered_keys(entries[place]):
                self._places[key].append(place)

    def take(self, key: Hashable | None) -> Any | None:
        """The next entry for a key, or None."""
        places = self._places.get(key, [])
        while places:
            if (place := places.pop()) in self._left:
                return self._left.pop(place)
        return None
