"""Requests with items of several volumes: divided into a request for each volume, and the responses
merged into one response.

Pure. A **volume** is one Kafka cluster, known by its mount (``la:tracking``). Names in parts and in
their responses are the client's own, so nothing is renamed here. The merged response:

* Items are in the order of the request. Kafka's own order is the same if a client may rely on it
  (FindCoordinator; CreateAcls and DeleteAcls, whose results are told apart by position alone);
  Kafka lists topics and resources in an order of its own, and clients find them by name.
* An item that a response lacks stays out, as in Kafka; if items match by position, it becomes
  UNKNOWN_SERVER_ERROR, so that the items behind it keep their places. Items that were not requested
  are left out.
* The throttle time is the longest of all.
* All other fields (Metadata: brokers, cluster id, controller, the operations on the cluster and the
  error of v13) come from the listener's volume, or from the first part if the listener's volume has
  no part. The error of another volume's part is dropped, because Kafka's only such error,
  REBOOTSTRAP_REQUIRED (KIP-1102), would make Java's client leave all volumes. Its topics are then
  LEADER_NOT_AVAILABLE, after which every client retries. DescribeAcls is never merged, because a
  filter belongs to a single volume. ``Division.items_bear_error`` and ``keeps_error`` say where the
  error of a response goes otherwise.

If an API's responses are pages, the API divides its requests itself (``Division.pages``).
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
    """Divide a request; None if the listener's volume owns everything that the request names.

    Raises ProtocolError for an unreadable body, and LookupError for an undivided API.
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
        return None  # nothing, or "all": the items of the listener's volume
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
    """The response to the whole request, from the response to each part, at the request's version.

    A single response is returned unchanged, except for another volume's error in Metadata v13.
    Raises ProtocolError for an unreadable response, and LookupError for a missing response.
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
    if api.division is not None and api.division.keeps_error:
        failed = next((each for each in parts.bodies if found[each].error_code), None)
        if failed is not None:
            return answers[failed]
    _, array = volume_items.arrays(api, version)
    by_position = volume_items.by_position(api)
    merged = _by_position(parts, array, found) if by_position else _by_key(parts, array, found)
    values: dict[str, object] = {array: merged}
    if len(found) > 1 and api.division is not None and api.division.items_bear_error:
        values |= {"error_code": 0, "error_message": None}
    return messages.write(with_all_else(parts.own, found, values))


# -- merging ---------------------------------------------------------------------------------------


def _by_key(parts: Parts, array: str, answers: Mapping[str, Any]) -> list[Any]:
    """The requested entries, each once, in the order of the request."""
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
    """Whether another volume's response may hold an error of the whole response, to be dropped."""
    cls = messages.message_class(f"{api.name}Response", version)
    dropped = api.division is not None and api.division.drops_error
    return dropped and has_field(cls, "error_code")


def _unanswered(parts: Parts, item: Item, answer: Any, array: str) -> Any | None:
    """The entry of a topic if its volume's response is a single error (Metadata v13)."""
    if item.volume == parts.own or not getattr(answer, "error_code", 0):
        return None
    by_name = isinstance(item.key, str)
    key = {"name": item.key} if by_name else {TOPIC_ID: item.key}
    return make(element_class(type(answer), array), {**key, "error_code": LEADER_NOT_AVAILABLE})


def _by_position(parts: Parts, array: str, answers: Mapping[str, Any]) -> list[Any]:
    """The results, each in the position of its item in the request."""
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
    """The entries of one response, by name, id, or type and name; each is taken once."""

    def __init__(self, entries: Sequence[Any]) -> None:
        self._left = dict(enumerate(entries))
        self._places: defaultdict[Hashable, list[int]] = defaultdict(list)
        for place in paced(range(len(entries) - 1, -1, -1)):
            for key in answered_keys(entries[place]):
                self._places[key].append(place)

    def take(self, key: Hashable | None) -> Any | None:
        """The next entry for a key; None when all are taken."""
        places = self._places.get(key, [])
        while places:
            if (place := places.pop()) in self._left:
                return self._left.pop(place)
        return None
