"""One CreateTopics request: its topics that have no answer yet, the gateway's own request to the
broker, policies (KIP-108), and the client's response.

The broker validates before policies judge, as in the KIP. So existing names, bad configs and
impossible counts get Kafka's errors, and the counts that a request leaves to the broker (-1) come
back resolved.

Twins (one topic or namespace under two spellings) get the same answer if they are alike. If they
differ, none of them is created, as in Kafka for a name that is in a request twice
(ReplicationControlManager: INVALID_REQUEST).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Final

from gateway.changes.base import admin_rights
from gateway.changes.base.broker import broker_time, query_allowed
from gateway.changes.base.context import Batch, write_items
from gateway.changes.base.inherited import adjust_created
from gateway.changes.base.rejected import BROKER, Rejected, respelled, try_again, unavailable
from gateway.changes.base.resources import OWN, text_facts
from gateway.changes.base.topic_policies import Layout, Metadata
from gateway.changes.base.usage import LISTING_HOLDS, Expected
from gateway.changes.topics.create_plan import Planned, counting
from gateway.decision import Denied
from gateway.error_codes import INVALID_REQUEST, POLICY_VIOLATION
from gateway.policies.limits import nearly_over, over
from gateway.policies.violation import Violation, enforced
from gateway.rules.error_text import restored
from protocol import messages
from protocol.messages import Request, changed, element_class, has_field, make
from protocol.pausing import eased, paced

Answer = Denied | Mapping[str, str] | Any
"""The answer for one item: why it is rejected, a namespace's own configs, or the broker's entry (of
any version) in the client's spelling."""

NEWEST: Final = 7
"""The latest version of CreateTopics."""

_UNRESOLVED: Final = Denied(
    POLICY_VIOLATION,
    "The brokers do not tell how many partitions and replicas their defaults make of this topic, so"
    " no policy can allow it: ask for numbers, or let the gateway's principal DescribeConfigs of"
    " topics at the brokers.",
    "policies",
)


@dataclass(slots=True, kw_only=True)
class Creation(Batch[str, Planned, Answer]):
    """One CreateTopics request. ``left``: the topics that are to be created."""

    request: Any

    def accept(self, spelled: str, result: Any) -> None:
        """Answer a topic with the broker's entry for it."""
        each = self.left[spelled]
        adjusted = adjust_created(result, each.own, each.inherited)
        self.answer(spelled, changed(adjusted, {"name": spelled}))

    def check_acls(self) -> None:
        """Reject the topics and namespaces that ACLs deny."""
        denied = admin_rights.creations(self.access, self.request.topics)
        for name, why in paced(denied.items()):
            spelled = name.decode()
            if spelled not in self.answers:
                self.answer(spelled, why)

    def forbidden_now(self, planned: Mapping[str, Planned]) -> dict[str, Denied]:
        """The planned topics, by flat name, that ACLs deny by now. While a request waits for
        policies, for the catalog and for its turn at the broker, a right may be revoked."""
        snapshot = self.context.catalog.snapshot
        access = self.access.on(snapshot)
        topics = [each.requested for each in paced(planned.values())]
        denied = admin_rights.creations(access, topics)
        names = {flat: each.spelled.encode() for flat, each in paced(planned.items())}
        return {flat: denied[name] for flat, name in names.items() if name in denied}

    def deny_by_policy(self, spelled: str, why: Denied) -> None:
        """Reject a topic by a policy's error, respelled from the topic's full name to the
        client's."""
        self.answer(spelled, respelled(why, str(self.left[spelled].name), spelled))


# -- the broker ------------------------------------------------------------------------------------


async def ask_broker(
    creation: Creation, wanted: Iterable[Planned], *, validate_only: bool
) -> dict[str, Any]:
    """Request the broker to create (or validate) topics. Returns the broker's entries of the
    accepted topics, by spelling; all other topics are rejected."""
    planned = {each.flat: each for each in wanted}
    if not planned:
        return {}
    spellings = {flat: each.spelled for flat, each in paced(planned.items())}
    facts = text_facts(creation.access, spellings)

    def about(flats: Sequence[str]) -> Request:
        topics = [planned[flat] for flat in flats]
        return broker_request(creation.request, topics, validate_only=validate_only)

    def why_not(flats: Collection[str]) -> Mapping[str, Denied]:
        return creation.forbidden_now({flat: planned[flat] for flat in flats})

    found = await query_allowed(
        creation.context, about, planned, "topics", why_not, changes=not validate_only
    )
    taken: dict[str, Any] = {}
    for flat, result in paced(found.items()):
        if not isinstance(result, Denied):
            taken[spellings[flat]] = result
            continue
        if result.rule == BROKER:
            text = result.message
            message = restored(text.encode(), facts).decode() if text else "The broker refuses it."
            result = replace(result, message=message)
        creation.answer(spellings[flat], result)
    return taken


