"""One admin request that the gateway answers itself: the items it asks for, on their way to their
answers, and the response."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from gateway.catalog.source import CatalogUnavailable
from gateway.changes.base.context import Context
from gateway.decision import Denied
from gateway.views.access import Access
from gateway.views.view import View
from protocol import messages
from protocol.messages import element_class, make
from protocol.pausing import paced

Key = TypeVar("Key", bound=Hashable)
Item = TypeVar("Item")
Answer = TypeVar("Answer")


@dataclass(frozen=True, slots=True)
class Answered:
    """A response body in the client's names, and what of the request was ``denied``: by what was
    asked for, in words."""

    body: bytes
    denied: Mapping[str, Denied] = field(default_factory=dict)


@dataclass(slots=True)
class Batch(Generic[Key, Item, Answer]):
    """The items of one request, by key: their name, or their place in the request.

    ``access`` is that of who asks, on the state of the catalog that the request is done on.
    ``asked`` are the keys in the order of the request, each once. An item is ``left`` until it has
    one of the ``answers``: the API's own, or why it is rejected. ``twins`` maps a second spelling
    to the first one, whose answer it gets. ``denied`` is what rules deny, for the audit log: by
    what was asked for, in words.
    """

    context: Context
    access: Access
    asked: Collection[Key]
    left: dict[Key, Item] = field(default_factory=dict)
    answers: dict[Key, Answer | Denied] = field(default_factory=dict)
    twins: dict[Key, Key] = field(default_factory=dict)
    denied: dict[str, Denied] = field(default_factory=dict)

    @property
    def view(self) -> View:
        """What names mean on the state of the catalog that the request is done on."""
        return self.access.view

    def look(self) -> None:
        """Go on by the newest state of the catalog that this process has."""
        self.access = self.access.over(View(self.view.settings, self.context.catalog.snapshot))

    async def renew(self) -> None:
        """The same once the catalog was read to its end (:func:`renewed`). Raises OSError."""
        self.access = await renewed(self.context, self.access)

    def is_open(self, key: Key) -> bool:
        """Whether nothing is decided of an item yet."""
        return key not in self.answers and key not in self.twins

    def answer(self, key: Key, answer: Answer | Denied) -> None:
        """Answer an item, which goes no further."""
        self.answers[key] = answer
        self.left.pop(key, None)

    def deny(self, key: Key, why: Denied, shown: str | None = None) -> None:
        """Reject an item by a rule; the audit log calls it as ``shown``, by default by its key."""
        self.answer(key, why)
        self.denied[str(key) if shown is None else shown] = why

    def end(self, why: Denied, keys: Iterable[Key] | None = None) -> None:
        """Reject these items; by default all that have no answer yet."""
        if keys is None:
            keys = [key for key in paced(self.asked) if self.is_open(key)]
        for key in list(keys):
            self.answer(key, why)

    def clear(self) -> None:
        """Forget all that was decided of the items: they are decided anew."""
        for decided in (self.left, self.answers, self.twins, self.denied):
            decided.clear()

    def results(self) -> Iterator[tuple[Key, Answer | Denied]]:
        """Every item with its answer, in the order of the request."""
        for key in paced(self.asked):
            yield key, self.answers[self.twins.get(key, key)]


async def renewed(context: Context, access: Access) -> Access:
    """The same access over the newest catalog; over the last one known while it cannot be read.

    Raises CatalogUnavailable, an OSError, when that is too old."""
    try:
        await context.catalog.refresh()
    except CatalogUnavailable:
        if not context.catalog.fresh:
            raise
    return access.over(View(access.view.settings, context.catalog.snapshot))


def write_response(
    name: str, version: int, items: str, entries: Iterable[Mapping[str, object]]
) -> bytes:
    """The body of the response ``name``, whose array ``items`` has these entries."""
    cls = messages.message_class(name, version)
    item_class = element_class(cls, items)
    return messages.write(make(cls, {items: tuple(make(item_class, each) for each in entries)}))


def error_fields(answer: object) -> dict[str, object]:
    """The fields of a response's entry that say why an item is rejected; no error otherwise."""
    if isinstance(answer, Denied):
        return {"error_code": answer.code, "error_message": answer.message}
    return {"error_code": 0, "error_message": None}
