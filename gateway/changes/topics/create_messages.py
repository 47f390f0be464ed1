"""CreateTopics on both sides: the gateway's own request to the broker, the client's response, and
twins: one topic or namespace under two spellings in one request.

Twins that are alike are answered alike. Of those that are not none is created, as Kafka does with a
name that is in a request twice (ReplicationControlManager: INVALID_REQUEST).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import fields
from typing import Any

from gateway.changes.base.broker import broker_time
from gateway.changes.base.resources import OWN
from gateway.changes.topics.create_plan import Planned
from gateway.decision import Denied
from gateway.error_codes import INVALID_REQUEST
from gateway.rules.nested import changed, element_class, has_field, make
from protocol import messages
from protocol.pausing import eased

Answer = Denied | Mapping[str, str] | Any
"""What is said of one item: why it is refused, a namespace's own configs, or the broker's entry
(of any version) in the client's spelling."""


def broker_request(
    cls: type, request: Any, planned: Iterable[Planned], *, validate_only: bool
) -> Any:
    """The broker's request, of message class ``cls``, for what is planned of the client's."""
    topics = tuple(_broker_topic(element_class(cls, "topics"), each) for each in planned)
    values = {
        "topics": topics,
        "timeout": broker_time(request.timeout),
        "validate_only": validate_only,
    }
    return make(cls, values)


def response(version: int, results: Iterable[tuple[str, Answer]]) -> bytes:
    """The response body: one entry for each name with its answer."""
    cls = messages.message_class("CreateTopicsResponse", version)
    topic_class = element_class(cls, "topics")
    topics = tuple(_entry(topic_class, name, answer) for name, answer in results)
    return messages.write(make(cls, {"topics": topics}))


def _broker_topic(cls: type, planned: Planned) -> Any:
    asked = planned.asked
    config_class = element_class(cls, "configs")
    assignment_class = element_class(cls, "assignments")
    assignments = tuple(
        make(
            assignment_class,
            {"partition_index": one.partition_index, "broker_ids": one.broker_ids},
        )
        for one in asked.assignments
    )
    set_here = {config.name for config in eased(asked.configs)}
    inherited = [(k, v) for k, (v, _) in planned.inherited.items() if k not in set_here]
    # As they came, twice if they are there twice: the broker looks at each.
    own = [(config.name, config.value) for config in eased(asked.configs)]
    configs = tuple(
        make(config_class, {"name": key, "value": value}) for key, value in inherited + own
    )
    # What was judged is what is made, also when the brokers' defaults change in between.
    partitions, replicas = asked.num_partitions, asked.replication_factor
    if planned.resolved is not None and not assignments:
        partitions, replicas = planned.resolved
    values = {
        "name": planned.flat,
        "num_partitions": partitions,
        "replication_factor": replicas,
        "assignments": assignments,
        "configs": configs,
    }
    return make(cls, values)


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
