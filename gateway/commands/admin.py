"""The admin requests of Kafka that the commands send, whatever version is spoken.

Names are written with colons: ``org:orders`` is a topic, ``org:`` a namespace.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from gateway.commands.answers import (
    Created,
    Described,
    Outcome,
    Topic,
    config_of,
    created_of,
    outcome_of,
    topic_of,
)
from gateway.commands.client import Answer, GatewayClient
from gateway.error_codes import INVALID_TOPIC_EXCEPTION, UNKNOWN_TOPIC_OR_PARTITION
from gateway.names import DELIMITER
from protocol.messages import element_class, has_field, make

SET: Final = 0
DELETE: Final = 1
"""Operations of IncrementalAlterConfigs (AlterConfigOp.OpType)."""

TOPIC_RESOURCE: Final = 2
"""ConfigResource.Type.TOPIC."""

BATCH: Final = 500
"""Resources and topics that one request asks for at most."""

_ROOT = ":"
_NAMESPACES = "gateway.namespaces"
_BROKER_DEFAULT = -1
_REQUEST_SECONDS = 30.0
"""What Kafka's admin client gives a broker for one request (request.timeout.ms)."""


class Admin:
    """Asks by wire what the commands need. Every method raises Unavailable, also when it is a
    broker that answers."""

    def __init__(self, client: GatewayClient) -> None:
        self.client = client
        self._checked = False
        self.timeout = client.timeout

    async def create(
        self,
        name: str,
        *,
        partitions: int | None = None,
        replication_factor: int | None = None,
        configs: Mapping[str, str] | None = None,
        validate_only: bool = False,
    ) -> Created:
        """CreateTopics of one topic, or of the namespace ``org:``; None: the broker's default."""

        def request(cls: type) -> Any:
            topic = element_class(cls, "topics")
            config = element_class(topic, "configs")
            values = {
                "name": name,
                "num_partitions": _BROKER_DEFAULT if partitions is None else partitions,
                "replication_factor": (
                    _BROKER_DEFAULT if replication_factor is None else replication_factor
                ),
                "configs": tuple(
                    make(config, {"name": key, "value": value})
                    for key, value in (configs or {}).items()
                ),
            }
            return make(
                cls,
                {
                    "topics": (make(topic, values),),
                    "timeout": self._broker_timeout(),
                    "validate_only": validate_only,
                },
            )

        answer = await self.client.ask("CreateTopicsRequest", request, lambda r: r.topics)
        (outcome,) = await self._outcomes(answer, answer.entity.topics, "name", [name])
        told = [topic for topic in answer.entity.topics if topic.name == name]
        return created_of(outcome, told[0] if told else None)

    async def delete(self, names: Sequence[str]) -> list[Outcome]:
        """DeleteTopics of topics and namespaces, all in one request, since a namespace goes only
        along with all below it. One outcome a name, in their order."""

        def request(cls: type) -> Any:
            values: dict[str, object] = {"timeout": self._broker_timeout()}
            if has_field(cls, "topics"):
                topic = element_class(cls, "topics")
                values["topics"] = tuple(make(topic, {"name": name}) for name in names)
            else:
                values["topic_names"] = tuple(names)
            return make(cls, values)

        answer = await self.client.ask("DeleteTopicsRequest", request, lambda r: r.responses)
        return await self._outcomes(answer, answer.entity.responses, "name", names)

    async def describe(
        self, names: Sequence[str], keys: Sequence[str] | None = None, *, synonyms: bool = False
    ) -> list[Described]:
        """DescribeConfigs of topics and namespaces, in their order. ``keys`` None: all."""
        found: list[Described] = []
        for start in range(0, len(names), BATCH):
            found += await self._describe(names[start : start + BATCH], keys, synonyms)
        return found

    async def alter(
        self, name: str, changes: Sequence[tuple[str, int, str | None]], *, validate_only: bool
    ) -> Outcome:
        """IncrementalAlterConfigs of one topic or namespace: (key, SET or DELETE, value)."""

        def request(cls: type) -> Any:
            resource = element_class(cls, "resources")
            config = element_class(resource, "configs")
            values = {
                "resource_type": TOPIC_RESOURCE,
                "resource_name": name,
                "configs": tuple(
                    make(config, {"name": key, "config_operation": operation, "value": value})
                    for key, operation, value in changes
                ),
            }
            one = make(resource, values)
            return make(cls, {"resources": (one,), "validate_only": validate_only})

        api = "IncrementalAlterConfigsRequest"
        answer = await self.client.ask(api, request, lambda r: r.responses)
        responses = answer.entity.responses
        (outcome,) = await self._outcomes(answer, responses, "resource_name", [name])
        return outcome

    async def topics(self, names: Sequence[str] | None = None) -> list[Topic]:
        """Metadata of these topics, or of every one (None), which has no errors then."""
        if names is None:
            return await self._metadata(None)
        found: list[Topic] = []
        for start in range(0, len(names), BATCH):
            found += await self._metadata(names[start : start + BATCH])
        return found

    async def _metadata(self, names: Sequence[str] | None) -> list[Topic]:
        def request(cls: type) -> Any:
            values: dict[str, object] = {"allow_auto_topic_creation": False, "topics": None}
            if names is not None:
                topic = element_class(cls, "topics")
                values["topics"] = tuple(make(topic, {"name": name}) for name in names)
            return make(cls, values)

        # A partition without a leader is worth showing: only errors of single topics are waited
        # for, and a listing is taken as it is.
        items = (lambda _: ()) if names is None else (lambda response: response.topics)
        answer = await self.client.ask("MetadataRequest", request, items)
        found = [
            topic_of(answer, topic) for topic in answer.entity.topics if topic.name is not None
        ]
        await self._refuse_broker(topic.outcome for topic in found)
        return found

    async def _describe(
        self, names: Sequence[str], keys: Sequence[str] | None, synonyms: bool
    ) -> list[Described]:
        def request(cls: type) -> Any:
            resource = element_class(cls, "resources")
            resources = tuple(
                make(
                    resource,
                    {
                        "resource_type": TOPIC_RESOURCE,
                        "resource_name": name,
                        "configuration_keys": None if keys is None else tuple(keys),
                    },
                )
                for name in names
            )
            return make(cls, {"resources": resources, "include_synonyms": synonyms})

        answer = await self.client.ask("DescribeConfigsRequest", request, lambda r: r.results)
        results = answer.entity.results
        outcomes = await self._outcomes(answer, results, "resource_name", names)
        configs = {result.resource_name: result.configs for result in results}
        return [
            Described(outcome, {c.name: config_of(c) for c in configs.get(outcome.name, ())})
            for outcome in outcomes
        ]

    async def _outcomes(
        self, answer: Answer, items: Sequence[Any], attribute: str, names: Sequence[str]
    ) -> list[Outcome]:
        """An outcome for each of the names that were asked for, in that order."""
        told = {getattr(item, attribute): item for item in items}
        outcomes = [outcome_of(answer, name, told.get(name)) for name in names]
        await self._refuse_broker(outcomes)
        return outcomes

    async def _refuse_broker(self, outcomes: Iterable[Outcome]) -> None:
        """Raises Unavailable where these outcomes are a broker's: it knows no name with a colon,
        and no configs of the root, which every gateway tells."""
        if any(map(_may_be_foreign, outcomes)):
            await self.require_gateway()

    async def require_gateway(self) -> None:
        """Raises Unavailable where a broker answers. Brokers would take ACLs of any name."""
        if self._checked:
            return
        self._checked = True
        (root,) = await self._describe([_ROOT], [_NAMESPACES], synonyms=False)
        if _may_be_foreign(root.outcome):
            raise self.client.is_a_broker()

    def _broker_timeout(self) -> datetime.timedelta:
        return datetime.timedelta(seconds=min(self.timeout, _REQUEST_SECONDS))


def _may_be_foreign(outcome: Outcome) -> bool:
    return may_be_a_brokers(outcome.name, outcome.code, outcome.message)


_INVALID: Final = "ASCII alphanumerics"
"""What every Kafka says of a topic whose name has a colon (internals.Topic.validate)."""

_UNKNOWN: Final = "This server does not host this topic-partition"
"""What DeleteTopics says of one, since it looks for it only."""


def may_be_a_brokers(name: str, code: int, message: str) -> bool:
    """Whether a broker may have said this of a name. Metadata gives no message."""
    if DELIMITER not in name:
        return False
    if code == INVALID_TOPIC_EXCEPTION:
        return not message or _INVALID in message
    return code == UNKNOWN_TOPIC_OR_PARTITION and _UNKNOWN in message
