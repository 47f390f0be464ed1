"""One CreateTopics request on its way: what is left of it, the gateway's own request to the broker,
and the client's response.

Twins (one topic or namespace under two spellings) that are alike are answered alike. Of those that
are not none is created, as Kafka does with a name that is in a request twice
(ReplicationControlManager: INVALID_REQUEST).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, Final

from gateway.changes.base import admin_rights
from gateway.changes.base.batch import Batch
from gateway.changes.base.broker import ask_of_each, broker_time
from gateway.changes.base.refused import BROKER, called
from gateway.changes.base.resources import OWN
from gateway.changes.inheritance.inherited import adjust_created
from gateway.changes.topics.create_plan import Planned
from gateway.decision import Denied
from gateway.error_codes import INVALID_REQUEST
from gateway.rules.error_text import TextFacts, restored
from gateway.views.access import DESCRIBE, Access
from protocol import messages
from protocol.messages import Request, changed, element_class, has_field, make
from protocol.pausing import eased, paced

Answer = Denied | Mapping[str, str] | Any
"""What is said of one item: why it is refused, a namespace's own configs, or the broker's entry
(of any version) in the client's spelling."""

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
    request = broker_request(creation.request, planned.values(), validate_only=validate_only)
    told = await ask_of_each(creation.context, request, planned, "topics")
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


def broker_request(asked: Any, planned: Iterable[Planned], *, validate_only: bool) -> Request:
    """The gateway's request for what is planned of the client's."""
    values = {
        "topics": [_broker_topic(each) for each in paced(planned)],
        "timeout": broker_time(asked.timeout),
        "validate_only": validate_only,
    }
    return Request("CreateTopicsRequest", NEWEST, values)


def response(version: int, results: Iterable[tuple[str, Answer]]) -> bytes:
    """The response body: one entry for each name with its answer."""
    cls = messages.message_class("CreateTopicsResponse", version)
    topic_class = element_class(cls, "topics")
    topics = tuple(_entry(topic_class, name, answer) for name, answer in results)
    return messages.write(make(cls, {"topics": topics}))


def _broker_topic(planned: Planned) -> dict[str, object]:
    asked = planned.asked
    assignments = [
        {"partition_index": one.partition_index, "broker_ids": one.broker_ids}
        for one in eased(asked.assignments)
    ]
    set_here = {config.name for config in eased(asked.configs)}
    inherited = [(k, v) for k, (v, _) in planned.inherited.items() if k not in set_here]
    # As they came, twice if they are there twice: the broker looks at each.
    own = [(config.name, config.value) for config in eased(asked.configs)]
    # What was judged is what is made, also when the brokers' defaults change in between.
    partitions, replicas = asked.num_partitions, asked.replication_factor
    if planned.resolved is not None and not assignments:
        partitions, replicas = planned.resolved
    return {
        "name": planned.flat,
        "num_partitions": partitions,
        "replication_factor": replicas,
        "assignments": assignments,
        "configs": [{"name": key, "value": value} for key, value in inherited + own],
    }


def _entry(cls: type, name: str, answer: Answer) -> Any:
    values: dict[str, object] = {"name": name, "configs": ()}
    if isinstance(answer, Denied):
        values |= {"error_code": answer.code, "error_message": answer.message}
        return make(cls, values | {"num_partitions": -1, "replication_factor": -1})
    if isinstance(answer, Mapping):
        # A namespace has no partitions; a client that looks is told so, and of its configs.
        configs = [
            {"name": key, "value": value, "config_source": OWN} for key, value in answer.items()
        ]
        return make(cls, values | {"num_partitions": 0, "configs": _configs(cls, configs)})
    values |= {each.name: getattr(answer, each.name) for each in fields(answer)}
    values["name"] = name
    told = getattr(answer, "configs", None) or ()
    configs = [{each.name: getattr(one, each.name) for each in fields(one)} for one in told]
    return make(cls, values | {"configs": _configs(cls, configs)})


def _configs(cls: type, configs: Iterable[Mapping[str, object]]) -> tuple[Any, ...]:
    if not has_field(cls, "configs"):
        return ()
    config_class = element_class(cls, "configs")
    return tuple(make(config_class, config) for config in configs)


def are_alike(one: Any, other: Any) -> bool:
    """Whether two topics of a request are to be the same but for their names."""
    return bool(changed(other, {"name": one.name}) == one)


def have_like_configs(one: Any, other: Any) -> bool:
    """The same of two namespaces, which have nothing but configs."""
    return bool(one.configs == other.configs)


def contradiction(first: str, second: str) -> Denied:
    """The error for both."""
    message = (
        f"'{first}' and '{second}' are one and the same name, which is in the request with two "
        "different meanings; nothing was created under it."
    )
    return Denied(INVALID_REQUEST, message, "spelling")
