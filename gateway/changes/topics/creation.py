"""One CreateTopics request on its way, and what the broker is asked for it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from gateway.changes.base import admin_rights
from gateway.changes.base.context import Context
from gateway.changes.base.refused import UNANSWERED, called, unavailable
from gateway.changes.inheritance.inherited import adjust_created
from gateway.changes.topics.create_messages import Answer, broker_request
from gateway.changes.topics.create_plan import Planned
from gateway.decision import Denied
from gateway.rules.error_text import TextFacts, restored
from gateway.rules.nested import changed
from gateway.views.access import DESCRIBE, Access
from gateway.views.view import View
from protocol.pausing import paced

NEWEST: Final = 7
"""Of CreateTopics: the last version there is."""


@dataclass(slots=True)
class Creation:
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

    def accept(self, spelled: str, result: Any) -> None:
        """It is answered with what the broker says of it."""
        each = self.planned[spelled]
        told = adjust_created(result, each.own, each.inherited)
        self.answers[spelled] = changed(told, {"name": spelled})

    def look(self) -> None:
        """Go on by the newest snapshot."""
        self.access = self.access.over(View(self.view.settings, self.context.catalog.snapshot))

    def forbid(self) -> None:
        """Refuse what ACLs deny."""
        denied = admin_rights.creations(self.access, self.request.topics)
        for name, why in paced(denied.items()):
            spelled = name.decode()
            if spelled not in self.answers:
                self.deny(spelled, why)
                self.denied[spelled] = why

    def refuse(self, spelled: str, why: Denied) -> None:
        """A policy refuses it, in its full name: it is denied, and that is told to the audit log.
        The client is told of it under the name that it knows."""
        why = called(why, str(self.planned[spelled].name), spelled)
        self.deny(spelled, why)
        self.denied[spelled] = why


async def ask_broker(
    creation: Creation, wanted: Iterable[Planned], *, validate_only: bool
) -> dict[str, Any]:
    """Have the broker make (or validate) topics; its entries of what it took, by spelling. What
    it did not is denied."""
    planned = {each.spelled: each for each in wanted}
    if not planned:
        return {}
    try:
        answer = await creation.context.admin.ask(
            "CreateTopicsRequest",
            lambda cls: broker_request(
                cls, creation.request, planned.values(), validate_only=validate_only
            ),
            at_most=NEWEST,
        )
    except OSError as error:
        for spelled in planned:
            creation.answers[spelled] = unavailable(error)
        return {}
    spellings = {each.flat: spelled for spelled, each in paced(planned.items())}
    taken: dict[str, Any] = {}
    left = dict(planned)
    facts = _facts(creation.access, spellings)
    for result in paced(answer.topics):
        if result.name not in spellings:
            continue
        spelled = spellings[result.name]
        left.pop(spelled)
        if result.error_code:
            text = result.error_message
            message = restored(text.encode(), facts).decode() if text else "The broker refuses it."
            creation.answers[spelled] = Denied(int(result.error_code), message, "broker")
        else:
            taken[spelled] = result
    for spelled in left:
        creation.answers[spelled] = UNANSWERED
    return taken


def _facts(access: Access, spellings: Mapping[str, str]) -> TextFacts:
    """What the broker's texts are to be in the names of the client. Other topics that they name are
    told to who may describe them."""
    view = access.view
    asked = {flat.encode(): spelled.encode() for flat, spelled in paced(spellings.items())}

    def shown(flat: bytes) -> bytes | None:
        if flat in asked:
            return asked[flat]
        return None if access.flat(DESCRIBE, flat) else view.spell(flat)

    return TextFacts(shown, view, asked)
