"""The admin requests of Kafka that the commands send, at the API version that the gateway supports.

Names are written with colons: ``org:orders`` is a topic, ``org:`` a namespace.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from gateway.brokers.messages import TOPIC_RESOURCE, describe_configs
from gateway.commands.answers import (
    Created,
    Described,
    Topic,
    config_of,
    created_of,
    outcome_of,
    topic_of,
)
from gateway.commands.client import Answer, GatewayClient
from gateway.commands.errors import Outcome
from gateway.commands.spelling import (
    AUTHORIZATION,
    SPELLING,
    Listener,
    connected_to,
    shown,
)
from gateway.error_codes import INVALID_TOPIC_EXCEPTION, UNKNOWN_TOPIC_OR_PARTITION
from gateway.names import DELIMITER
from protocol.messages import Request

SET: Final = 0
DELETE: Final = 1
APPEND: Final = 2
"""Operations of IncrementalAlterConfigs (AlterConfigOp.OpType)."""

BATCH: Final = 500
"""Maximum number of resources or topics in a request."""

_ROOT = ":"
_NAMESPACES = "gateway.namespaces"
_BROKER_DEFAULT = -1
_REQUEST_SECONDS = 30.0
"""Seconds that Kafka's admin client gives a broker for a request (request.timeout.ms)."""


