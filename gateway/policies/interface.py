"""CreateTopicPolicy (KIP-108): the interface of classes that accept or reject topics.

It is Kafka's ``org.apache.kafka.server.policy.CreateTopicPolicy`` in Python. A policy is a class
named by ``create.topic.policy.class.name``; it validates one topic at a time, in a thread of its
own, and has a limited time for that.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

_NOTHING: Mapping[str, str] = MappingProxyType({})


class PolicyViolation(Exception):
    """The request does not satisfy the policy.

    The client gets POLICY_VIOLATION (44) with this message, for that topic alone; the other topics
    of the request are still processed.
    """


@dataclass(frozen=True, slots=True)
class RequestMetadata:
    """The topic that a request creates or changes. Immutable; it is made without a gateway, so
    that policies are easily tested.

    The first five are the KIP's. ``topic`` is the logical name, with its namespace
    (``org:apache:orders``); one that ends in ``:`` is a namespace, whose ``configs`` its topics
    inherit. ``num_partitions`` and ``replication_factor`` are resolved: what a request leaves to
    the broker (-1) is what the broker would do. They are None where ``replicas_assignments``
    (partition to the ids of its brokers) is set, and the reverse. ``configs`` are those of the
    request and those that are inherited from namespaces, without the broker's defaults.

    The KIP leaves room for session information: ``principal`` requests a topic in ``namespace``
    (``""``: the default one), which has ``namespace_topics`` topics with ``namespace_partitions``
    partitions now, this one not counted. ``effective_configs`` has the broker's defaults, too,
    where the broker tells them.
    """

    topic: str
    num_partitions: int | None = None
    replication_factor: int | None = None
    replicas_assignments: Mapping[int, Sequence[int]] | None = None
    configs: Mapping[str, str] = field(default_factory=lambda: _NOTHING)
    principal: str = "User:ANONYMOUS"
    namespace: str = ""
    namespace_topics: int = 0
    namespace_partitions: int = 0
    effective_configs: Mapping[str, str | None] = field(default_factory=lambda: _NOTHING)

    def __post_init__(self) -> None:
        set_once = object.__setattr__
        assignments = self.replicas_assignments
        if assignments is not None:
            fixed = {partition: tuple(brokers) for partition, brokers in assignments.items()}
            set_once(self, "replicas_assignments", MappingProxyType(fixed))
        set_once(self, "configs", MappingProxyType(dict(self.configs)))
        set_once(self, "effective_configs", MappingProxyType(dict(self.effective_configs)))

    @property
    def partitions(self) -> int | None:
        """The number of partitions, however they are requested."""
        if self.replicas_assignments is None:
            return self.num_partitions
        return len(self.replicas_assignments)


class CreateTopicPolicy(ABC):
    """A policy on topics that any request creates or changes.

    It is made without arguments, then configured, and closed when it is not needed any more:
    when the gateway ends, or has read its configuration again. Calls never overlap.
    """

    def configure(self, configs: Mapping[str, str | None]) -> None:  # noqa: B027 - may be left out
        """Take the configs of the brokers (sensitive ones are None). An exception ends the start
        of the gateway, or a reload."""

    @abstractmethod
    def validate(self, request_metadata: RequestMetadata) -> None:
        """Raise :class:`PolicyViolation` unless the topic satisfies this policy. Any other
        exception rejects the topic, too."""

    def close(self) -> None:  # noqa: B027 - may be left out
        """Release what it holds."""
