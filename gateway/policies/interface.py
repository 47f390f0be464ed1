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
    """The topic that a request creates or changes. Immutable; it can be created without a gateway,
    so policies are easily tested. The first five fields are the KIP's. The KIP leaves room for
    session information, which the other fields hold."""

    topic: str
    """The logical name, with its namespace (``org:apache:orders``). A name that ends in ``:`` is a
    namespace, whose ``configs`` its topics inherit."""
    num_partitions: int | None = None
    """Resolved: if a request leaves it to the broker (-1), it has the broker's default. None if
    ``replicas_assignments`` is set."""
    replication_factor: int | None = None
    """Resolved like ``num_partitions``, and None in the same case."""
    replicas_assignments: Mapping[int, Sequence[int]] | None = None
    """Partition to the ids of its brokers; None if the two numbers are set."""
    configs: Mapping[str, str] = field(default_factory=lambda: _NOTHING)
    """The configs of the request and those inherited from namespaces, without the broker's
    defaults."""
    principal: str = "User:ANONYMOUS"
    """The principal that requests the topic."""
    namespace: str = ""
    """The topic's namespace (``""``: the default one)."""
    namespace_topics: int = 0
    """The topics of the namespace now, without this topic."""
    namespace_partitions: int = 0
    """The partitions of these topics."""
    effective_configs: Mapping[str, str | None] = field(default_factory=lambda: _NOTHING)
    """``configs`` with the broker's defaults, if the broker returns them."""

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
        """The number of partitions, whether requested as a number or by assignments."""
        if self.replicas_assignments is None:
            return self.num_partitions
        return len(self.replicas_assignments)


class CreateTopicPolicy(ABC):
    """A policy on topics that any request creates or changes.

    It is created without arguments, then configured, and closed when it is not needed any more:
    when the gateway ends, or has read its configuration again. Calls never overlap.
    """

    def configure(self, configs: Mapping[str, str | None]) -> None:  # noqa: B027 - may be left out
        """Take the configs of the brokers (sensitive configs are None). An exception ends the start
        of the gateway, or a reload."""

    @abstractmethod
    def validate(self, request_metadata: RequestMetadata) -> None:
        """Raise :class:`PolicyViolation` unless the topic satisfies this policy. Any other
        exception rejects the topic, too."""

    def close(self) -> None:  # noqa: B027 - may be left out
        """Release the policy's resources."""