def broker_request(request: Any, planned: Iterable[Planned], *, validate_only: bool) -> Request:
    """The gateway's request for the planned topics of the client's request."""
    values = {
        "topics": [_broker_topic(each) for each in paced(planned)],
        "timeout": broker_time(request.timeout),
        "validate_only": validate_only,
    }
    return Request("CreateTopicsRequest", NEWEST, values)


def _broker_topic(planned: Planned) -> dict[str, object]:
    topic = planned.requested
    assignments = [
        {"partition_index": one.partition_index, "broker_ids": one.broker_ids}
        for one in eased(topic.assignments)
    ]
    set_here = {config.name for config in eased(topic.configs)}
    inherited = [(k, v) for k, (v, _) in planned.inherited.items() if k not in set_here]
    # Configs go to the broker unchanged, with duplicates; the broker validates each of them.
    own = [(config.name, config.value) for config in eased(topic.configs)]
    # The topic is created with the counts that were judged, even if the brokers' defaults change.
    partitions, replicas = topic.num_partitions, topic.replication_factor
    if planned.resolved is not None and not assignments:
        partitions, replicas = planned.resolved
    return {
        "name": planned.flat,
        "num_partitions": partitions,
        "replication_factor": replicas,
        "assignments": assignments,
        "configs": [{"name": key, "value": value} for key, value in inherited + own],
    }


# -- policies --------------------------------------------------------------------------------------


async def judge(creation: Creation) -> int:
    """Reject the topics that a policy does not allow. With ``validate_only`` the allowed topics are
    answered; otherwise they continue with the counts that the broker resolved. Topics without
    policies are left alone.

    Returns when the cluster was listed (milliseconds since the epoch), for topics that limits
    count.
    """
    context = creation.context
    judged = {
        spelled: each
        for spelled, each in creation.left.items()
        if context.judge.applies(each.name.namespace)
    }
    if not judged:
        return 0
    listed = context.clock()
    try:
        await context.cluster.refresh()
    except OSError as error:
        creation.reject(unavailable(error), judged)
        return listed
    validated = await ask_broker(creation, judged.values(), validate_only=True)
    for spelled in judged:
        if spelled in validated:
            await _judge_one(creation, spelled, validated[spelled])
    if creation.request.validate_only:
        _answer_validated(creation, validated, listed)
    return listed


async def _judge_one(creation: Creation, spelled: str, result: Any) -> None:
    context, planned = creation.context, _resolved(creation.left[spelled], result)
    partitions, replicas = planned.resolved or (0, 0)
    if partitions < 1 or replicas < 1:
        creation.deny_by_policy(spelled, _UNRESOLVED)
        return
    assignments = {
        one.partition_index: tuple(map(int, one.broker_ids))
        for one in planned.requested.assignments
    }
    topic = Metadata(context, creation.access.principal, context.catalog.snapshot).of(
        str(planned.name),
        planned.name.namespace,
        {key: value for key, value in planned.configs.items() if value is not None},
        {config.name: config.value for config in getattr(result, "configs", None) or ()},
        Layout(assignments=assignments) if assignments else Layout(partitions, replicas),
    )
    why = await context.judge.why_not(topic)
    if why is not None:
        creation.deny_by_policy(spelled, why)
        return
    if context.judge.counts(planned.name.namespace):
        planned = counting(planned, partitions, context.clock())
    creation.left[spelled] = planned


