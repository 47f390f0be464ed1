"""The context of every change: the catalog, the cluster, and the admin request with its items."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import (
    Awaitable,
    Callable,
    Collection,
    Coroutine,
    Hashable,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final, Generic, TypeAlias, TypeVar

from gateway.brokers.messages import ClusterAdmin
from gateway.catalog.entities import Change, TopicEntry
from gateway.catalog.freezes import Frozen, freezes_in
from gateway.catalog.snapshot import Snapshot
from gateway.catalog.source import ACTOR, Catalog, CatalogUnavailable, Decide
from gateway.changes.base.at_work import AtWork
from gateway.changes.base.existing_ids import IdListing
from gateway.changes.base.flat_acls import FlatAcls
from gateway.changes.base.freezing import NO_FREEZER, Freezer
from gateway.changes.base.rejected import Rejected, is_denial, try_again
from gateway.changes.base.usage import Trees, Usage
from gateway.cluster.cluster import Cluster
from gateway.decision import Denied
from gateway.error_codes import REQUEST_TIMED_OUT
from gateway.policies.judge import NO_JUDGE, Judge
from gateway.rotation import Line
from gateway.slices import Turns, sliced
from gateway.views.access import Access
from gateway.views.view import View
from protocol import messages
from protocol.messages import element_class, make
from protocol.pausing import let_go, paced

Key = TypeVar("Key", bound=Hashable)
Item = TypeVar("Item")
Answer = TypeVar("Answer")

ATTEMPTS: Final = 20
"""How often a change is decided again if the state that it is decided on keeps changing."""


MOVED: Final = try_again("The topic was moved in the meantime")


class Outdated(Exception):
    """The catalog changed after the broker was queried, so the broker must be queried again."""


def now_ms() -> int:
    """Milliseconds since the epoch."""
    return time.time_ns() // 1_000_000


@dataclass(frozen=True, slots=True)
class Context:
    """Every change's catalog, cluster, connection for admin requests, and further collaborators."""

    catalog: Catalog
    cluster: Cluster
    admin: ClusterAdmin
    clock: Callable[[], int] = now_ms
    """Returns milliseconds since the epoch."""
    trees: Trees = field(default_factory=Trees)
    usage: Usage = field(default_factory=Usage)
    judge: Judge = NO_JUDGE
    """Evaluates the policies."""
    deprecated_grants: Counter[str] = field(default_factory=Counter)
    """Counts deprecated ACLs that clients created, by operation, until the counts are read."""
    freezer: Freezer = NO_FREEZER
    """Keeps names from clients while their topics change, and waits for the changes ``at_work``."""
    at_work: AtWork = field(default_factory=AtWork)
    ids: IdListing = field(default_factory=IdListing)
    """Lists groups and transactional ids."""
    flat_acls: FlatAcls = field(default_factory=FlatAcls)
    """Finds the ACLs of groups and transactional ids."""
    turns: Turns | None = None
    """The turns that long decisions take; None if nothing else is served meanwhile."""

    def beside(self) -> Turns | None:
        """The turns of what is done for the actor and must not wait behind its own long
        requests."""
        principal = ACTOR.get().principal
        return None if self.turns is None else self.turns.beside(Line(principal, principal))

    async def decide(self, decide: Decide, validate_only: bool) -> None:
        """Change the catalog; with ``validate_only`` only find errors. Raises OSError, and the
        errors that ``decide`` raises."""
        if validate_only:
            found = partial(decide, self.catalog.snapshot)
            await sliced(self.turns, found)
        else:
            await self.catalog.change(decide)

    async def roll_back(
        self,
        entries: Collection[TopicEntry],
        former: Callable[[Snapshot, TopicEntry], Change],
    ) -> OSError | None:
        """Put the ``former`` entries in place of entries, unless these have changed since. Returns
        the error if that failed; then housekeeping ends the entries in time."""

        def decide(newest: Snapshot) -> list[Change]:
            held = newest.topics
            return [former(newest, entry) for entry in entries if held.get(entry.flat) == entry]

        return await self.tidy(decide)

    async def tidy(self, decide: Decide) -> OSError | None:
        """Change the catalog if ``decide`` returns changes. Returns the error if that failed; the
        request is done all the same."""
        try:
            if decide(self.catalog.snapshot):
                await self.catalog.change(decide)
        except OSError as error:
            return error
        return None


async def decide_until_current(
    context: Context, attempt: Callable[[], Awaitable[Answer]], what: str
) -> Answer:
    """The result of the first ``attempt`` that is not :class:`Outdated`; each attempt begins with
    the newest catalog. Raises :class:`Rejected` if ``what`` keeps changing, OSError, and the errors
    of the attempt."""
    for _ in range(ATTEMPTS):
        await context.catalog.refresh()
        try:
            return await attempt()
        except Outdated:
            continue
    raise Rejected(REQUEST_TIMED_OUT, f"{what} keeps changing meanwhile; try again.")


