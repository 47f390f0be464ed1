"""The two sides of the oracle of policies.

These are a broker that runs LimitsPolicy.java, and a gateway that runs its twin before a broker
without a policy.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from typing import Any, Final

from devkit.broker import KafkaCluster
from devkit.gateway_config import Listener
from devkit.gateway_process import GatewayProcess
from devkit.java import compile_java
from devkit.paths import PROJECT_ROOT
from tests.live.oracle.create_topics import EXISTING, Creation
from tests.live.support import clients, java_tools, namespaces
from tests.live.support.by_hand import TIMEOUT
from tests.live.support.wire import Wire

POLICY_CLASS: Final = "create.topic.policy.class.name"
OURS: Final = {POLICY_CLASS: "tests.live.oracle.limits_policy:LimitsPolicy"}

_SOURCE = java_tools.SOURCES / "LimitsPolicy.java"
_LISTENER = "plain"
_NODES = 2
_DEFAULTS = {"num.partitions": "3", "auto.create.topics.enable": "false"}
"""The configs of both brokers. The replication factor's default is 2, the number of nodes."""

_DELETE_BY_NAME = 5
"""A version of DeleteTopics that every broker here serves."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of a topic of a request.

    v0 has no message (KIP-108), and the created topic is described from v5 on (KIP-525).
    """

    name: str
    code: int
    message: str | None
    num_partitions: int | None
    replication_factor: int | None
    configs: tuple[tuple[object, ...], ...]

    def with_message(self, message: str | None) -> Outcome:
        """The outcome with another message."""
        return replace(self, message=message)


@dataclass(frozen=True, slots=True)
class Side:
    """A side.

    ``oldest`` is the first version of CreateTopics that it serves. An older request is sent in that
    version, and only the fields of the older response are compared.
    """

    wire: Wire
    oldest: int

    def make_existing(self) -> None:
        """Create the topics that exist before the first request."""
        configs = [{"name": "retention.ms", "value": "86400000"}]
        part = {"num_partitions": 1, "replication_factor": -1, "configs": configs}
        topics = [{"name": name, **part} for name in EXISTING]
        answer = self.wire.ask("CreateTopics", 7, topics=topics, timeout=TIMEOUT)
        assert [int(topic.error_code) for topic in answer.topics] == [0] * len(EXISTING)

    def outcomes(self, asked: Creation, number: int) -> list[Outcome]:
        """The outcome of each topic, in the order of their names; created topics are deleted.

        No other request of this side may have the same number.
        """
        version = max(asked.version, self.oldest)
        values = asked.values(number)
        if version > asked.version:
            values.setdefault("validate_only", False)
        answer = self.wire.ask("CreateTopics", version, **values)
        found = [_outcome(asked.version, topic) for topic in answer.topics]
        if not values.get("validate_only"):
            self._delete([each.name for each in found if each.code == 0])
        return sorted(found, key=repr)

    def _delete(self, names: list[str]) -> None:
        if names:
            asked = {"topic_names": tuple(names), "timeout": TIMEOUT}
            answer = self.wire.ask("DeleteTopics", _DELETE_BY_NAME, **asked)
            assert [int(topic.error_code) for topic in answer.responses] == [0] * len(names)


@contextmanager
def broker_with_policy(jar_set: str = "kafka") -> Iterator[Side]:
    """A Kafka that runs the Java class, which is compiled for it here."""
    overrides = {**_DEFAULTS, POLICY_CLASS: "LimitsPolicy"}
    classes = compile_java(_SOURCE)
    with (
        KafkaCluster(_NODES, overrides=overrides, classes=classes, jar_set=jar_set) as kafka,
        Wire(kafka.bootstrap_servers.split(",")[0]) as wire,
    ):
        yield _side(wire)


@contextmanager
def gateway_with_policy() -> Iterator[Side]:
    """A gateway with the Python class for every namespace, before the newest Kafka without a
    policy."""
    overrides = {"policies": {"everywhere": OURS}}
    with (
        KafkaCluster(_NODES, overrides=_DEFAULTS) as kafka,
        GatewayProcess(
            kafka.bootstrap_servers,
            [Listener(_LISTENER, "no namespace at all")],
            [],
            overrides={**overrides, **namespaces.namespace_like(kafka.bootstrap_servers)},
            python_path=PROJECT_ROOT,
        ) as gateway,
        Wire(clients.any_broker(gateway.bootstrap_servers(_LISTENER))) as wire,
    ):
        yield _side(wire)


def _side(wire: Wire) -> Side:
    served = wire.ask("ApiVersions", 0).api_keys
    (oldest,) = (api.min_version for api in served if api.api_key == 19)
    side = Side(wire, oldest)
    side.make_existing()
    return side


def _outcome(version: int, topic: Any) -> Outcome:
    told = version >= 5
    configs = (
        tuple(
            tuple(getattr(config, each.name) for each in fields(config)) for config in topic.configs
        )
        if told
        else ()
    )
    return Outcome(
        topic.name,
        int(topic.error_code),
        topic.error_message if version >= 1 else None,
        topic.num_partitions if told else None,
        topic.replication_factor if told else None,
        configs,
    )
