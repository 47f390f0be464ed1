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
from typing import Any, Final, Generic, Protocol, TypeAlias, TypeVar

from gateway.brokers.messages import CoordinatorAdmin
from gateway.catalog.entities import Change, TopicEntry
from gateway.catalog.freezes import Frozen, freezes_in
from gateway.catalog.snapshot import Snapshot
from gateway.catalog.source import Catalog, CatalogUnavailable, Decide
from gateway.changes.base.at_work import AtWork
from gateway.changes.base.existing_ids import IdListing
from gateway.changes.base.flat_acls import FlatAcls
from gateway.changes.base.freezing import NO_FREEZER, Freezer
from gateway.changes.base.rejected import Rejected, is_denial, try_again
from gateway.changes.base.usage import Trees, Usage
from gateway.decision import Denied
from gateway.error_codes import REQUEST_TIMED_OUT
from gateway.policies.judge import NO_JUDGE, Judge
from gateway.slices import Turns, sliced
from gateway.topic_ids import TopicIndex
from gateway.views.access import Access
from gateway.views.view import View
from protocol import messages
from protocol.messages import element_class, make
from protocol.pausing import paced

Key = TypeVar("Key", bound=Hashable)
Item = TypeVar("Item")
Answer = TypeVar("Answer")

ATTEMPTS: Final = 20
"""How often a change is decided again if its grounds keep changing."""


MOVED: Final = try_again("The topic was moved in the meantime")


class Outdated(Exception):
    """The catalog has changed under what was read of the broker: read it once more."""


class Cluster(Protocol):
    """The cluster's topics (gateway/cluster/cluster.py)."""

    @property
    def api_versions(self) -> Mapping[int, tuple[int, int]]:
        """The (lowest, highest) version that its brokers serve, by API key."""
        ...

    @property
    def brokers(self) -> Mapping[int, tuple[str, int]]:
        """The (host, port) of each by its node id, as of the last listing."""
        ...

    @property
    def index(self) -> TopicIndex:
        """As of the last listing and what was learnt since."""
        ...

    def lately_failed(self, address: tuple[str, int]) -> bool:
        """Whether the broker at this address was given up, or rejected a connection, lately."""
        ...

    async def refresh(self) -> None:
        """List anew; raises ClusterUnreachable, an OSError."""
        ...


def now_ms() -> int:
    """Milliseconds since the epoch."""
    return time.time_ns() // 1_000_000