class Admin:
    """Administrative requests for topics, namespaces and configs. Every method raises Unavailable,
    also if a broker responds instead of a gateway."""

    def __init__(self, client: GatewayClient) -> None:
        self.client = client
        self._checked = False
        self._learned = False

    async def learn(self) -> None:
        """Query how the listener spells names; does so once, before the first
        request is written."""
        if self._learned:
            return
        self._learned = True
        request = describe_configs([_ROOT], [SPELLING, AUTHORIZATION])
        answer = await self.client.ask(request, lambda response: response.results)
        found = {one.name: one.value for result in answer.entity.results for one in result.configs}
        authorizes = found.get(AUTHORIZATION)
        known = Listener(found.get(SPELLING), None if authorizes is None else authorizes == "true")
        connected_to(known)

    async def create(
        self,
        name: str,
        *,
        partitions: int | None = None,
        replication_factor: int | None = None,
        configs: Mapping[str, str] | None = None,
        validate_only: bool = False,
    ) -> Created:
        """Send CreateTopics for a topic, or for the namespace ``org:``. If a value is left out, the
        broker's default applies."""
        await self.learn()
        name = shown(name)
        topic = {
            "name": name,
            "num_partitions": _BROKER_DEFAULT if partitions is None else partitions,
            "replication_factor": (
                _BROKER_DEFAULT if replication_factor is None else replication_factor
            ),
            "configs": [{"name": key, "value": value} for key, value in (configs or {}).items()],
        }
        values = {
            "topics": [topic],
            "timeout": self._broker_timeout(),
            "validate_only": validate_only,
        }
        request = Request("CreateTopicsRequest", 7, values)
        answer = await self.client.ask(request, lambda response: response.topics)
        topics = {topic.name: topic for topic in answer.entity.topics}
        (outcome,) = await self._outcomes(answer, topics, [name])
        return created_of(outcome, topics.get(name))

    async def delete(self, names: Sequence[str]) -> list[Outcome]:
        """Send DeleteTopics for topics and namespaces, all in a single request, because a
        namespace is deleted only along with everything below it. Returns an outcome for
        each name, in order."""
        await self.learn()
        names = [*map(shown, names)]
        values = {
            "topics": [{"name": name} for name in names],
            "topic_names": names,  # before v6
            "timeout": self._broker_timeout(),
        }
        request = Request("DeleteTopicsRequest", 6, values)
        answer = await self.client.ask(request, lambda response: response.responses)
        return await self._outcomes(
            answer, {one.name: one for one in answer.entity.responses}, names
        )

    async def describe(
        self, names: Sequence[str], keys: Sequence[str] | None = None, *, synonyms: bool = False
    ) -> list[Described]:
        """Send DescribeConfigs for topics and namespaces; returns them in order. Without ``keys``
        all configs are requested."""
        await self.learn()
        names = [*map(shown, names)]
        found: list[Described] = []
        for start in range(0, len(names), BATCH):
            part = names[start : start + BATCH]
            request = describe_configs(part, keys, synonyms=synonyms)
            answer = await self.client.ask(request, lambda response: response.results)
            results = {result.resource_name: result for result in answer.entity.results}
            for outcome in await self._outcomes(answer, results, part):
                configs = getattr(results.get(outcome.name), "configs", ())
                found.append(Described(outcome, {one.name: config_of(one) for one in configs}))
        return found

    async def alter(
        self, name: str, changes: Sequence[tuple[str, int, str | None]], *, validate_only: bool
    ) -> Outcome:
        """Send IncrementalAlterConfigs for a topic or namespace. ``changes`` are (key, SET,
        DELETE or APPEND, value)."""
        await self.learn()
        name = shown(name)
        resource = {
            "resource_type": TOPIC_RESOURCE,
            "resource_name": name,
            "configs": [
                {"name": key, "config_operation": operation, "value": value}
                for key, operation, value in changes
            ],
        }
        values = {"resources": [resource], "validate_only": validate_only}
        request = Request("IncrementalAlterConfigsRequest", 1, values)
        answer = await self.client.ask(request, lambda response: response.responses)
        responses = {one.resource_name: one for one in answer.entity.responses}
        (outcome,) = await self._outcomes(answer, responses, [name])
        return outcome

    async def topics(self, names: Sequence[str] | None = None) -> list[Topic]:
        """Send Metadata for these topics. Without ``names`` all topics are listed, and an error in
        the listing is not retried."""
        if names is not None and len(names) > BATCH:
            return [*await self.topics(names[:BATCH]), *await self.topics(names[BATCH:])]
        await self.learn()
        topics = None if names is None else [{"name": shown(name)} for name in names]
        request = Request(
            "MetadataRequest", 13, {"allow_auto_topic_creation": False, "topics": topics}
        )
        # A partition without a leader is worth showing: the client retries only if a single topic
        # has an error, and takes a listing as it is.
        items = (lambda _: ()) if names is None else (lambda response: response.topics)
        answer = await self.client.ask(request, items)
        found = [
            topic_of(answer, topic) for topic in answer.entity.topics if topic.name is not None
        ]
        await self._reject_broker(topic.outcome for topic in found)
        return found

    async def _outcomes(
        self, answer: Answer, items: Mapping[str, Any], names: Sequence[str]
    ) -> list[Outcome]:
        """The outcome for each of these names, in order, from the response's items by name."""
        outcomes = [outcome_of(answer, name, items.get(name)) for name in names]
        await self._reject_broker(outcomes)
        return outcomes

    async def _reject_broker(self, outcomes: Iterable[Outcome]) -> None:
        """Raises Unavailable if any of these outcomes comes from a broker, because a broker knows
        no name with a colon, and no configs of the root, which every gateway describes."""
        if any(map(may_be_a_brokers, outcomes)):
            await self.require_gateway()

    async def require_gateway(self) -> None:
        """Raises Unavailable if a broker responds, because brokers would take ACLs of any name."""
        if self._checked:
            return
        self._checked = True
        (root,) = await self.describe([_ROOT], [_NAMESPACES])
        if may_be_a_brokers(root.outcome):
            raise self.client.is_a_broker()

    def _broker_timeout(self) -> datetime.timedelta:
        return datetime.timedelta(seconds=min(self.client.timeout, _REQUEST_SECONDS))


_INVALID: Final = "ASCII alphanumerics"
"""Part of every Kafka broker's message if a topic's name has a colon (internals.Topic.validate)."""

_UNKNOWN: Final = "This server does not host this topic-partition"
"""The message of DeleteTopics for such a topic, because DeleteTopics only looks the name up."""


def may_be_a_brokers(outcome: Outcome) -> bool:
    """Whether a broker may have responded with this outcome. Metadata has no error message."""
    if DELIMITER not in outcome.name:
        return False
    if outcome.code == INVALID_TOPIC_EXCEPTION:
        return not outcome.message or _INVALID in outcome.message
    return outcome.code == UNKNOWN_TOPIC_OR_PARTITION and _UNKNOWN in outcome.message
