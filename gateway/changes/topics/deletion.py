"""The items of a DeleteTopics request: the topics, links and namespaces that its names and ids lead
to, and why some items may not be deleted so."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final
from uuid import UUID

from gateway.catalog.entities import Link
from gateway.changes.base.context import Batch
from gateway.changes.base.rejected import try_again
from gateway.changes.base.resources import NamespaceResource, TopicResource, moved_out
from gateway.decision import Denied
from gateway.error_codes import INVALID_REQUEST, INVALID_TOPIC_EXCEPTION, UNKNOWN_TOPIC_ID
from gateway.names import InvalidName
from gateway.topic_ids import TopicIndex
from gateway.views.view import View
from protocol.pausing import paced


@dataclass(frozen=True, slots=True)
class TopicKey:
    """A client's name of a topic: its spelling or an id (16 bytes), seldom both or neither."""

    name: str | None
    topic_id: bytes | None = None

    def text(self) -> str:
        """The name, or the id as Kafka's tools write ids; empty if the key has neither."""
        if self.name is None and self.topic_id is not None:
            return str(UUID(bytes=self.topic_id))
        return self.name or ""


@dataclass(frozen=True, slots=True)
class DeletionAnswer:
    """One item's result: error code and message, name and topic id (16 bytes)."""

    code: int = 0
    message: str | None = None
    name: str | None = None
    topic_id: bytes | None = None


Found = TopicResource | NamespaceResource | Link


class Deletion(Batch[TopicKey, Found, DeletionAnswer]):
    """One request. ``left``: the topics, links and namespaces that are to be deleted."""

    @property
    def topics(self) -> dict[TopicKey, str]:
        """The flat names of the topics that are left."""
        left = paced(self.left.items())
        return {key: what.flat for key, what in left if isinstance(what, TopicResource)}

    @property
    def links(self) -> dict[TopicKey, Link]:
        """The links that are left."""
        left = paced(self.left.items())
        return {key: what for key, what in left if isinstance(what, Link)}

    @property
    def namespaces(self) -> dict[TopicKey, str]:
        """The paths of the namespaces that are left."""
        left = paced(self.left.items())
        return {key: what.path for key, what in left if isinstance(what, NamespaceResource)}


CHANGED: Final = try_again("What you delete has changed in the meantime")

_UNKNOWN_ID: Final = Denied(UNKNOWN_TOPIC_ID, "There is no topic with this id.", "topic_id")


def keys_of(request: Any) -> Iterator[TopicKey]:
    """The items of a request, in its order."""
    for name in paced(getattr(request, "topic_names", ())):
        yield TopicKey(name)
    for topic in paced(getattr(request, "topics", ())):
        yield TopicKey(topic.name, None if topic.topic_id is None else topic.topic_id.bytes)


async def read_items(deletion: Deletion, counts: Mapping[TopicKey, int]) -> None:
    """Find the topics and namespaces; reject items that lead to neither, and duplicates.
    ``counts``: how often the request has each item.

    Raises OSError if an id is unknown and the cluster cannot be queried.
    """
    view, index = deletion.view, deletion.context.cluster.index
    ids = [key.topic_id for key in paced(counts) if key.topic_id is not None]
    if any(view.flat_of_id(topic_id, index) is None for topic_id in paced(ids)):
        await deletion.context.cluster.refresh()
    firsts: dict[str, TopicKey] = {}
    for key, count in paced(counts.items()):
        if count > 1:
            what = "id" if key.name is None else "name"
            found: Found | Denied = _invalid(f"Duplicate topic {what}.")
        elif key.topic_id is None:
            found = _named(view, key.name)
        elif key.name is not None:
            found = _invalid("You may not specify both topic name and topic id.")
        else:
            found = _identified(view, view.flat_of_id(key.topic_id, index), key.topic_id)
        if isinstance(found, TopicResource):
            found = _why_not(view, key, found, firsts) or found
        if isinstance(found, Denied):
            deletion.answer(key, found)
        else:
            deletion.left[key] = found


def found_again(view: View, key: TopicKey, was: Found, index: TopicIndex) -> Denied | None:
    """Why an item leads to something else in the present view than when it was read; None if it
    does not."""
    if key.topic_id is None:
        found = _named(view, key.name)
    else:
        found = _identified(view, view.flat_of_id(key.topic_id, index), key.topic_id)
    if isinstance(found, Denied):
        return found
    if isinstance(found, TopicResource) and isinstance(was, TopicResource):
        if found.flat == was.flat:
            return moved_out(view, found.name, found.flat) or _by_alias(view, key, found.flat)
    elif found == was:
        return None
    return CHANGED


def _identified(view: View, flat: bytes | None, topic_id: bytes) -> Found | Denied:
    if flat is None:
        return _UNKNOWN_ID
    link = view.snapshot.link_under(topic_id)
    return (
        TopicResource("(by its id)", flat.decode()) if link is None else view.snapshot.links[link]
    )


def _named(view: View, name: str | None) -> Found | Denied:
    if name is None:
        return _invalid("Neither topic name nor id were specified.")
    try:
        path = view.namespace_named(name)
    except InvalidName as error:
        return Denied(INVALID_TOPIC_EXCEPTION, f"{error}.", "names")
    if path is not None:
        return NamespaceResource(name, path)
    found = view.resolve(name.encode())
    link = view.link_named(name)
    if link is not None and (isinstance(found, Denied) or found.link):
        return link
    return found if isinstance(found, Denied) else TopicResource(name, found.flat.decode())


def _by_alias(view: View, key: TopicKey, flat: str) -> Denied | None:
    """Why a topic may not be deleted under an alias, which only lets clients keep using the
    topic."""
    entry = view.snapshot.topics.get(flat)
    if entry is None:
        return None
    if key.name is not None:
        former = view.parse(key.name) != entry.name
    else:
        found = view.snapshot.by_topic_id(key.topic_id or b"")
        former = entry.topic_id is not None if found is None else found[1] != entry.name
    if not former:
        return None
    present = view.spell(flat.encode())
    shown = str(entry.name) if present is None else present.decode()
    what = "This id" if key.name is None else f"'{key.name}'"
    return _invalid(f"{what} is an alias of topic '{shown}', which was moved; delete it as that.")


def _why_not(
    view: View, key: TopicKey, topic: TopicResource, firsts: dict[str, TopicKey]
) -> Denied | None:
    """Why a topic may not be deleted so. A request may name a topic under two spellings, but not by
    its name and by an id. ``firsts``: the first item for each topic, by flat name."""
    why = moved_out(view, topic.name, topic.flat) or _by_alias(view, key, topic.flat)
    if why is not None:
        return why
    first = firsts.setdefault(topic.flat, key)
    if first != key and (first.name is None or key.name is None):
        text = "The topic is already in this request, by its name or under another topic id."
        return _invalid(text)
    return None


def _invalid(message: str) -> Denied:
    return Denied(INVALID_REQUEST, message, "request")
