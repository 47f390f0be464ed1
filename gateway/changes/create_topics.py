"""CreateTopics for namespaces and the topics in them.

The order of steps is what makes it safe. A topic that is stored elsewhere than its name says is
reserved in the catalog first. Then the broker makes the topics: it decides who of two is first.
Then the catalog is read again, or written: a namespace that was marked for deletion before that is
seen, and the topic taken back; one that is marked after that finds the topic by its listing.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from gateway.access import Access
from gateway.catalog.entities import Change, Removal, key_of
from gateway.catalog.snapshot import Snapshot
from gateway.changes import admin_rights
from gateway.changes.answered import Answered
from gateway.changes.broker_deletion import delete_at_broker
from gateway.changes.context import Context
from gateway.changes.create_messages import Answer, broker_request, response
from gateway.changes.create_plan import Planned, plan, reserved, settled
from gateway.changes.namespace_creation import create_namespace
from gateway.changes.refused import Refused, unavailable
from gateway.changes.topic_configs import adjust_created
from gateway.decision import Denied
from gateway.error_codes import INVALID_REQUEST, INVALID_TOPIC_EXCEPTION, REQUEST_TIMED_OUT
from gateway.names import DELIMITER, InvalidName, LogicalName
from gateway.rules.error_text import TextFacts, restored
from gateway.rules.nested import changed
from gateway.view import View
from protocol import messages

log = logging.getLogger(__name__)

_NEWEST: Final = 7

AT_ONCE: Final = 100
"""Namespaces of one request that are made together."""

_NO_ANSWER: Final = Denied(
    REQUEST_TIMED_OUT, "The broker does not say what became of it; try again.", "unavailable"
)


@dataclass(slots=True)
class _Creation:
    """One request on its way: its ``answers`` by the names it has, and the topics that are left to
    be made. ``twins`` maps a second spelling to the first, ``denied`` holds what ACLs deny."""

    context: Context
    access: Access
    request: Any
    answers: dict[str, Answer] = field(default_factory=dict)
    planned: dict[str, Planned] = field(default_factory=dict)
    twins: dict[str, str] = field(default_factory=dict)
    denied: dict[str, Denied] = field(default_factory=dict)

    @property
    def view(self) -> View:
        """What names mean by the snapshot that was looked at last."""
        return self.access.view

    def deny(self, spelled: str, why: Denied) -> None:
        """It is refused, and goes no further."""
        self.answers[spelled] = why
        self.planned.pop(spelled, None)

    def look(self) -> None:
        """Go on by the newest snapshot."""
        self.access = self.access.over(View(self.view.settings, self.context.catalog.snapshot))

    def forbid(self) -> None:
        """Refuse what ACLs deny."""
        for name, why in admin_rights.creations(self.access, self.request.topics).items():
            spelled = name.decode()
            if spelled not in self.answers:
                self.deny(spelled, why)
                self.denied[spelled] = why


async def create_topics(context: Context, access: Access, version: int, body: bytes) -> Answered:
    """A whole CreateTopics request (v2 and later, the client's names) to its whole response.

    Raises ProtocolError for a body that cannot be read.
    """
    request = messages.parse("CreateTopicsRequest", version, body)
    creation = _Creation(context, access, request)
    counts = Counter(topic.name for topic in request.topics)
    try:
        await context.catalog.refresh()
    except OSError as error:
        creation.answers = dict.fromkeys(counts, unavailable(error))
        return Answered(response(version, counts, creation.answers))
    creation.look()
    for name, count in counts.items():
        if count > 1:
            creation.deny(name, Denied(INVALID_REQUEST, "Duplicate topic name.", "request"))
    creation.forbid()
    await _create_namespaces(creation)
    creation.look()
    creation.forbid()
    _plan(creation)
    if not request.validate_only:
        await _reserve(creation)
    made = await _ask_broker(creation)
    if not request.validate_only:
        await _settle(creation, made)
    for second, first in creation.twins.items():
        creation.answers[second] = creation.answers[first]
    return Answered(response(version, counts, creation.answers), creation.denied)


async def _create_namespaces(creation: _Creation) -> None:
    first: dict[str, str] = {}
    wanted: list[tuple[Any, str]] = []
    for asked in creation.request.topics:
        if not asked.name.endswith(DELIMITER) or asked.name in creation.answers:
            continue
        try:
            path = creation.view.namespace_named(asked.name)
        except InvalidName as error:
            why = Denied(INVALID_TOPIC_EXCEPTION, f"{error}.", "names")
            creation.deny(asked.name, why)
            continue
        assert path is not None
        if first.setdefault(path, asked.name) != asked.name:
            creation.twins[asked.name] = first[path]
        else:
            wanted.append((asked, path))
    # They wait for one transaction together, and are decided in the order they are asked for.
    for start in range(0, len(wanted), AT_ONCE):
        together = wanted[start : start + AT_ONCE]
        await asyncio.gather(*(_create_namespace(creation, *each) for each in together))


async def _create_namespace(creation: _Creation, asked: Any, path: str) -> None:
    try:
        creation.answers[asked.name] = await create_namespace(
            creation.context,
            creation.view.settings,
            path,
            asked,
            validate_only=creation.request.validate_only,
        )
    except Refused as refused:
        creation.deny(asked.name, refused.why)
    except OSError as error:
        creation.deny(asked.name, unavailable(error))


def _plan(creation: _Creation) -> None:
    """Decide where every topic goes, by the view's snapshot."""
    index, now = creation.context.cluster.index, creation.context.clock()
    first: dict[LogicalName, str] = {}
    for asked in creation.request.topics:
        spelled = asked.name
        if spelled in creation.answers or spelled in creation.twins:
            continue
        try:
            planned = plan(creation.view, asked, now, lambda flat: index.exists(flat.encode()))
        except Refused as refused:
            creation.deny(spelled, refused.why)
            continue
        if first.setdefault(planned.name, spelled) == spelled:
            creation.planned[spelled] = planned
        else:
            creation.twins[spelled] = first[planned.name]


async def _reserve(creation: _Creation) -> None:
    """Commit the entries of topics that get a fresh flat name."""
    wanted = {spelled: each for spelled, each in creation.planned.items() if each.reserve}
    if not wanted:
        return
    try:
        refused = await _commit(creation.context, wanted, reserved)
    except OSError as error:
        refused = dict.fromkeys(wanted, unavailable(error))
    for spelled, why in refused.items():
        creation.deny(spelled, why)


async def _ask_broker(creation: _Creation) -> dict[str, Any]:
    """Have the broker make (or validate) what is left; its entries of what it took, by spelling."""
    planned = creation.planned
    if not planned:
        return {}
    try:
        answer = await creation.context.admin.ask(
            "CreateTopicsRequest",
            lambda cls: broker_request(cls, creation.request, planned.values()),
            at_most=_NEWEST,
        )
    except OSError as error:
        for spelled in list(planned):
            creation.deny(spelled, unavailable(error))
        return {}
    spellings = {each.flat: spelled for spelled, each in planned.items()}
    made: dict[str, Any] = {}
    left = dict(planned)
    for result in answer.topics:
        if result.name not in spellings:
            continue
        spelled = spellings[result.name]
        each = left.pop(spelled)
        if result.error_code:
            message = _restored(creation.view, spellings, result.error_message)
            creation.answers[spelled] = Denied(int(result.error_code), message, "broker")
        else:
            result = adjust_created(result, each.own, each.inherited)
            made[spelled] = creation.answers[spelled] = changed(result, {"name": spelled})
    for spelled in left:
        creation.answers[spelled] = _NO_ANSWER
    return made


async def _settle(creation: _Creation, made: dict[str, Any]) -> None:
    """Say in the catalog what there is now, and take back what may not be there."""
    ids: dict[str, bytes | None] = {}
    for spelled, result in made.items():
        flat = creation.planned[spelled].flat
        topic_id = getattr(result, "topic_id", None)  # from v7 on
        ids[flat] = None if topic_id is None else topic_id.bytes
        creation.context.cluster.index.learn(flat.encode(), ids[flat])
    refused_there = [
        each
        for spelled, each in creation.planned.items()
        if spelled not in made and _is_final(creation.answers[spelled])
    ]
    await _drop_reservations(creation.context, refused_there)
    checked = {s: creation.planned[s] for s in made if creation.planned[s].needs_check}
    if not checked:
        return
    now = creation.context.clock()
    try:
        refused = await _commit(
            creation.context, checked, lambda snapshot, each: settled(snapshot, each, now)
        )
    except OSError as error:
        # What the catalog says of them is not known, so they are not called made.
        creation.answers |= dict.fromkeys(checked, unavailable(error))
        return
    creation.answers |= refused
    if refused:
        back = [checked[spelled] for spelled in refused]
        await _take_back(creation.context, {each.flat: ids[each.flat] for each in back})
        await _drop_reservations(creation.context, back)


def _is_final(answer: Answer) -> bool:
    """Whether the broker has refused for good: a timeout leaves open what became of it."""
    return isinstance(answer, Denied) and answer.code != REQUEST_TIMED_OUT


async def _commit(
    context: Context,
    items: Mapping[str, Planned],
    decide_one: Callable[[Snapshot, Planned], Change | None],
) -> dict[str, Denied]:
    """Commit what is decided of each, in one decision; why of those that are refused.

    When there is nothing to write the catalog is read to its end all the same. Raises OSError.
    """
    refused: dict[str, Denied] = {}

    def decide(snapshot: Snapshot) -> list[Change]:
        refused.clear()
        changes = []
        for spelled, each in items.items():
            try:
                change = decide_one(snapshot, each)
            except Refused as why:
                refused[spelled] = why.why
                continue
            if change is not None:
                changes.append(change)
        return changes

    if not decide(context.catalog.snapshot):
        await context.catalog.refresh()
        if not decide(context.catalog.snapshot):
            return refused
    await context.catalog.change(decide)
    return refused


async def _take_back(context: Context, ids: Mapping[str, bytes | None]) -> None:
    """Delete topics that were just made: nobody has been told of them."""
    try:
        outcomes = await delete_at_broker(context, ids)
    except OSError as error:
        log.warning("topics %s could not be taken back: %s", ", ".join(ids), error)
        return
    for flat, outcome in outcomes.items():
        if not outcome.gone:
            log.warning("topic %r could not be taken back: error %d", flat, outcome.code)


async def _drop_reservations(context: Context, planned: Iterable[Planned]) -> None:
    """Remove the entries of topics that were not made; those that stay are removed in time."""
    entries = [each.entry for each in planned if each.reserve and each.entry is not None]

    def present(snapshot: Snapshot) -> list[Change]:
        held = snapshot.topics
        return [Removal(key_of(entry)) for entry in entries if held.get(entry.flat) == entry]

    if not present(context.catalog.snapshot):
        return
    try:
        await context.catalog.change(present)
    except OSError as error:
        log.warning("entries of topics that were not made stay for a while: %s", error)


def _restored(view: View, spellings: Mapping[str, str], text: str | None) -> str:
    """The broker's text in the names of the client."""

    def shown(flat: bytes) -> bytes | None:
        spelled = spellings.get(flat.decode(errors="replace"))
        return view.spell(flat) if spelled is None else spelled.encode()

    if not text:
        return "The broker refuses it."
    return restored(text.encode(), TextFacts(shown, view)).decode()
