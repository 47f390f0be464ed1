"""DescribeTopicPartitions (KIP-966): "all" asked by explicit names."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from gateway.rules.nested import element_class, make
from protocol import messages

_REQUEST = "DescribeTopicPartitionsRequest"
_RESPONSE = "DescribeTopicPartitionsResponse"


def wants_all(version: int, body: bytes) -> bool:
    """Whether the request asks for all topics, by an empty array."""
    return not messages.parse(_REQUEST, version, body).topics


def ask_by_name(version: int, body: bytes, names: Iterable[str]) -> bytes | None:
    """The same request for these topics; None without a name, which would ask for all.

    The broker wants the cursor's topic among the topics, so it stays even when it is not listed
    any more: it is then answered like any topic that was asked for by name.
    """
    request = messages.parse(_REQUEST, version, body)
    chosen = dict.fromkeys(names)
    if request.cursor is not None:
        chosen.setdefault(request.cursor.topic_name)
    if not chosen:
        return None
    topic_class = element_class(type(request), "topics")
    topics = tuple(make(topic_class, {"name": name}) for name in chosen)
    return messages.write(replace(request, topics=topics))


def no_topics(version: int) -> bytes:
    """The response when there is nothing to describe."""
    return messages.write(messages.build(messages.message_class(_RESPONSE, version)))
