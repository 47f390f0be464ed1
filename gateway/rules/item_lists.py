"""Partial responses for items other than topics: groups, coordinator keys, config resources.

Like ``partial``, for arrays of items without partitions: ``split_items`` takes rejected items out
of a request, ``merge_items`` puts their errors into its response, in the request's order.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, Generic, TypeVar

from gateway.decision import Denied
from gateway.error_codes import INVALID_REQUEST
from gateway.rules.declaration import Declaration, ItemShape
from gateway.rules.topic_entries import SPELLING
from protocol import messages
from protocol.messages import element_class, make
from protocol.pausing import eased, paced, pause_point

Key = TypeVar("Key", bound=Hashable)
"""The key of an item: its id as raw bytes, or a number and raw bytes."""


ConfigResource = tuple[int, bytes]
"""A resource type (2 is a topic, 4 a broker, 32 a group; Kafka's ConfigResource) and a raw name."""


@dataclass(frozen=True, slots=True)
class RequestedItem(Generic[Key]):
    """One item of a request. It is ``denied``, or the broker's entry for ``forwarded`` answers
    it."""

    key: Key
    forwarded: Key
    denied: Denied | None


@dataclass(frozen=True, slots=True)
class KeptItems(Generic[Key]):
    """The parts of the request that ``merge_items`` needs."""

    api: Declaration
    shape: ItemShape
    version: int
    items: tuple[RequestedItem[Key], ...]


@dataclass(frozen=True, slots=True)
class ItemSplit(Generic[Key]):
    """``body`` is the request that is left, or None if no item is left; ``kept`` is for the
    merge."""

    body: bytes | None
    kept: KeptItems[Key]


def split_items(
    api: Declaration,
    version: int,
    body: bytes,
    denied: Mapping[Key, Denied],
    aliases: Mapping[Key, Key] = MappingProxyType({}),
) -> ItemSplit[Key]:
    """Take the rejected items out of a request.

    ``aliases`` maps the second spelling of an item to the first. If both spellings request the
    same, the second is answered with a copy of the first's answer, else with INVALID_REQUEST.
    Raises ProtocolError, and LookupError for an API without such an array.
    """
    shape = _shape(api, version)
    request = messages.parse(f"{api.name}Request", version, body)
    entries = getattr(request, shape.asked)
    keys: list[Key] = [_key(entry, shape.asked_by) for entry in eased(entries)]
    by_key = dict(zip(keys, entries, strict=True))
    left, items = [], []
    for key, entry in paced(zip(keys, entries, strict=True)):
        first = aliases.get(key, key)
        why = denied.get(key) or denied.get(first)
        if why is None and first != key and not _same(shape, entry, by_key[first]):
            message = "This is already in the request, under another spelling of its name."
            why = Denied(INVALID_REQUEST, message, SPELLING)
        items.append(RequestedItem(key, first, why))
        if why is None and first == key:
            left.append(entry)
    kept = KeptItems(api, shape, version, tuple(items))
    if not left:
        return ItemSplit(None, kept)
    return ItemSplit(messages.write(replace(request, **{shape.asked: tuple(left)})), kept)


def contradictions(
    kept: KeptItems[Key], aliases: Mapping[Key, Key]
) -> Iterator[tuple[bytes, Denied]]:
    """The second spellings that request something else than the first spelling, as raw names, each
    with its denial."""
    for item in eased(kept.items):
        if item.denied is not None and item.denied.rule == SPELLING and item.key in aliases:
            name: object = item.key[-1] if isinstance(item.key, tuple) else item.key
            if isinstance(name, bytes):
                yield name, item.denied


def reject_all_items(api: Declaration, version: int, body: bytes, why: Denied) -> bytes:
    """The response that answers every item of a request with ``why``. Raises as ``split_items``."""
    shape = _shape(api, version)
    request = messages.parse(f"{api.name}Request", version, body)
    keys: list[Hashable] = [
        _key(entry, shape.asked_by) for entry in eased(getattr(request, shape.asked))
    ]
    items = tuple(RequestedItem(key, key, why) for key in paced(keys))
    return merge_items(KeptItems(api, shape, version, items), None)


def merge_items(kept: KeptItems[Key], body: bytes | None) -> bytes:
    """Put the kept items into a response; ``body`` is None when nothing was forwarded.

    Entries that were not requested stay at the end. Raises ProtocolError.
    """
    shape = kept.shape
    name = f"{kept.api.name}Response"
    if body is None:
        response = messages.build(messages.message_class(name, kept.version))
    else:
        response = messages.parse(name, kept.version, body)
    entry_class = element_class(type(response), shape.answered)
    answers: dict[Any, list[Any]] = {}
    for entry in paced(getattr(response, shape.answered)):
        answers.setdefault(_key(entry, shape.answered_by), []).append(entry)
    firsts = {key: entries[0] for key, entries in eased(answers.items())}
    merged = []
    for item in paced(kept.items):
        if item.denied is not None:
            merged.append(_error_entry(shape, entry_class, item.key, item.denied))
        elif item.key != item.forwarded:
            if (entry := firsts.get(item.forwarded)) is not None:
                merged.append(replace(entry, **_names(shape.answered_by, item.key)))
        elif entries := answers.get(item.key):
            merged.append(entries.pop(0))
    merged += [entry for entries in eased(answers.values()) for entry in entries]
    return messages.write(replace(response, **{shape.answered: tuple(merged)}))


def _shape(api: Declaration, version: int) -> ItemShape:
    shape = api.item_shape(version)
    if shape is None:
        raise LookupError(f"requests of {api.name} version {version} hold no items")
    return shape


def _key(entry: Any, names: tuple[str, ...]) -> Any:
    pause_point()
    if not names:
        return entry.encode()
    values = [getattr(entry, name) for name in names]
    raw = tuple(v.encode() if isinstance(v, str) else int(v) for v in values)
    return raw[0] if len(raw) == 1 else raw


def _names(names: tuple[str, ...], key: Any) -> dict[str, Any]:
    values = key if isinstance(key, tuple) else (key,)
    plain = (v.decode() if isinstance(v, bytes) else v for v in values)
    return dict(zip(names, plain, strict=True))


def _same(shape: ItemShape, second: Any, first: Any) -> bool:
    """Whether two spellings request the same."""
    if not shape.asked_by:
        return True
    return bool(replace(second, **_names(shape.asked_by, _key(first, shape.asked_by))) == first)


def _error_entry(shape: ItemShape, entry_class: type, key: Any, why: Denied) -> Any:
    values = {"error_code": why.code, "error_message": why.message or None, **shape.error_values}
    return make(entry_class, values | _names(shape.answered_by, key))
