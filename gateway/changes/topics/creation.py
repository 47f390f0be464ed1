"""One CreateTopics request on its way, and what the broker is asked for it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from gateway.changes.base import admin_rights
from gateway.changes.base.batch import Batch
from gateway.changes.base.broker import ask_of_each
from gateway.changes.base.refused import BROKER, called
from gateway.changes.inheritance.inherited import adjust_created
from gateway.changes.topics.create_messages import Answer, broker_request
from gateway.changes.topics.create_plan import Planned
from gateway.decision import Denied
from gateway.rules.error_text import TextFacts, restored
from gateway.rules.nested import changed
from gateway.views.access import DESCRIBE, Access
from protocol.pausing import paced

NEWEST: Final = 7
"""Of CreateTopics: the last version there is."""


@dataclass(slots=True, kw_only=True)
class Creation(Batch[str, Planned, Answer]):
    """One request on its way: what is left are the topics that are to be made."""

    request: Any

    def accept(self, spelled: str, result: Any) -> None:
        """Answer a topic with what the broker says of it."""
        each = self.left[spelled]
        told = adjust_created(result, each.own, each.inherited)
        self.answer(spelled, changed(told, {"name": spelled}))

    def forbid(self) -> None:
        """Reject what ACLs deny."""
        denied = admin_rights.creations(self.access, self.request.topics)
        for name, why in paced(denied.items()):
            spelled = name.decode()
            if spelled not in self.answers:
                self.deny(spelled, why)

    def refuse(self, spelled: str, why: Denied) -> None:
        """Reject a topic by a policy, which speaks of it by its full name; the client is told of it
        under the name that it knows."""
        self.deny(spelled, called(why, str(self.left[spelled].name), spelled))


async def ask_broker(
    creation: Creation, wanted: Iterable[Planned], *, validate_only: bool
) -> dict[str, Any]:
    """Have the broker make (or validate) topics; its entries of what it took, by spelling. What
    it did not is rejected."""
    planned = {each.flat: each for each in wanted}
    if not planned:
        return {}
    spellings = {flat: each.spelled for flat, each in paced(planned.items())}
    facts = _facts(creation.access, spellings)
    told = await ask_of_each(
        creation.context,
        "CreateTopicsRequest",
        lambda cls: broker_request(
            cls, creation.request, planned.values(), validate_only=validate_only
        ),
        planned,
        "topics",
        at_most=NEWEST,
    )
    taken: dict[str, Any] = {}
    for flat, result in paced(told.items()):
        if not isinstance(result, Denied):
            taken[spellings[flat]] = result
            continue
        if result.rule == BROKER:
            text = result.message
            message = restored(text.encode(), facts).decode() if text else "The broker refuses it."
            result = replace(result, message=message)
        creation.answer(spellings[flat], result)
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
