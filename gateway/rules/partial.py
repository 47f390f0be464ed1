"""Partial responses: a request is forwarded without its rejected topics, whose errors are kept.

``split`` takes the rejected topics out of a request, ``merge`` puts their errors (and the answers
of second spellings) into its response, ``drop`` takes topics out of a response, and
``error_response`` rejects a whole request. All work on whole message bodies, headers excluded.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from gateway.decision import Denied
from gateway.rules import item_lists
from gateway.rules.declaration import TOPIC_ID, Declaration, TopicShape
from gateway.rules.topic_entries import (
    NO_ALIASES,
    SPELLING,
    Rejection,
    RequestedTopic,
    divide,
    merge_topics,
)
from protocol import messages
from protocol.messages import changed, element_class, has_field, make
from protocol.pausing import eased, paced

_NO_ID: Final = bytes(16)

ACKS_NONE = 0


@dataclass(frozen=True, slots=True)
class TopicList:
    """The topics of one request, or of one ``group`` in it; ``topics`` is None for "all"."""

    group: str | None
    topics: tuple[RequestedTopic, ...] | None


@dataclass(frozen=True, slots=True)
class KeptTopics:
    """The parts of the request that ``merge`` needs.

    ``answered`` is False for a Produce request with acks=0. Such a request has no response, so
    nothing may be written to the client (if there is an error, Kafka closes the connection).
    """

    api: Declaration
    shape: TopicShape
    version: int
    lists: tuple[TopicList, ...]
    answered: bool


@dataclass(frozen=True, slots=True)
class Split:
    """``body`` is the request that is left, or None if no topic is left; ``kept`` is for
    ``merge``."""

    body: bytes | None
    kept: KeptTopics


def split(
    api: Declaration,
    version: int,
    body: bytes,
    denied: Mapping[bytes, Denied],
    aliases: Mapping[bytes, bytes] = NO_ALIASES,
) -> Split:
    """Take the rejected topics out of a request.

    The keys of ``denied`` are raw names or the 16 bytes of a topic id. ``aliases`` maps the second
    spelling of a topic to the spelling that is forwarded for both. If the second spelling requests
    something else for a partition, that partition of it is answered with INVALID_REQUEST. Raises
    ProtocolError for an unreadable body, and LookupError for an API without topics.
    """
    return _split(api, version, body, Rejection(_shape(api, version), denied, aliases))


def contradictions(
    kept: KeptTopics, aliases: Mapping[bytes, bytes]
) -> Iterator[tuple[bytes, Denied]]:
    """The second spellings that request something else than the first spelling, for the topic or
    for a partition, each with its denial."""
    for requested in eased(kept.lists):
        for topic in eased(requested.topics or ()):
            name = b"" if topic.name is None else topic.name.encode()
            why = topic.denied or next(iter(topic.rejected.values()), None)
            if name in aliases and why is not None and why.rule == SPELLING:
                yield name, why


def reject_all(api: Declaration, version: int, body: bytes, why: Denied) -> bytes:
    """The response that answers every topic of a request with ``why``; ``b""`` if the request has
    no response.

    Raises as ``split`` does.
    """
    rejection = Rejection(_shape(api, version), everything=why)
    return merge(_split(api, version, body, rejection).kept, None)


def merge(kept: KeptTopics, body: bytes | None) -> bytes:
    """Put the kept topics into a response, in the order of the request.

    ``body`` is None when nothing was forwarded: the response then holds only the kept topics.
    Returns ``b""`` if Kafka has no response (``kept.answered``). Raises ProtocolError.
    """
    if not kept.answered:
        return b""
    shape, version = kept.shape, kept.version
    name = f"{kept.api.name}Response"
    response: Any
    if body is None:
        response = messages.build(messages.message_class(name, version))
    else:
        if shape.prepared is not None:
            body = shape.prepared(version, body)
        response = messages.parse(name, version, body)
    if shape.error_of_all and getattr(response, "error_code", None):
        return messages.write(response)  # no topic is answered
    groups = shape.response.groups
    if groups is None:
        response = merge_topics(shape, kept.lists[0].topics, response)
    else:
        response = replace(response, **{groups: _merge_groups(kept, groups, response)})
    if shape.merged is not None:
        response = shape.merged(response)
    return messages.write(response)


def error_response(
    api: Declaration, version: int, request_body: bytes, code: int, message: str | None = None
) -> bytes:
    """The body of a response that rejects the whole request with ``code``, like Kafka's
    AbstractRequest.getErrorResponse: the response's own error has the code, or else each item's.

    ``message`` goes into the response, where it has a field for that. Returns ``b""`` for a Produce
    request with acks=0, which has no response. Raises ProtocolError for an unreadable request, and
    for an unknown version.
    """
    rejection = api.rejection(version, request_body, code)
    if rejection is not None:
        return rejection
    why = Denied(code, message or "", "error_response")
    response_class = messages.message_class(f"{api.name}Response", version)
    on_top = has_field(response_class, "error_code")
    if not on_top or api.items_too(version, code):
        body = _reject_items(api, version, request_body, why)
        if not on_top or not body:
            return body
        response = messages.parse(f"{api.name}Response", version, body)
        return messages.write(changed(response, {"error_code": code, "error_message": message}))
    values = {"error_code": code, "error_message": message, **api.beside_error}
    return messages.write(make(response_class, values))


def drop(api: Declaration, version: int, body: bytes, hidden: Collection[bytes]) -> bytes:
    """Take topics out of a response. ``hidden`` holds raw names and 16-byte topic ids.

    Raises ProtocolError for an unreadable body, and LookupError for a response without topics.
    """
    response = messages.parse(f"{api.name}Response", version, body)
    shape, paths = api.topic_shape(version), api.seen
    if shape is None and not paths:
        raise LookupError(f"responses of {api.name} version {version} name no topics")
    if shape is not None:
        topics = shape.response
        paths = ((topics.array,) if topics.groups is None else (topics.groups, topics.array),)
    for path in paths:
        response = _without(response, path, hidden)
    cursor = getattr(response, "next_cursor", None)
    if cursor is not None and cursor.topic_name.encode() in hidden:
        response = replace(response, next_cursor=None)
    return messages.write(response)


def _reject_items(api: Declaration, version: int, request_body: bytes, why: Denied) -> bytes:
    if api.item_shape(version) is not None:
        return item_lists.reject_all_items(api, version, request_body, why)
    return reject_all(api, version, request_body, why)


def _shape(api: Declaration, version: int) -> TopicShape:
    shape = api.topic_shape(version)
    if shape is None:
        raise LookupError(f"requests of {api.name} version {version} name no topics")
    return shape


def _split(api: Declaration, version: int, body: bytes, rejection: Rejection) -> Split:
    shape = rejection.shape
    request = messages.parse(f"{api.name}Request", version, body)
    groups = shape.request.groups
    if groups is None:
        request, asked = _split_list(request, None, rejection)
        lists: tuple[TopicList, ...] = (asked,)
        nothing_left = getattr(request, shape.request.array) == ()
    else:
        divided = [_split_list(g, g.group_id, rejection) for g in eased(getattr(request, groups))]
        request = replace(request, **{groups: tuple(group for group, _ in eased(divided))})
        lists = tuple(asked for _, asked in eased(divided))
        nothing_left = all(getattr(g, shape.request.array) == () for g, _ in eased(divided))
    kept = KeptTopics(api, shape, version, lists, getattr(request, "acks", None) != ACKS_NONE)
    if shape.adjusted is not None:
        request = shape.adjusted(request, rejection.has, rejection.first_spelling)
    if not nothing_left:
        return Split(messages.write(request), kept)
    if not shape.always_asked:
        return Split(None, kept)
    left = messages.write(request)
    if shape.asked_for_none is not None:
        left = shape.asked_for_none(version, left)
    return Split(left, kept)


def _split_list(holder: Any, group: str | None, rejection: Rejection) -> tuple[Any, TopicList]:
    array = rejection.shape.request.array
    entries = getattr(holder, array)
    if entries is None:
        return holder, TopicList(group, None)
    left, asked = divide(entries, rejection)
    return replace(holder, **{array: left}), TopicList(group, asked)


def _merge_groups(kept: KeptTopics, groups: str, response: Any) -> tuple[Any, ...]:
    """The groups of a response, each with its kept topics, in the order of the request."""
    group_class = element_class(type(response), groups)
    answered: dict[str, list[Any]] = {}
    for group in paced(getattr(response, groups)):
        answered.setdefault(group.group_id, []).append(group)
    merged = []
    for asked in paced(kept.lists):
        same = answered.get(asked.group or "")
        found = same.pop(0) if same else make(group_class, {"group_id": asked.group})
        if found.error_code:
            merged.append(found)  # no topic is answered
            continue
        merged.append(merge_topics(kept.shape, asked.topics, found))
    return (*merged, *(group for left in eased(answered.values()) for group in left))


def _without(holder: Any, path: tuple[str, ...], hidden: Collection[bytes]) -> Any:
    """``holder`` without the hidden topics in the array that ``path`` leads to."""
    attribute, *rest = path
    value = getattr(holder, attribute)
    if value is None:
        return holder
    if not rest:
        return replace(holder, **{attribute: tuple(e for e in paced(value) if not _is(e, hidden))})
    if isinstance(value, tuple):
        value = tuple(_without(element, tuple(rest), hidden) for element in paced(value))
    else:
        value = _without(value, tuple(rest), hidden)
    return replace(holder, **{attribute: value})


def _is(entry: Any, hidden: Collection[bytes]) -> bool:
    """Whether a topic, its id or its name is hidden. kio reads an id of zeros as None."""
    if isinstance(entry, str):
        return entry.encode() in hidden
    if hasattr(entry, TOPIC_ID):
        topic_id = getattr(entry, TOPIC_ID)
        if (_NO_ID if topic_id is None else topic_id.bytes) in hidden:
            return True
    names = (getattr(entry, attribute, None) for attribute in ("name", "topic", "topic_name"))
    return any(name is not None and name.encode() in hidden for name in names)
