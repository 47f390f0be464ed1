"""Partial answers: a request goes on without its refused topics, whose errors are kept.

``split`` takes the refused topics out of a request, ``merge`` puts their errors (and the answers
of second spellings) into its response, ``drop`` takes topics out of a response. All work on whole
message bodies, headers excluded.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any

from gateway.decision import Denied
from gateway.rules import metadata
from gateway.rules.answered_topics import merge_topics
from gateway.rules.api_keys import ApiKey
from gateway.rules.asked_topics import NO_ALIASES, AskedTopic, Refusal, divide
from gateway.rules.nested import element_class, has_field, make
from gateway.rules.topic_shapes import MORE_TOPICS, TOPIC_ID, TopicShape, topic_shape
from protocol import messages
from protocol.pausing import paced
from protocol.schema import request_name, response_name

ACKS_NONE = 0
NO_SESSION_ID = 0
NO_SESSION_EPOCH = -1
"""A fetch outside any session (KIP-227)."""

_ERROR_OF_THE_GROUP = frozenset({ApiKey.OFFSET_DELETE, ApiKey.OFFSET_FETCH})
"""APIs in which an error of a group stands for all topics that were asked of it (KafkaApis)."""


@dataclass(frozen=True, slots=True)
class AskedList:
    """The topics of one request, or of one ``group`` of it; ``topics`` is None for "all"."""

    group: str | None
    topics: tuple[AskedTopic, ...] | None


@dataclass(frozen=True, slots=True)
class Kept:
    """What ``merge`` needs to know of the request.

    ``answered`` is False for a Produce request with acks=0: it has no response, so nothing may be
    written to the client (Kafka closes such a connection when there is an error to tell).
    """

    shape: TopicShape
    version: int
    lists: tuple[AskedList, ...]
    answered: bool


@dataclass(frozen=True, slots=True)
class Split:
    """``body`` is the request that is left, None when nothing is; ``kept`` is for ``merge``."""

    body: bytes | None
    kept: Kept


def split(
    api_key: int,
    version: int,
    body: bytes,
    denied: Mapping[bytes, Denied],
    aliases: Mapping[bytes, bytes] = NO_ALIASES,
) -> Split:
    """Take the refused topics out of a request.

    The keys of ``denied`` are raw names or the 16 bytes of a topic id. ``aliases`` maps the second
    spelling of a topic to the one that is forwarded for both; what the two ask of one partition
    differently is INVALID_REQUEST for the second. Raises ProtocolError when the body cannot be
    read and LookupError for an API whose requests name no topics.
    """
    shape = _shape(api_key, version)
    return _split(version, body, Refusal(shape, denied, aliases))


def refuse_all(api_key: int, version: int, body: bytes, why: Denied) -> bytes:
    """The response that answers every topic of a request with ``why``; ``b""`` if it has none.

    Raises as ``split`` does.
    """
    refusal = Refusal(_shape(api_key, version), everything=why)
    return merge(_split(version, body, refusal).kept, None)


def merge(kept: Kept, body: bytes | None) -> bytes:
    """Put what was kept into a response, in the order of the request.

    ``body`` is None when nothing was forwarded: the response then holds what was kept and nothing
    else. Answers ``b""`` where Kafka has no response (``kept.answered``). Raises ProtocolError.
    """
    if not kept.answered:
        return b""
    shape, version = kept.shape, kept.version
    name = response_name(shape.api_key)
    response: Any
    if body is None:
        response = messages.build(messages.message_class(name, version))
    else:
        if shape.api_key == ApiKey.METADATA:
            body = metadata.without_placeholder(version, body)
        response = messages.parse(name, version, body)
    if shape.api_key in _ERROR_OF_THE_GROUP and getattr(response, "error_code", None):
        return messages.write(response)  # no topic is answered
    groups = shape.response.groups
    if groups is None:
        response = merge_topics(shape, kept.lists[0].topics, response)
    else:
        response = replace(response, **{groups: _merge_groups(kept, groups, response)})
    if shape.api_key == ApiKey.FETCH and has_field(type(response), "session_id"):
        response = replace(response, session_id=NO_SESSION_ID)
    return messages.write(response)


def drop(api_key: int, version: int, body: bytes, hidden: Collection[bytes]) -> bytes:
    """Take topics out of a response. ``hidden`` holds raw names and 16-byte topic ids.

    Raises ProtocolError when the body cannot be read and KeyError for a response without topics.
    """
    response = messages.parse(response_name(api_key), version, body)
    shape = topic_shape(api_key, version)
    if shape is None:
        paths = MORE_TOPICS[ApiKey(api_key)]
    else:
        topics = shape.response
        paths = ((topics.array,) if topics.groups is None else (topics.groups, topics.array),)
    for path in paths:
        response = _without(response, path, hidden)
    cursor = getattr(response, "next_cursor", None)
    if cursor is not None and cursor.topic_name.encode() in hidden:
        response = replace(response, next_cursor=None)
    return messages.write(response)


def _shape(api_key: int, version: int) -> TopicShape:
    shape = topic_shape(api_key, version)
    if shape is None:
        raise LookupError(f"requests of API {api_key} version {version} name no topics")
    return shape


def _split(version: int, body: bytes, refusal: Refusal) -> Split:
    shape = refusal.shape
    request = messages.parse(request_name(shape.api_key), version, body)
    groups = shape.request.groups
    if groups is None:
        request, asked = _split_list(request, None, refusal)
        lists: tuple[AskedList, ...] = (asked,)
        nothing_left = getattr(request, shape.request.array) == ()
    else:
        divided = [_split_list(g, g.group_id, refusal) for g in getattr(request, groups)]
        request = replace(request, **{groups: tuple(group for group, _ in divided)})
        lists = tuple(asked for _, asked in divided)
        nothing_left = all(getattr(g, shape.request.array) == () for g, _ in divided)
    kept = Kept(shape, version, lists, getattr(request, "acks", None) != ACKS_NONE)
    request = _adjusted(request, refusal)
    if not nothing_left:
        return Split(messages.write(request), kept)
    if shape.api_key == ApiKey.METADATA:
        # It lists the brokers too, without which a client cannot go on.
        return Split(metadata.ask_by_name(version, messages.write(request), ()), kept)
    if shape.always_asked:
        return Split(messages.write(request), kept)
    return Split(None, kept)


def _split_list(holder: Any, group: str | None, refusal: Refusal) -> tuple[Any, AskedList]:
    array = refusal.shape.request.array
    entries = getattr(holder, array)
    if entries is None:
        return holder, AskedList(group, None)
    left, asked = divide(entries, refusal)
    return replace(holder, **{array: left}), AskedList(group, asked)


def _adjusted(request: Any, refusal: Refusal) -> Any:
    """A request that lost topics, without what only made sense with them."""
    match refusal.shape.api_key:
        case ApiKey.FETCH if has_field(type(request), "session_id"):
            # A session would remember the topics, and so miss the refused ones without a word.
            return replace(
                request,
                session_id=NO_SESSION_ID,
                session_epoch=NO_SESSION_EPOCH,
                forgotten_topics_data=(),
            )
        case ApiKey.DESCRIBE_TOPIC_PARTITIONS if request.cursor is not None:
            # The broker wants the cursor's topic among the topics. If that one is refused by now,
            # begin anew: a client may see a topic twice, but misses none.
            name = request.cursor.topic_name
            if refusal.of(name, None) is not None:
                return replace(request, cursor=None)
            first = refusal.first_spelling(name)
            return replace(request, cursor=replace(request.cursor, topic_name=first))
    return request


def _merge_groups(kept: Kept, groups: str, response: Any) -> tuple[Any, ...]:
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
            merged.append(found)  # likewise
            continue
        merged.append(merge_topics(kept.shape, asked.topics, found))
    return (*merged, *(group for left in answered.values() for group in left))


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
    if isinstance(entry, str):
        return entry.encode() in hidden
    topic_id = getattr(entry, TOPIC_ID, None)
    if topic_id is not None and topic_id.bytes in hidden:
        return True
    names = (getattr(entry, attribute, None) for attribute in ("name", "topic", "topic_name"))
    return any(name is not None and name.encode() in hidden for name in names)