@dataclass(frozen=True, slots=True)
class Context:
    """The catalog, the cluster, and the connection for admin requests. ``clock`` returns
    milliseconds since the epoch.

    ``deprecated_grants`` counts ACLs that were made over the wire and should not be any more, by
    operation, until they are taken. ``judge`` evaluates the policies. ``freezer`` keeps names from
    clients while what they lead to changes, and waits for what is ``at_work``. ``ids`` lists groups
    and transactional ids, ``flat_acls`` finds their ACLs. ``turns`` are those that long decisions
    take, or None if nobody else is served meanwhile.
    """

    catalog: Catalog
    cluster: Cluster
    admin: CoordinatorAdmin
    clock: Callable[[], int] = now_ms
    trees: Trees = field(default_factory=Trees)
    usage: Usage = field(default_factory=Usage)
    judge: Judge = NO_JUDGE
    deprecated_grants: Counter[str] = field(default_factory=Counter)
    freezer: Freezer = NO_FREEZER
    at_work: AtWork = field(default_factory=AtWork)
    ids: IdListing = field(default_factory=IdListing)
    flat_acls: FlatAcls = field(default_factory=FlatAcls)
    turns: Turns | None = None

    async def decide(self, decide: Decide, validate_only: bool) -> None:
        """Change the catalog; with ``validate_only`` just find what is against it. Raises OSError,
        and what ``decide`` raises."""
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
        """Put what there was in place of entries, unless these have changed since. Returns why
        that failed: housekeeping ends them in time."""

        def decide(newest: Snapshot) -> list[Change]:
            held = newest.topics
            return [former(newest, entry) for entry in entries if held.get(entry.flat) == entry]

        return await self.tidy(decide)

    async def tidy(self, decide: Decide) -> OSError | None:
        """Change the catalog if there is anything to change; returns why that failed, where the
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
    """The result of the first ``attempt`` that is not :class:`Outdated`; each begins with the
    newest catalog. Raises :class:`Rejected` when ``what`` keeps changing, OSError, and what the
    attempt raises."""
    for _ in range(ATTEMPTS):
        await context.catalog.refresh()
        try:
            return await attempt()
        except Outdated:
            continue
    raise Rejected(REQUEST_TIMED_OUT, f"{what} keeps changing meanwhile; try again.")


@dataclass(frozen=True, slots=True)
class Answered:
    """A response body in the client's names, and the items that were ``denied``, for the audit log:
    each with its name, in the order of the request; :meth:`Batch.answered` finds them.
    ``throttle_ms``: for how long a broker throttles what was asked of it for the request."""

    body: bytes
    denied: Sequence[tuple[str, Denied]] = ()
    throttle_ms: int = 0


RequestChange: TypeAlias = Callable[[Context, Access, int, bytes], Coroutine[Any, Any, Answered]]
"""Executes one request: (context, access, version, body in the client's names) -> the response."""


@dataclass(slots=True)
class Batch(Generic[Key, Item, Answer]):
    """One admin request that the gateway answers itself: its items, by their names or their places
    in the request, on their way to their answers.

    ``access`` is the client's, on the state of the catalog that the request is done on. ``keys``
    are in the order of the request, each once. An item is ``left`` until it has one of the
    ``answers``: the API's own, or why it is rejected. ``twins`` maps a second spelling to the first
    one, whose answer it gets. ``spelled`` returns the name of an item, for the audit log.
    """

    context: Context
    access: Access
    keys: Collection[Key]
    left: dict[Key, Item] = field(default_factory=dict)
    answers: dict[Key, Answer | Denied] = field(default_factory=dict)
    twins: dict[Key, Key] = field(default_factory=dict)
    spelled: Callable[[Key], str] = field(default=str, kw_only=True)

    @property
    def view(self) -> View:
        """The view by which names are read, on the state of the catalog that ``access`` has."""
        return self.access.view

    def follow_catalog(self) -> None:
        """Go on by the newest state of the catalog that this process has."""
        self.access = self.access.over(View(self.view.settings, self.context.catalog.snapshot))

    async def refresh(self) -> None:
        """Read the catalog to its end and go on by that; by the last state known while the catalog
        cannot be read. Raises CatalogUnavailable, an OSError, when that is too old."""
        catalog = self.context.catalog
        try:
            await catalog.refresh()
        except CatalogUnavailable:
            if not catalog.fresh:
                raise
        self.follow_catalog()

    def why_not_now(self, operation: int, names: Mapping[str, str]) -> dict[str, Denied]:
        """Why the client may not do ``operation`` any more on topics that are called so (flat name
        to the client's), by flat name; that is asked right before a broker is (``AtWork``). A topic
        that was moved is another owner's, and one that is frozen may be moved any moment."""
        snapshot = self.context.catalog.snapshot
        frozen = Frozen.of(freezes_in(snapshot).values())
        access = self.access.over(View(self.view.settings, snapshot, frozen=frozen))
        denied: dict[str, Denied] = {}
        for flat, name in paced(names.items()):
            found = access.topic(operation, name.encode())
            if isinstance(found, Denied):
                denied[flat] = found
            elif found.flat.decode() != flat:
                denied[flat] = MOVED
        return denied

    def is_open(self, key: Key) -> bool:
        """Whether nothing is decided of an item yet."""
        return key not in self.answers and key not in self.twins

    def answer(self, key: Key, answer: Answer | Denied) -> None:
        """Answer an item, which goes no further."""
        self.answers[key] = answer
        self.left.pop(key, None)

    def reject(self, why: Denied, keys: Iterable[Key] | None = None) -> None:
        """Reject these items; by default all that have no answer yet."""
        if keys is None:
            keys = [key for key in paced(self.keys) if self.is_open(key)]
        for key in list(keys):
            self.answer(key, why)

    def restart(self) -> None:
        """Forget all that was decided of the items: they are decided anew."""
        for decided in (self.left, self.answers, self.twins):
            decided.clear()

    def results(self) -> Iterator[tuple[Key, Answer | Denied]]:
        """Every item with its answer, in the order of the request."""
        for key in paced(self.keys):
            yield key, self.answers[self.twins.get(key, key)]

    def answered(self, body: bytes) -> Answered:
        """The response ``body`` to the results, and which of these are denials: whoever answered an
        item with one, and wherever, the audit log has it."""
        denied = [
            (self.spelled(key), answer)
            for key, answer in self.results()
            if isinstance(answer, Denied) and is_denial(answer)
        ]
        return Answered(body, denied)


def write_response(
    name: str, version: int, items: str, entries: Iterable[Mapping[str, object]]
) -> bytes:
    """The body of the response ``name``, whose array ``items`` has these entries."""
    cls = messages.message_class(name, version)
    item_class = element_class(cls, items)
    return messages.write(make(cls, {items: tuple(make(item_class, each) for each in entries)}))


def error_fields(answer: object) -> dict[str, object]:
    """The error fields of a response's entry; no error unless ``answer`` is a :class:`Denied`."""
    if isinstance(answer, Denied):
        return {"error_code": answer.code, "error_message": answer.message}
    return {"error_code": 0, "error_message": None}
