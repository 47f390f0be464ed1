"""Topics that policies have a say in (KIP-108): validated by the broker, then judged, then made.

The broker's own validation comes first, as in the KIP: existing names, bad configs and impossible
counts get Kafka's errors, and what a request leaves to the broker (-1) comes back resolved.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from gateway.changes.base.refused import Refused, unavailable
from gateway.changes.base.usage import Expected, Usage
from gateway.changes.topics.create_plan import Planned, counting
from gateway.changes.topics.creation import Creation, ask_broker
from gateway.changes.topics.reservations import over_limits, verdict
from gateway.decision import Denied
from gateway.error_codes import POLICY_VIOLATION
from gateway.policies.interface import RequestMetadata

_UNRESOLVED = Denied(
    POLICY_VIOLATION,
    "The brokers do not tell how many partitions and replicas their defaults make of this topic, so"
    " no policy can allow it: ask for numbers, or let the gateway's principal DescribeConfigs of"
    " topics at the brokers.",
    "policies",
)


async def judge(creation: Creation) -> int:
    """Refuse the topics that a policy does not allow. With ``validate_only`` the others are
    answered; else they go on, as the broker resolved them. Topics without policies are left alone.

    Returns when the cluster was listed (milliseconds since the epoch), for those that are counted.
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
        creation.end(unavailable(error), judged)
        return listed
    validated = await ask_broker(creation, judged.values(), validate_only=True)
    usage = context.usage.at(context.catalog.snapshot, context.cluster.index)
    for spelled in judged:
        if spelled in validated:
            await _judge_one(creation, spelled, validated[spelled], usage)
    if creation.request.validate_only:
        _answer(creation, validated, listed)
    return listed


async def _judge_one(creation: Creation, spelled: str, result: Any, usage: Usage) -> None:
    planned = _resolved(creation.left[spelled], result)
    partitions, replicas = planned.resolved or (0, 0)
    if partitions < 1 or replicas < 1:
        creation.refuse(spelled, _UNRESOLVED)
        return
    why = await creation.context.judge.why_not(metadata(creation, planned, result, usage))
    if why is not None:
        creation.refuse(spelled, why)
        return
    if creation.context.judge.counts(planned.name.namespace):
        planned = counting(planned, partitions, creation.context.clock())
    creation.left[spelled] = planned


def metadata(creation: Creation, planned: Planned, result: Any, usage: Usage) -> RequestMetadata:
    """What policies are asked about: a topic as the broker has resolved it in its ``result``."""
    assignments = {
        one.partition_index: tuple(map(int, one.broker_ids)) for one in planned.asked.assignments
    }
    partitions, replicas = planned.resolved or (None, None)
    namespace = planned.name.namespace
    told = getattr(result, "configs", None) or ()
    return RequestMetadata(
        topic=str(planned.name),
        num_partitions=None if assignments else partitions,
        replication_factor=None if assignments else replicas,
        replicas_assignments=assignments or None,
        configs={key: value for key, value in planned.configs.items() if value is not None},
        principal=creation.access.principal,
        namespace=namespace,
        namespace_topics=usage.topics(namespace),
        namespace_partitions=usage.partitions(namespace),
        effective_configs={config.name: config.value for config in told},
    )


def _resolved(planned: Planned, result: Any) -> Planned:
    """With the counts that the broker tells (from v5 on); before that none could be left to it.

    They are what is asked of the broker, too, unless the request assigns replicas itself.
    """
    asked = planned.asked
    if asked.assignments:
        replicas = min(len(one.broker_ids) for one in asked.assignments)
        return replace(planned, resolved=(len(asked.assignments), replicas))
    partitions, replicas = int(asked.num_partitions), int(asked.replication_factor)
    if partitions < 0:
        partitions = int(getattr(result, "num_partitions", -1))
    if replicas < 0:
        replicas = int(getattr(result, "replication_factor", -1))
    return replace(planned, resolved=(partitions, replicas))


def _answer(creation: Creation, validated: dict[str, Any], listed: int) -> None:
    """Answer what is not to be made; the counted limits hold as of now."""
    context = creation.context
    expected = Expected(context.usage.at(context.catalog.snapshot, context.cluster.index))
    for spelled, result in validated.items():
        planned = creation.left.get(spelled)
        if planned is None:
            continue
        try:
            found = over_limits(creation, planned, expected, listed)
        except Refused as refused:
            creation.answer(spelled, refused.why)
            continue
        why = verdict(creation, planned, found)
        if why is not None:
            creation.refuse(spelled, why)
            continue
        creation.accept(spelled, result)