def _resolved(planned: Planned, result: Any) -> Planned:
    """The topic with the counts of the broker's response (from v5 on; before v5 a request could not
    leave counts to the broker). The broker is then requested to create these counts, unless the
    client assigns replicas."""
    topic = planned.requested
    if topic.assignments:
        replicas = min(len(one.broker_ids) for one in topic.assignments)
        return replace(planned, resolved=(len(topic.assignments), replicas))
    partitions, replicas = int(topic.num_partitions), int(topic.replication_factor)
    if partitions < 0:
        partitions = int(getattr(result, "num_partitions", -1))
    if replicas < 0:
        replicas = int(getattr(result, "replication_factor", -1))
    return replace(planned, resolved=(partitions, replicas))


def _answer_validated(creation: Creation, validated: Mapping[str, Any], listed: int) -> None:
    """Answer the topics of a request that only validates; the counted limits hold as of now."""
    context = creation.context
    expected = Expected(context.usage.at(context.catalog.snapshot, context.cluster.index))
    for spelled, result in validated.items():
        planned = creation.left.get(spelled)
        if planned is None:
            continue
        try:
            why = verdict(creation, planned, over_limits(creation, planned, expected, listed))
        except Rejected as rejected:
            creation.answer(spelled, rejected.why)
            continue
        if why is not None:
            creation.deny_by_policy(spelled, why)
        else:
            creation.accept(spelled, result)


def over_limits(
    creation: Creation, planned: Planned, expected: Expected, listed: int
) -> list[Violation]:
    """The limits that a topic exceeds; if it exceeds none, later topics count it (``expected``).

    Pure, because one decision may evaluate it more than once. Raises :class:`Rejected` if the
    topics were listed too long ago to count them.
    """
    context, namespace = creation.context, planned.name.namespace
    partitions = 0 if planned.entry is None else planned.entry.counted
    if not partitions or not context.judge.counts(namespace):
        return []
    if context.clock() - listed > LISTING_HOLDS:
        raise Rejected.of(try_again("It took too long until the topics could be counted"))
    policies, name = context.judge.policies, str(planned.name)
    more = expected.growth(planned.flat, planned.name, partitions)
    found = over(policies, expected, more, name, namespace)
    found += nearly_over(policies, expected, more, name, namespace)
    if not enforced(found):
        expected.expect(planned.flat, planned.name, partitions)
    return found


def verdict(creation: Creation, planned: Planned, found: Sequence[Violation]) -> Denied | None:
    """Why a topic is rejected for its violations, once these are final; None if they only warn."""
    principal, name = creation.access.principal, planned.name
    return creation.context.judge.verdict(name.namespace, principal, found, str(name))


# -- the client's response -------------------------------------------------------------------------


def response(version: int, results: Iterable[tuple[str, Answer]]) -> bytes:
    """The response body: one entry for each name with its answer."""
    cls = messages.message_class("CreateTopicsResponse", version)
    topic_class = element_class(cls, "topics")
    topics = [_entry(topic_class, name, answer) for name, answer in results]
    return write_items(cls, "topics", topics)


def _entry(cls: type, name: str, answer: Answer) -> Any:
    values: dict[str, object] = {"name": name, "configs": ()}
    if isinstance(answer, Denied):
        values |= {"error_code": answer.code, "error_message": answer.message}
        return make(cls, values | {"num_partitions": -1, "replication_factor": -1})
    configs: list[dict[str, object]]
    if isinstance(answer, Mapping):
        # A namespace has no partitions; the response has that count, and the namespace's own
        # configs.
        values["num_partitions"] = 0
        configs = [
            {"name": key, "value": value, "config_source": OWN} for key, value in answer.items()
        ]
    else:
        values = {each.name: getattr(answer, each.name) for each in fields(answer)}
        values["name"] = name
        described = getattr(answer, "configs", None) or ()
        configs = [
            {each.name: getattr(one, each.name) for each in fields(one)} for one in described
        ]
    if has_field(cls, "configs"):
        config_class = element_class(cls, "configs")
        values["configs"] = tuple(make(config_class, config) for config in configs)
    return make(cls, values)


def are_alike(one: Any, other: Any) -> bool:
    """Whether two topics of a request are equal except for their names."""
    return bool(changed(other, {"name": one.name}) == one)


def contradiction(first: str, second: str) -> Denied:
    """The error for twins that differ."""
    message = (
        f"'{first}' and '{second}' are one and the same name, which is in the request with two "
        "different meanings; nothing was created under it."
    )
    return Denied(INVALID_REQUEST, message, "spelling")