@dataclass(frozen=True, slots=True)
class Answered:
    """A response body in the client's names, and the items denied, for the audit log."""

    body: bytes
    denied: Sequence[tuple[str, Denied]] = ()
    """Each denied item with its name, in the order of the request (:meth:`Batch.answered`)."""
    throttle_ms: int = 0
    """Milliseconds for which a broker throttles the queries made for this request."""


RequestChange: TypeAlias = Callable[[Context, Access, int, bytes], Coroutine[Any, Any, Answered]]
"""Executes one request: (context, access, version, body in the client's names) -> the response."""


@dataclass(slots=True)
class Batch(Generic[Key, Item, Answer]):
    """One admin request that the gateway answers locally: its items and their answers.

    Keys are the items' names, or their positions in the request.
    """

    context: Context
    access: Access
    """The client's access on the state of the catalog on which the request is executed."""
    keys: Collection[Key]
    """In the order of the request, without duplicates."""
    left: dict[Key, Item] = field(default_factory=dict)
    """The items that have no answer yet."""
    answers: dict[Key, Answer | Denied] = field(default_factory=dict)
    """The API's own answer to an item, or why the item is rejected."""
    twins: dict[Key, Key] = field(default_factory=dict)
    """A second spelling to the first spelling of the same item, whose answer it gets."""
    spelled: Callable[[Key], str] = field(default=str, kw_only=True)
    """Returns the name of an item, for the audit log."""

    @property
    def view(self) -> View:
        """The view that reads names, on the state of the catalog that ``access`` has."""
        return self.access.view

    def follow_catalog(self) -> None:
        """Continue on the newest state of the catalog that this process has."""
        self.access = self.access.on(self.context.catalog.snapshot)

    async def refresh(self) -> None:
        """Read the catalog to its end and continue on that state. If the catalog cannot be read,
        continue on the last known state. Raises CatalogUnavailable, an OSError, if that state is
        too old."""
        catalog = self.context.catalog
        try:
            await catalog.refresh()
        except CatalogUnavailable:
            if not catalog.fresh:
                raise
        self.follow_catalog()

    def why_not_now(self, operation: int, names: Mapping[str, str]) -> dict[str, Denied]:
        """Why the client may not do ``operation`` any more on these topics, by flat name.
        ``names``: flat name to the client's name.

        This is checked right before a broker is requested (``AtWork``), because a topic that was
        moved belongs to another namespace, and a frozen topic may be moved at any moment.
        """
        snapshot = self.context.catalog.snapshot
        frozen = Frozen.of(freezes_in(snapshot).values())
        access = self.access.on(snapshot, frozen)
        denied: dict[str, Denied] = {}
        for flat, name in paced(names.items()):
            found = access.topic(operation, name.encode())
            if isinstance(found, Denied):
                denied[flat] = found
            elif found.flat.decode() != flat:
                denied[flat] = MOVED
        return denied

    def is_open(self, key: Key) -> bool:
        """Whether nothing has been decided about an item yet."""
        return key not in self.answers and key not in self.twins

    def answer(self, key: Key, answer: Answer | Denied) -> None:
        """Give an item its answer; it is then no longer ``left``."""
        self.answers[key] = answer
        self.left.pop(key, None)

    def reject(self, why: Denied, keys: Iterable[Key] | None = None) -> None:
        """Reject these items; by default all items that have no answer yet."""
        if keys is None:
            keys = [key for key in paced(self.keys) if self.is_open(key)]
        for key in paced(list(keys)):
            self.answer(key, why)

    def restart(self) -> None:
        """Forget all decisions about the items, which are decided again."""
        for decided in (self.left, self.answers, self.twins):
            decided.clear()

    def results(self) -> Iterator[tuple[Key, Answer | Denied]]:
        """Every item with its answer, in the order of the request."""
        for key in paced(self.keys):
            yield key, self.answers[self.twins.get(key, key)]

    def answered(self, body: bytes) -> Answered:
        """The response ``body`` with the denials among the results. Every denial goes to the audit
        log, wherever it was decided."""
        denied = [
            (self.spelled(key), answer)
            for key, answer in self.results()
            if isinstance(answer, Denied) and is_denial(answer)
        ]
        return Answered(body, denied)


def write_response(
    name: str, version: int, items: str, entries: Iterable[Mapping[str, object]]
) -> bytes:
    """The body of the response ``name`` whose array ``items`` has these entries."""
    cls = messages.message_class(name, version)
    item_class = element_class(cls, items)
    return write_items(cls, items, [make(item_class, each) for each in entries])


def write_items(cls: type, items: str, entries: list[Any]) -> bytes:
    """The body of a response of ``cls`` whose array ``items`` has these entities. The list is
    emptied, in several slices if it is long."""
    body = messages.write(make(cls, {items: entries}))
    let_go(entries)
    return body


def error_fields(answer: object) -> dict[str, object]:
    """The error fields of a response's entry; no error, unless ``answer`` is a :class:`Denied`."""
    if isinstance(answer, Denied):
        return {"error_code": answer.code, "error_message": answer.message}
    return {"error_code": 0, "error_message": None}
